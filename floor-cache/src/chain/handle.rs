//! The public handle of a chain: lookups, writes, purges and reports.

use std::{collections::HashMap, fmt, sync::Arc, time::Duration};

use bytes::Bytes;
use futures_util::future::{join_all, try_join_all};
use prometheus::IntCounter;

use super::{
    audit::Auditor,
    lease::Leases,
    miss_lookup::{MissLookup, complete_with},
};
use crate::{
    hash::{Hashed, IdentityHasher},
    key::Key,
    producer::Producer,
    report::{Compaction, Holdings, TierReport},
    sampler::{Draw, Sampler},
    served::{Found, Options, Served, Step},
    single_flight::{FlightResult, Flights, Join, Leader},
    source::{Priority, SourceError},
    stack::{LowerTier, Removal, RequiredIn, TierStack},
};

/// A chain of tiers in front of a [`Source`](crate::Source). Clones are cheap and share the chain.
#[derive(Clone)]
pub struct Chain(Arc<Inner>);

/// The state that all clones of a chain share: the tiers, the producer, and what combines the two.
#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) stack: Arc<TierStack>,
    pub(crate) producer: Arc<Producer>,
    pub(crate) auditor: Arc<Auditor>,
    pub(crate) leases: Option<Leases>,
    /// Generations for callers that skip the tiers.
    pub(crate) refreshes: Flights,
    pub(crate) coalesced: IntCounter,
    /// Picks the lookups in memory that are timed or audited.
    pub(crate) sampler: Sampler,
    /// Whether slow queries are hedged.
    pub(crate) hedge: bool,
}

/// One in 1,024 lookups in memory is timed and offered to the lower tiers, because two clock readings cost as much as
/// the lookup.
pub(crate) const TIMED: Sampler = Sampler::one_in(1024);

/// Flights that a caller joins or starts for one value, if the source refuses those of other callers.
const MAX_FLIGHTS: u32 = 3;

/// Whether the source refused another caller's flight. Its client may have used up what is its own.
fn is_refusal_of_another(outcome: &FlightResult, coalesced: bool, options: Options) -> bool {
    let is_refusal = matches!(outcome, Err(SourceError::Busy { .. } | SourceError::Limited { .. }));
    is_refusal && coalesced && options.priority == Priority::Foreground
}

impl Chain {
    pub(crate) fn new(inner: Inner) -> Self {
        Self(Arc::new(inner))
    }

    /// The value of `key` if a memory tier has it. Neither waits nor allocates.
    ///
    /// After `None`, call [`get`](Self::get): it asks the other tiers and the source.
    #[must_use]
    #[inline]
    pub fn get_now(&self, key: &Key) -> Option<Served> {
        self.find(&Hashed::new(key))
    }

    #[inline(always)]
    fn find(&self, key: &Hashed) -> Option<Served> {
        let draw = Draw::next();
        if self.0.sampler.picks(draw) { self.find_sampled(key, draw, |_| {}) } else { self.0.stack.find_from(0, key) }
    }

    /// As [`find`](Self::find), with two clock readings for each tier and possibly an audit. A timed hit is also offered
    /// to the lower tiers: the more often memory serves a value, the sooner they learn of it.
    #[cold]
    fn find_sampled(&self, key: &Hashed, draw: Draw, record: impl FnMut(Step)) -> Option<Served> {
        let epoch = self.0.stack.purges.epoch();
        let hit = self.0.stack.find_timed(key, record)?;
        self.0.auditor.sample(draw, *key.key(), &hit.value, hit.by);
        if TIMED.picks(draw)
            && let Some(_permit) = self.0.stack.purges.fill_permit(epoch)
        {
            self.0.stack.keep_below(key, &hit.value);
        }
        Some(hit)
    }

    /// The value of `key` if a memory tier has it, with a trace if `options` asks for one.
    fn find_traced(&self, key: &Hashed, options: Options) -> Option<Served> {
        if !options.trace {
            return self.find(key);
        }
        let mut steps = Vec::with_capacity(self.0.stack.memory.len());
        let hit = self.find_sampled(key, Draw::next(), |step| steps.push(step))?;
        Some(Served { trace: Some(steps.into()), ..hit })
    }

    /// The values of the leading `keys`, up to the first that no memory tier has. Not part of the async function,
    /// because such a function keeps its variables in memory instead of registers.
    fn leading_hits(&self, keys: &[Key]) -> Vec<Served> {
        self.0.stack.leading_hits(keys, self.0.sampler, |key, draw| self.find_sampled(key, draw, |_| {}))
    }

    /// The value of `key` from the first tier that has it, or generated.
    ///
    /// The future may be dropped at any time. The lookup continues in its own task and stores the value for the next
    /// caller.
    ///
    /// # Errors
    /// The errors of the [`Source`](crate::Source). The chain skips a tier that fails.
    pub async fn get(&self, key: Key, options: Options) -> Result<Served, SourceError> {
        if !options.no_cache
            && !options.trace
            && let Some(hit) = self.get_now(&key)
        {
            return Ok(hit);
        }
        // Boxed to keep the future of a hit small.
        Box::pin(self.fetch(key, options)).await
    }

    /// The rest of [`get`](Self::get) after an untraced lookup in memory.
    async fn fetch(&self, key: Key, options: Options) -> Result<Served, SourceError> {
        if options.no_cache {
            return self.refresh(key, options).await;
        }
        let key = Hashed::new(&key);
        if options.trace
            && let Some(hit) = self.find_traced(&key, options)
        {
            return Ok(hit);
        }
        let memory = if options.trace { self.0.stack.memory_miss_steps() } else { Vec::new() };
        let epoch = self.0.stack.purges.epoch();
        let (found, coalesced) = self.join_and_wait(key, options).await?;
        if options.priority == Priority::Background
            && let Some(_permit) = self.0.stack.purges.fill_permit(epoch)
        {
            // A full memory tier evicts a prefetched value before its caller arrives, unless it was inserted twice.
            self.0.stack.promote(&key, &found.value, 0);
        }
        Ok(Served::found(found, coalesced, options, &memory))
    }

    /// The outcome of the flight of `key`, which is started if there is none, and whether another caller started it.
    async fn join_and_wait(&self, key: Hashed, options: Options) -> Result<(Found, bool), SourceError> {
        let mut attempt = 1;
        loop {
            let Join { waiter, leader, coalesced } = self.join(key, options.priority);
            if let Some(leader) = leader {
                self.start_lookup(vec![leader], options);
            }
            self.0.coalesced.inc_by(u64::from(coalesced));
            let outcome = waiter.outcome().await;
            if attempt == MAX_FLIGHTS || !is_refusal_of_another(&outcome, coalesced, options) {
                return Ok((outcome?, coalesced));
            }
            attempt += 1;
        }
    }

    /// The values of `keys`, in the same order, or an error for the whole batch. A repeated key is fetched once.
    ///
    /// The chain looks in memory, asks each lower tier once for the missing keys, and generates the rest in parallel. A
    /// key that another call is fetching is awaited, not fetched again.
    ///
    /// # Errors
    /// The first error of the [`Source`](crate::Source).
    pub async fn get_many(&self, keys: &[Key], options: Options) -> Result<Vec<Served>, SourceError> {
        if options.no_cache {
            return try_join_all(keys.iter().map(|key| self.refresh(*key, options))).await;
        }
        let served = if options.trace { Vec::new() } else { self.leading_hits(keys) };
        if served.len() == keys.len() { Ok(served) } else { self.get_rest(keys, served, options).await }
    }

    /// The values of `keys`. `served` holds the leading hits from memory. Without a trace, the next key missed there.
    async fn get_rest(&self, keys: &[Key], served: Vec<Served>, options: Options) -> Result<Vec<Served>, SourceError> {
        let mut served: Vec<Option<Served>> = served.into_iter().map(Some).collect();
        if !options.trace {
            served.push(None);
        }
        let rest = &keys[served.len()..];
        served.extend(rest.iter().map(|key| self.find_traced(&Hashed::new(key), options)));
        let mut missing: HashMap<Hashed, Vec<usize>, IdentityHasher> = HashMap::default();
        for (position, key) in keys.iter().enumerate().filter(|(position, _)| served[*position].is_none()) {
            missing.entry(Hashed::new(key)).or_default().push(position);
        }
        let mut leaders = Vec::with_capacity(missing.len());
        let mut waiters = Vec::with_capacity(missing.len());
        for (key, positions) in missing {
            let Join { waiter, leader, coalesced } = self.join(key, options.priority);
            waiters.push((waiter, coalesced, positions));
            leaders.extend(leader);
        }
        let memory: Vec<Step> = if options.trace { self.0.stack.memory_miss_steps() } else { Vec::new() };
        self.start_lookup(leaders, options);
        for (waiter, coalesced, positions) in waiters {
            self.0.coalesced.inc_by(u64::from(coalesced));
            let outcome = waiter.outcome().await;
            let (found, coalesced) = if is_refusal_of_another(&outcome, coalesced, options) {
                // Boxed because it is rare.
                Box::pin(self.join_and_wait(Hashed::new(&keys[positions[0]]), options)).await?
            } else {
                (outcome?, coalesced)
            };
            for position in positions {
                served[position] = Some(Served::found(found.clone(), coalesced, options, &memory));
            }
        }
        Ok(served.into_iter().map(|served| served.expect("every missing value was fetched")).collect())
    }

    fn join(&self, key: Hashed, priority: Priority) -> Join {
        self.0.stack.flights.join(key, priority, |key| self.0.stack.peek(key))
    }

    /// Runs the flights of `leaders` without waiting as far as possible. A spawned task does the rest, so dropping a
    /// caller does not stop it.
    fn start_lookup(&self, leaders: Vec<Leader>, options: Options) {
        let mut lookup = MissLookup::new(leaders, options, self.0.stack.purges.epoch());
        lookup.start(&self.0);
        if !lookup.is_done() {
            let inner = self.0.clone();
            self.0.stack.runtime.spawn(async move { lookup.finish(&inner).await });
        }
    }

    /// Generates the value without asking any tier, and stores it in every tier. Concurrent refreshes of a key share one
    /// generation.
    async fn refresh(&self, key: Key, options: Options) -> Result<Served, SourceError> {
        let Join { waiter, leader, coalesced } = self.0.refreshes.join(Hashed::new(&key), options.priority, |_| None);
        if let Some(mut leader) = leader {
            let inner = self.0.clone();
            self.0.stack.runtime.spawn(async move {
                let made = inner.producer.generate(leader.request(options)).await;
                complete_with(&inner, &mut leader, made, &[], RequiredIn::EveryTier);
            });
        }
        self.0.coalesced.inc_by(u64::from(coalesced));
        let found = waiter.outcome().await?;
        Ok(Served::found(found, coalesced, options, &[]))
    }

    /// Stores `value` in the memory tiers at once and queues it for the lower tiers, also for those that are nearly full.
    pub fn put(&self, key: Key, value: &Bytes) {
        self.0.stack.store(&Hashed::new(&key), value, RequiredIn::EveryTier);
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

    /// Size and write counts of each tier, in probing order.
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

    /// Whether a memory tier has `key`. Counts neither as a lookup nor as a use.
    #[must_use]
    pub fn contains_now(&self, key: &Key) -> bool {
        let key = Hashed::new(key);
        self.0.stack.memory.iter().any(|tier| tier.holds(&key))
    }

    /// Whether each tier has `key`, in probing order. `false` for a tier that fails.
    pub async fn contains(&self, key: &Key) -> Vec<(&'static str, bool)> {
        let hashed = Hashed::new(key);
        let memory = self.0.stack.memory.iter().map(|tier| (tier.name(), tier.holds(&hashed)));
        let lower = self.0.stack.lower.iter().map(|lower| {
            // Spawned, because a request that is dropped before its reply closes the Redis connection.
            let (name, tier, key) = (lower.name(), lower.tier.clone(), *key);
            let asked = self.0.stack.runtime.spawn(async move { tier.contains(&key).await });
            async move { (name, matches!(asked.await, Ok(Ok(true)))) }
        });
        memory.chain(join_all(lower).await).collect()
    }

    /// The report of each tier in probing order, then of the source.
    #[must_use]
    pub fn report(&self) -> Vec<TierReport> {
        let memory = self.0.stack.memory.iter().map(|tier| tier.report());
        let lower = self.0.stack.lower.iter().map(LowerTier::report);
        memory.chain(lower).chain([self.0.producer.report()]).collect()
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
        f.debug_struct("Chain")
            .field("stack", &self.0.stack)
            .field("producer", &self.0.producer)
            .finish_non_exhaustive()
    }
}
