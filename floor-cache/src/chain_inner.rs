//! The shared state of a chain, and lookups in its memory tiers. [`Chain`](crate::Chain) and
//! [`MissLookup`](crate::miss_lookup::MissLookup) use it.

use std::{
    fmt,
    sync::Arc,
    time::{Duration, Instant},
};

use bytes::Bytes;
use prometheus::IntCounter;
use tokio::runtime::Handle;

use crate::{
    audit::{self, Audits},
    flight::{Flights, Found},
    generation_cost::{Forecast, Work},
    generations::Generations,
    hash::Hashed,
    key::Key,
    lease::Leases,
    load_monitor::LoadMonitor,
    lower_tier::LowerTier,
    policy::load::CpuCost,
    purge::Purges,
    sampler::{Draw, Sampler},
    served::{Options, Outcome, Served, Step},
    source::Source,
    tier::Tier,
    tiers::LruTier,
};

/// The shared state of all clones of a chain.
pub(crate) struct ChainInner {
    /// The leading tiers in this process's memory, which never wait. Often one, possibly none.
    pub(crate) memory: Box<[Arc<LruTier>]>,
    /// The other tiers, in probing order.
    pub(crate) lower: Box<[LowerTier]>,
    pub(crate) source: Arc<dyn Source>,
    pub(crate) generations: Generations,
    pub(crate) load: LoadMonitor,
    pub(crate) leases: Option<Leases>,
    pub(crate) coalesced: IntCounter,
    pub(crate) audits: Audits,
    /// Picks the lookups in memory that are timed or audited.
    pub(crate) sampled: Sampler,
    pub(crate) hedge: bool,
    pub(crate) flights: Flights,
    pub(crate) purges: Purges,
    pub(crate) runtime: Handle,
}

/// One in 1,024 lookups in memory is timed, because two clock readings cost as much as the lookup.
pub(crate) const TIMED: Sampler = Sampler::one_in(1024);

impl ChainInner {
    /// The value of `key` if a memory tier has it. A hit fills the memory tiers above.
    #[inline(always)]
    pub(crate) fn find(self: &Arc<Self>, key: &Hashed) -> Option<Served> {
        let draw = Draw::next();
        if self.sampled.picks(draw) { self.find_sampled(key, draw, |_| {}) } else { self.find_from(0, key) }
    }

    /// As [`find`](Self::find), starting at the memory tier `first`.
    #[inline(always)]
    fn find_from(&self, first: usize, key: &Hashed) -> Option<Served> {
        for (depth, tier) in self.memory.iter().enumerate().skip(first) {
            if let Some(value) = tier.lookup(key) {
                if depth > 0 {
                    self.fill_above(depth, key, &value);
                }
                return Some(Served { value, by: tier.name(), coalesced: false, trace: None });
            }
        }
        None
    }

    /// The values of the leading `keys`, up to the first that no memory tier has. A separate function, because an async
    /// function keeps its variables in memory instead of registers.
    ///
    /// Each key is hashed before the previous one is looked up, because no read may move ahead of taking a lock. The
    /// value is pushed in place, the shards of the first tier are read once, and rare cases are in other functions. A
    /// closure called from two places made each key a tenth slower.
    pub(crate) fn leading_hits(self: &Arc<Self>, keys: &[Key]) -> Vec<Served> {
        let mut served = Vec::with_capacity(keys.len());
        let Some(first) = self.memory.first() else { return served };
        let (shards, by, sampled) = (first.shards(), first.name(), self.sampled);
        let mut next = keys.first().map(Hashed::new);
        let mut rest = keys.iter().skip(1);
        while let Some(key) = next {
            next = rest.next().map(Hashed::new);
            let draw = Draw::next();
            let is_sampled = sampled.picks(draw);
            let take = |value: &Bytes| {
                served.push(Served { value: value.clone(), by, coalesced: false, trace: None });
            };
            if !is_sampled && shards.lookup_with(&key, take).is_some() {
                continue;
            }
            let hit = if is_sampled { self.find_sampled(&key, draw, |_| {}) } else { self.find_below(&key) };
            match hit {
                Some(hit) => served.push(hit),
                None => return served,
            }
        }
        served
    }

    /// The value of `key` if a memory tier below the first has it. Not inlined, so that a hit in the first keeps its
    /// registers.
    #[inline(never)]
    fn find_below(&self, key: &Hashed) -> Option<Served> {
        self.find_from(1, key)
    }

    /// As [`find`](Self::find), with two clock readings for each tier and possibly an audit.
    #[cold]
    fn find_sampled(self: &Arc<Self>, key: &Hashed, draw: Draw, mut record: impl FnMut(Step)) -> Option<Served> {
        for (depth, tier) in self.memory.iter().enumerate() {
            let started = Instant::now();
            let value = tier.lookup(key);
            let took = started.elapsed();
            tier.record_time(value.is_some(), took);
            let outcome = if value.is_some() { Outcome::Hit } else { Outcome::Miss };
            record(Step { tier: tier.name(), outcome, took });
            if let Some(value) = value {
                self.fill_above(depth, key, &value);
                if self.audits.sampler.picks(draw) {
                    audit::start(self, *key.key(), &value, tier.name());
                }
                return Some(Served { value, by: tier.name(), coalesced: false, trace: None });
            }
        }
        None
    }

    /// The value of `key` if a memory tier has it, with a trace if `options` asks for one.
    pub(crate) fn find_traced(self: &Arc<Self>, key: &Hashed, options: Options) -> Option<Served> {
        if !options.trace {
            return self.find(key);
        }
        let mut steps = Vec::with_capacity(self.memory.len());
        let hit = self.find_sampled(key, Draw::next(), |step| steps.push(step))?;
        Some(Served { trace: Some(steps.into()), ..hit })
    }

    #[cold]
    fn fill_above(&self, depth: usize, key: &Hashed, value: &Bytes) {
        let (above, from) = self.memory.split_at(depth);
        above.iter().for_each(|tier| tier.insert(key, value));
        // A removal goes through the memory tiers from the last to the first. If it has passed the tier of the hit,
        // undo the fill.
        if !above.is_empty() && !from[0].holds(key) {
            above.iter().for_each(|tier| tier.remove(key));
        }
    }

    /// Removes the value of `key` from the memory tiers, last to first.
    pub(crate) fn remove_from_memory(&self, key: &Hashed) {
        self.memory.iter().rev().for_each(|tier| tier.remove(key));
    }

    /// The value of `key` if a memory tier has it, without counting the lookup.
    pub(crate) fn peek(&self, key: &Hashed) -> Option<Found> {
        self.memory.iter().find_map(|tier| {
            let value = tier.peek(key)?;
            let step = Step { tier: tier.name(), outcome: Outcome::Hit, took: Duration::ZERO };
            Some(Found { value, by: tier.name(), steps: Arc::new([step]) })
        })
    }

    /// The trace steps of a miss in every memory tier.
    pub(crate) fn memory_miss_steps(&self) -> Vec<Step> {
        let miss = |tier: &Arc<LruTier>| Step { tier: tier.name(), outcome: Outcome::Miss, took: tier.miss_cost() };
        self.memory.iter().map(miss).collect()
    }

    /// Inserts a prefetched `value` into the memory tiers a second time. A full memory tier evicts a value inserted
    /// once before its caller arrives; the second insert marks it as used again.
    pub(crate) fn insert_again(&self, key: &Hashed, value: &Bytes) {
        self.memory.iter().for_each(|tier| tier.insert(key, value));
    }

    /// Cost of generating the values of `keys` now, together. `None` while it is unknown.
    pub(crate) fn forecast<'k>(&self, keys: impl Iterator<Item = &'k Key>) -> Option<Forecast> {
        self.generations.cost.forecast(keys.map(|key| self.work(key)))
    }

    /// Class and size of the value of `key`, on which its cost depends.
    pub(crate) fn work(&self, key: &Key) -> Work {
        Work { class: key.class(), size: self.source.size(key) }
    }

    /// The current price of CPU time.
    pub(crate) fn cpu_cost(&self, now: Instant) -> CpuCost {
        self.load.cpu_cost(now, || {
            let memory = self.memory.first().map(|tier| tier.counts()).unwrap_or_default();
            let lower = self.lower.iter().map(|lower| lower.meter.counts());
            let looked_up: u64 = lower.chain([memory]).map(|counts| counts.hits + counts.misses).sum();
            (looked_up + self.generations.total(), self.generations.cpu_seconds())
        })
    }

    /// Inserts `value` into the memory tiers and queues it for the first `below` lower tiers.
    pub(crate) fn promote(&self, key: &Hashed, value: &Bytes, below: usize) {
        self.memory.iter().for_each(|tier| tier.insert(key, value));
        self.lower[..below].iter().for_each(|lower| lower.write(*key.key(), value));
    }
}

impl fmt::Debug for ChainInner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Chain")
            .field("memory", &self.memory)
            .field("lower", &self.lower)
            .field("source", &self.source)
            .finish_non_exhaustive()
    }
}
