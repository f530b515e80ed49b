//! The memory tiers and the lower tiers of a chain, and how values move between them.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use bytes::Bytes;
use tokio::runtime::Handle;

use super::{
    admission::WriteReason, breaker_probe::BreakerProbe, fill_permit::Purges, local_query::LocalQueries,
    write_behind::WriteBehind,
};
use crate::{
    config::Admit,
    hash::Hashed,
    key::Key,
    layers::{Circuit, CircuitState, Meter},
    memory_tier::MemoryTier,
    metrics::{LowerTierMetrics, TierMetrics},
    policy::{Asked, Policy, PolicyStatus},
    report::{Holdings, TierReport, micros},
    served::{Found, Outcome, Step},
    single_flight::Flights,
    source::Forecast,
    tier::{Tier, TierError, TierErrorKind},
};

/// The tiers of a chain, and the lookups in flight, which a purge must forget.
#[derive(Debug)]
pub(crate) struct TierStack {
    /// The leading tiers in this process's memory, which never wait. Often one, possibly none.
    pub(crate) memory: Box<[Arc<dyn MemoryTier>]>,
    /// The other tiers, in lookup order.
    pub(crate) lower: Box<[LowerTier]>,
    pub(crate) flights: Flights,
    pub(crate) purges: Purges,
    pub(crate) runtime: Handle,
}

impl TierStack {
    /// Fills the memory tiers above the one at index `depth`, which has `value`.
    #[cold]
    pub(crate) fn fill_above(&self, depth: usize, key: &Hashed, value: &Bytes) {
        let (above, from) = self.memory.split_at(depth);
        above.iter().for_each(|tier| tier.insert(key, value));
        // A removal goes through the memory tiers from the last to the first. If it has passed the tier of the hit,
        // undo the fill.
        if !above.is_empty() && !from[0].holds(key) {
            above.iter().for_each(|tier| tier.remove(key));
        }
    }

    /// The value of `key` if a memory tier has it, without counting the lookup.
    pub(crate) fn peek(&self, key: &Hashed) -> Option<Found> {
        self.memory.iter().find_map(|tier| {
            let value = tier.peek(key)?;
            let step = Step::of_tier(tier.name(), Outcome::Hit, Instant::now(), Duration::ZERO);
            Some(Found { value, by: tier.name(), steps: Arc::new([step]) })
        })
    }

    /// The trace steps of a miss in every memory tier.
    pub(crate) fn memory_miss_steps(&self) -> Vec<Step> {
        let now = Instant::now();
        let miss = |tier: &Arc<dyn MemoryTier>| Step::of_tier(tier.name(), Outcome::Miss, now, tier.miss_cost());
        self.memory.iter().map(miss).collect()
    }

    /// Inserts `value` into the memory tiers and queues it for the first `below` lower tiers.
    pub(crate) fn promote(&self, key: &Hashed, value: &Bytes, below: usize) {
        self.insert(key, value, below, WriteReason::Missed);
    }

    /// Inserts `value` into the memory tiers and queues it for every lower tier. A nearly full tier may refuse it,
    /// depending on `reason`.
    pub(crate) fn store(&self, key: &Hashed, value: &Bytes, reason: WriteReason) {
        self.insert(key, value, self.lower.len(), reason);
    }

    fn insert(&self, key: &Hashed, value: &Bytes, below: usize, reason: WriteReason) {
        self.memory.iter().for_each(|tier| tier.insert(key, value));
        self.lower[..below].iter().for_each(|lower| lower.write(*key.key(), value, reason));
    }

    /// Offers `value`, which a memory tier serves, to the lower tiers that are nearly full. They do not see the hits in
    /// memory and would evict it. The caller must hold a [`FillPermit`](super::fill_permit::FillPermit).
    pub(crate) fn keep_below(&self, key: &Hashed, value: &Bytes) {
        self.lower.iter().for_each(|lower| lower.keep(*key.key(), value));
    }

    /// Removes the value of `key` from the memory tiers, last to first.
    pub(super) fn remove_from_memory(&self, key: &Hashed) {
        self.memory.iter().rev().for_each(|tier| tier.remove(key));
    }

    /// Keys looked up in the tiers since the start.
    pub(crate) fn lookups(&self) -> u64 {
        let memory = self.memory.first().map(|tier| tier.counts()).unwrap_or_default();
        let lower = self.lower.iter().map(|lower| lower.meter.counts());
        lower.chain([memory]).map(|counts| counts.hits + counts.misses).sum()
    }
}

/// The answer of a tier.
pub(crate) struct Answered {
    /// The value of each key asked for, in the same order.
    pub(crate) values: Result<Vec<Option<Bytes>>, TierError>,
    /// When the tier was asked, and for how long.
    pub(crate) started: Instant,
    pub(crate) took: Duration,
}

/// A tier below memory with everything the chain attaches to it: meter, breaker state, write-behind queue and policy.
#[derive(Debug)]
pub(crate) struct LowerTier {
    pub(crate) tier: Arc<dyn Tier>,
    pub(crate) meter: Arc<Meter>,
    pub(crate) circuit: Arc<Circuit>,
    /// `None` for a tier in this process: only a lookup shows what a query costs there.
    #[expect(dead_code, reason = "the task is only held")]
    pub(crate) probe: Option<BreakerProbe>,
    pub(crate) writes: WriteBehind,
    pub(crate) admit: Admit,
    pub(crate) policy: Policy,
    pub(crate) local_queries: LocalQueries,
}

impl LowerTier {
    pub(crate) fn name(&self) -> &'static str {
        self.tier.name()
    }

    /// Asks the tier for `keys`, by `get` for one key and by `get_many` for several, and updates the policy and the
    /// breaker. `generation` is the cost of generating the values instead, if known.
    pub(crate) async fn ask(&self, asked: Asked, keys: &[Key], generation: Option<Forecast>) -> Answered {
        let waited = (!self.tier.waits()).then(|| self.local_queries.begin());
        let started = Instant::now();
        let values = match keys {
            [key] => self.tier.get(key).await.map(|value| vec![value]),
            _ => self.tier.get_many(keys).await,
        };
        let took = started.elapsed();
        let hits = values.as_ref().map_or(0, |values| values.iter().flatten().count());
        // An error is no measurement of the tier: the breaker judges those. The time of a timeout is one.
        if values.as_ref().map_or_else(|error| error.kind() == TierErrorKind::Timeout, |_| true) {
            self.policy.learn(started + took, asked, keys.len(), hits, took);
        }
        if let Some(waited) = waited.filter(|_| values.is_ok()) {
            let limit = generation.filter(|_| self.policy.is_automatic());
            let limit = limit.and_then(|generation| Duration::try_from_secs_f64(generation.run).ok());
            let limit = limit.unwrap_or(Duration::MAX);
            if let Some(took) = self.local_queries.end(waited, took, limit) {
                self.circuit.record_local(took, limit);
            }
        }
        Answered { values, started, took }
    }

    /// Queues `value` to be written if this tier admits its class and lookups do not skip it because it is slow. A
    /// required value is always queued.
    fn write(&self, key: Key, value: &Bytes, reason: WriteReason) {
        if self.admit.admits(key.class()) && (reason == WriteReason::Required || self.policy.is_written()) {
            self.writes.put(key, value, reason);
        }
    }

    /// Queues `value`, which a memory tier serves, if this tier admits its class and is nearly full.
    fn keep(&self, key: Key, value: &Bytes) {
        if self.admit.admits(key.class()) {
            self.writes.keep(key, value);
        }
    }

    /// Why the tier is asked or skipped, how lookups use it, and since when. A breaker that is not closed decides
    /// instead of the policy.
    pub(crate) fn verdict(&self, policy: &PolicyStatus) -> (&'static str, &'static str, Instant) {
        let since = self.circuit.since();
        match self.circuit.state() {
            CircuitState::Closed => (policy.reason.as_str(), policy.usage.as_str(), policy.since.max(since)),
            state => ("breaker", state.as_str(), since),
        }
    }

    pub(crate) fn holdings(&self) -> Holdings {
        Holdings { name: self.name(), stats: self.tier.stats(), writes: Some(self.writes.counts()) }
    }

    pub(crate) fn metrics(&self) -> TierMetrics {
        let lower = LowerTierMetrics {
            breaker: self.circuit.state(),
            asked_ratio: self.policy.status().asked_ratio,
            writes: self.writes.counts(),
            times: self.meter.times(),
        };
        TierMetrics { lower: Some(lower), ..TierMetrics::new(&*self.tier, self.meter.counts()) }
    }

    pub(crate) fn report(&self) -> TierReport {
        let (counts, stats, status) = (self.meter.counts(), self.tier.stats(), self.policy.status());
        let (reason, verdict, since) = self.verdict(&status);
        TierReport {
            name: self.name(),
            hits: counts.hits,
            misses: counts.misses,
            errors: counts.errors + counts.timeouts,
            bypasses: counts.bypasses,
            entries: stats.entries,
            bytes: stats.bytes,
            unknown: stats.unknown,
            hit_cost_us: micros(self.meter.hit_cost.get()),
            miss_cost_us: micros(self.meter.miss_cost.get()),
            hit_ratio: status.hit_ratio,
            probe_cost_us: status.cost * 1e6,
            generation_cost_us: status.generation * 1e6,
            asked_ratio: status.asked_ratio,
            reason,
            verdict,
            since: since.elapsed(),
            last_error: self.meter.last_error(),
        }
    }
}
