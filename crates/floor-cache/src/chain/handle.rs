//! The public handle of a chain: writes, purges and reports. `lookup` has its lookups.

use std::{
    fmt,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use bytes::Bytes;
use futures_util::future::join_all;
use tokio::{runtime::Handle, sync::oneshot};

use crate::{
    counted_source::CountedSource,
    hash::Hashed,
    histogram::Counter,
    key::{Key, KeyPattern},
    metrics::{ChainMetrics, TierMetrics},
    policy::CpuCost,
    report::{Compaction, Holdings, TierReport},
    single_flight::Flights,
    stack::{LowerTier, PatternRemoval, Removal, TierStack, WriteReason},
    tier::{Backup, TierError, TierErrorKind},
};

/// A chain of tiers in front of a [`Source`](crate::Source). Clones are cheap and share the chain.
#[derive(Clone)]
pub struct Chain(pub(super) Arc<Inner>);

/// The state that all clones of a chain share: the tiers, the source, and what combines the two.
#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) stack: Arc<TierStack>,
    pub(crate) source: Arc<CountedSource>,
    /// Generations for callers that skip the tiers.
    pub(crate) refreshes: Flights,
    /// Chains that were built beside one another share it.
    pub(crate) coalesced: Arc<Counter>,
}

impl Inner {
    /// The current price of CPU time.
    pub(super) fn cpu_cost(&self, now: Instant) -> CpuCost {
        self.source.cpu_cost(now)
    }
}

impl Chain {
    pub(crate) fn new(inner: Inner) -> Self {
        Self(Arc::new(inner))
    }

    /// The runtime of its tasks.
    pub(super) fn runtime(&self) -> &Handle {
        self.0.source.runtime()
    }

    /// Stores `value` in the memory tiers at once and queues it for the lower tiers, also for those that are nearly full.
    pub fn put(&self, key: Key, value: &Bytes) {
        self.0.stack.store(&Hashed::new(&key), value, WriteReason::Required);
    }

    /// Removes `keys` from every tier as [`purge`](Self::purge) does, without a result.
    pub async fn remove_many(&self, keys: &[Key]) {
        if self.0.stack.lower.is_empty() {
            return self.0.stack.purge_memory(keys);
        }
        // Boxed to keep the future small for a chain of memory tiers only.
        Box::pin(self.0.stack.purge(keys)).await;
    }

    /// Removes `keys` from every tier and returns the result of each lower tier. Memory never fails.
    ///
    /// A removed value does not return from a queued write or from a call that had already found it. Values generated
    /// meanwhile are stored as usual. A tier that fails keeps its values.
    ///
    /// A tier that takes longer than five seconds is reported as [`Timeout`](crate::TierErrorKind::Timeout). Its
    /// removal still runs, even if the caller drops this future. Until it ends, no tier is filled with values found in
    /// another.
    pub async fn purge(&self, keys: &[Key]) -> Vec<Removal> {
        self.0.stack.purge(keys).await
    }

    /// Removes every key that matches `pattern` from every tier, in batches, and returns the result of each tier in lookup order.
    /// A value that is generated or put meanwhile may stay.
    ///
    /// Ends after ten minutes at the latest, and stops if it is dropped. Until it ends, no tier is filled with values found
    /// in another.
    pub async fn purge_matching(&self, pattern: KeyPattern) -> Vec<PatternRemoval> {
        self.0.stack.purge_matching(pattern).await
    }

    /// Size and write counts of each tier, in lookup order.
    #[must_use]
    pub fn holdings(&self) -> Vec<Holdings> {
        let memory = self.0.stack.memory.iter();
        let memory = memory.map(|tier| Holdings { name: tier.name(), stats: tier.stats(), writes: None });
        memory.chain(self.0.stack.lower.iter().map(LowerTier::holdings)).collect()
    }

    /// Brings the sizes of tiers on other machines up to date, for [`holdings`](Self::holdings), [`report`](Self::report)
    /// and the metrics. Takes at most half a second and asks each tier at most once a second, so every scrape may call
    /// it. It does not wait for a tier that did not answer the last time.
    pub async fn refresh_stats(&self) {
        join_all(self.0.stack.lower.iter().map(|lower| lower.tier.refresh_stats())).await;
    }

    /// Compacts each lower tier, one after the other, after the writes that are queued.
    pub async fn compact(&self) -> Vec<Compaction> {
        let mut done = Vec::with_capacity(self.0.stack.lower.len());
        for lower in &self.0.stack.lower {
            let before = lower.tier.stats();
            let result = lower.writes.compact().await;
            done.push(Compaction { tier: lower.name(), before, after: lower.tier.stats(), result });
        }
        done
    }

    /// Copies the store of the lower tier `tier` into a new directory beside its own, while the chain is in use. Values in
    /// the write-behind queue are not in the copy. `None` if the chain has no such tier.
    pub async fn back_up(&self, tier: &str) -> Option<Result<Backup, TierError>> {
        let lower = self.0.stack.lower.iter().find(|lower| lower.name() == tier)?;
        let (tier, (done, finished)) = (lower.tier.clone(), oneshot::channel());
        // In a thread of its own: the end of a runtime waits for the threads in which it blocks.
        let copy = move || _ = done.send(tier.back_up());
        let failed = |reason: String| TierError::new(TierErrorKind::Internal, "back up the tier", reason);
        if let Err(error) = thread::Builder::new().name("backup".to_owned()).spawn(copy) {
            return Some(Err(failed(error.to_string())));
        }
        Some(finished.await.unwrap_or_else(|_| Err(failed("it panicked".to_owned()))))
    }

    /// Whether a memory tier has `key`. Counts neither as a lookup nor as a use.
    #[must_use]
    pub fn contains_now(&self, key: &Key) -> bool {
        let key = Hashed::new(key);
        self.0.stack.memory.iter().any(|tier| tier.holds(&key))
    }

    /// Whether each tier has `key`, in lookup order, or why it does not tell.
    pub async fn contains(&self, key: &Key) -> Vec<(&'static str, Result<bool, TierError>)> {
        let hashed = Hashed::new(key);
        let memory = self.0.stack.memory.iter().map(|tier| (tier.name(), Ok(tier.holds(&hashed))));
        let lower = self.0.stack.lower.iter().map(|lower| {
            // Spawned, because a request that is dropped before its reply closes the Redis connection.
            let (name, tier, key) = (lower.name(), lower.tier.clone(), *key);
            let asked = self.0.stack.runtime.spawn(async move { tier.contains(&key).await });
            let ended = |_| TierError::new(TierErrorKind::Internal, "look in a tier", "the runtime is shutting down");
            async move { (name, asked.await.map_err(ended).flatten()) }
        });
        memory.chain(join_all(lower).await).collect()
    }

    /// The report of each tier in lookup order, then of the source.
    #[must_use]
    pub fn report(&self) -> Vec<TierReport> {
        let memory = self.0.stack.memory.iter().map(|tier| tier.report());
        let lower = self.0.stack.lower.iter().map(LowerTier::report);
        memory.chain(lower).chain([self.0.source.report()]).collect()
    }

    /// Counts and times of the tiers and of the source, for a monitoring system.
    #[must_use]
    pub fn metrics(&self) -> ChainMetrics {
        let (stack, source) = (&self.0.stack, &self.0.source);
        let (cpu_utilisation, cpu) = source.load.last();
        let memory = stack.memory.iter().map(|tier| TierMetrics::new(&**tier, tier.counts()));
        ChainMetrics {
            tiers: memory.chain(stack.lower.iter().map(LowerTier::metrics)).collect(),
            generations: source.metrics(),
            coalesced: self.0.coalesced.get(),
            cpu_utilisation,
            cpu_price: cpu.price,
        }
    }

    /// Writes the queues and flushes the tiers. `false` if a tier failed or `deadline` passed. The chain stays usable.
    pub async fn close(&self, deadline: Duration) -> bool {
        let deadline = tokio::time::Instant::now() + deadline;
        join_all(self.0.stack.lower.iter().map(|lower| lower.writes.flush(deadline)))
            .await
            .into_iter()
            .all(|flushed| flushed)
    }
}

impl fmt::Debug for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Chain").field("stack", &self.0.stack).field("source", &self.0.source).finish_non_exhaustive()
    }
}
