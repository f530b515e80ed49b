//! What a chain is made of, and the part of it that lies in memory.

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

/// What a chain is made of.
pub(crate) struct ChainInner {
    /// The tiers in front that are in this process's memory and need no waiting. Often one, perhaps none.
    pub(crate) memory: Box<[Arc<LruTier>]>,
    /// The others, in probing order.
    pub(crate) lower: Box<[LowerTier]>,
    pub(crate) source: Arc<dyn Source>,
    pub(crate) made: Generations,
    pub(crate) load: LoadMonitor,
    pub(crate) leases: Option<Leases>,
    pub(crate) coalesced: IntCounter,
    pub(crate) audits: Audits,
    /// The lookups in memory that are timed or audited.
    pub(crate) sampled: Sampler,
    pub(crate) hedge: bool,
    pub(crate) flights: Flights,
    pub(crate) purges: Purges,
    pub(crate) runtime: Handle,
}

/// One lookup in memory in this many is timed: two readings of the clock cost as much as the lookup between them.
pub(crate) const TIMED: Sampler = Sampler::one_in(1024);

impl ChainInner {
    /// The value if a tier in memory has it, and which; the tiers above have it too, then.
    #[inline(always)]
    pub(crate) fn find(self: &Arc<Self>, key: &Hashed) -> Option<Served> {
        let draw = Draw::next();
        if self.sampled.picks(draw) { self.find_sampled(key, draw, |_| {}) } else { self.find_from(0, key) }
    }

    /// The same from the tier at `first` downwards.
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

    /// The values of the first of `keys`, up to the first that no tier in memory has. Apart from the async function that it
    /// serves, whose variables lie in memory.
    ///
    /// A lock lets no read begin before it is taken, so each key is hashed before the one in front of it is looked up. All is
    /// read from variables at hand: a value is taken straight to its place among the others, where the first tier's shards
    /// lie is read once, and what is rare is another function's. In a closure that was called from two places, each key
    /// cost a tenth more.
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

    /// The value if a tier in memory below the first has it. Apart, so that a hit of the first keeps its variables at hand.
    #[inline(never)]
    fn find_below(&self, key: &Hashed) -> Option<Served> {
        self.find_from(1, key)
    }

    /// As [`find`](Self::find), with a reading of the clock around each tier, which costs as much as the lookup, and perhaps
    /// an audit.
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

    /// As a call with `options` is to see it.
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
        // Removed meanwhile, it must not come back. A removal goes from below upwards: either this sees that it came by, or
        // it will come to the tiers just filled.
        if !above.is_empty() && !from[0].holds(key) {
            above.iter().for_each(|tier| tier.remove(key));
        }
    }

    /// Removes the value of `key` from the tiers in memory, from below upwards.
    pub(crate) fn remove_from_memory(&self, key: &Hashed) {
        self.memory.iter().rev().for_each(|tier| tier.remove(key));
    }

    /// The value if a tier in memory has it, not counted again.
    pub(crate) fn peek(&self, key: &Hashed) -> Option<Found> {
        self.memory.iter().find_map(|tier| {
            let value = tier.peek(key)?;
            let step = Step { tier: tier.name(), outcome: Outcome::Hit, took: Duration::ZERO };
            Some(Found { value, by: tier.name(), steps: Arc::new([step]) })
        })
    }

    /// What a miss in memory looks like in a trace.
    pub(crate) fn memory_miss_steps(&self) -> Vec<Step> {
        let miss = |tier: &Arc<LruTier>| Step { tier: tier.name(), outcome: Outcome::Miss, took: tier.miss_cost() };
        self.memory.iter().map(miss).collect()
    }

    /// Has the tiers in memory take `value`, which was fetched ahead of its caller and has just been kept, for one that comes
    /// again. A full tier keeps a value that it sees for the first time where the next one pushes it out, which would be
    /// before the caller comes.
    pub(crate) fn insert_again(&self, key: &Hashed, value: &Bytes) {
        self.memory.iter().for_each(|tier| tier.insert(key, value));
    }

    /// What the values of `keys` would cost to generate now, all at once; `None` while that is not known.
    pub(crate) fn forecast<'k>(&self, keys: impl Iterator<Item = &'k Key>) -> Option<Forecast> {
        self.made.cost.forecast(keys.map(|key| self.work(key)))
    }

    /// The work that generating the value of `key` is.
    pub(crate) fn work(&self, key: &Key) -> Work {
        Work { class: key.class(), size: self.source.size(key) }
    }

    /// What CPU time costs now.
    pub(crate) fn cpu_cost(&self, now: Instant) -> CpuCost {
        self.load.cpu_cost(now, || {
            let memory = self.memory.first().map(|tier| tier.counts()).unwrap_or_default();
            let lower = self.lower.iter().map(|lower| lower.meter.counts());
            let looked_up: u64 = lower.chain([memory]).map(|counts| counts.hits + counts.misses).sum();
            (looked_up + self.made.made(), self.made.cpu_seconds())
        })
    }

    /// Gives `value` to the tiers in memory, and to the first `below` of the lower ones.
    pub(crate) fn promote(&self, key: &Hashed, value: &Bytes, below: usize) {
        self.memory.iter().for_each(|tier| tier.insert(key, value));
        self.lower[..below].iter().for_each(|lower| lower.keep(*key.key(), value));
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
