//! The chain: what callers hold and ask.

use std::{collections::HashMap, fmt, sync::Arc, time::Duration};

use bytes::Bytes;
use futures_util::future::{join_all, try_join_all};

use crate::{
    chain_inner::ChainInner,
    flight::{Join, Leader},
    hash::{Hashed, IdentityHasher},
    key::Key,
    lower_tier::LowerTier,
    miss_lookup::{self, MissLookup},
    purge::Removal,
    report::{Compaction, Holdings, TierReport},
    served::{Options, Served, Step},
    source::{Priority, SourceError},
    tier::Tier,
};

/// A chain of tiers in front of a [`Source`](crate::Source). Cheap to clone; clones are the same chain.
#[derive(Clone)]
pub struct Chain(Arc<ChainInner>);

impl Chain {
    pub(crate) const fn new(inner: Arc<ChainInner>) -> Self {
        Self(inner)
    }

    /// The value of `key` if a tier in memory has it. Does not wait and does not allocate.
    ///
    /// A `None` is no answer yet: ask [`get`](Self::get), which goes on to the other tiers and the source.
    #[must_use]
    #[inline]
    pub fn get_now(&self, key: &Key) -> Option<Served> {
        self.0.find(&Hashed::new(key))
    }

    /// The value of `key`, from the first tier that has it, else made.
    ///
    /// A caller may go away at any time. Work that others wait for goes on, and work that nobody waits for any more is
    /// finished too, so that the next caller finds it.
    ///
    /// # Errors
    /// Those of the [`Source`](crate::Source); a failing tier is passed by.
    pub async fn get(&self, key: Key, options: Options) -> Result<Served, SourceError> {
        if !options.no_cache
            && !options.trace
            && let Some(hit) = self.get_now(&key)
        {
            return Ok(hit);
        }
        // Boxed, so that a hit carries none of it about.
        Box::pin(self.fetch(key, options)).await
    }

    /// The value of `key`, unless a lookup in memory without a trace is all that it takes, which has been done.
    async fn fetch(&self, key: Key, options: Options) -> Result<Served, SourceError> {
        if options.no_cache {
            return self.refresh(key, options).await;
        }
        let key = Hashed::new(&key);
        if options.trace
            && let Some(hit) = self.0.find_traced(&key, options)
        {
            return Ok(hit);
        }
        let memory = if options.trace { self.0.memory_miss_steps() } else { Vec::new() };
        let epoch = self.0.purges.epoch();
        let Join { waiter, leader, coalesced } = self.join(key, options.priority);
        if let Some(leader) = leader {
            self.start_lookup(vec![leader], options.priority);
        }
        self.0.coalesced.inc_by(u64::from(coalesced));
        let found = waiter.outcome().await?;
        if options.priority == Priority::Background
            && let Some(_permit) = self.0.purges.fill_permit(epoch)
        {
            self.0.insert_again(&key, &found.value);
        }
        Ok(Served::found(found, coalesced, options, &memory))
    }

    /// The values of `keys`, position by position, all or nothing. A key that stands twice is fetched once.
    ///
    /// One pass over memory, then one question to each lower tier for what is still missing, then the rest is made in
    /// parallel; keys that another call is at work on are waited for.
    ///
    /// # Errors
    /// The first of the [`Source`](crate::Source)'s errors.
    pub async fn get_many(&self, keys: &[Key], options: Options) -> Result<Vec<Served>, SourceError> {
        if options.no_cache {
            return try_join_all(keys.iter().map(|key| self.refresh(*key, options))).await;
        }
        let served = if options.trace { Vec::new() } else { self.0.leading_hits(keys) };
        if served.len() == keys.len() { Ok(served) } else { self.get_rest(keys, served, options).await }
    }

    /// The values of `keys`, of which memory had the first ones, `served`, and not the next, unless that was not asked
    /// for yet, since a trace is wanted.
    async fn get_rest(&self, keys: &[Key], served: Vec<Served>, options: Options) -> Result<Vec<Served>, SourceError> {
        let mut served: Vec<Option<Served>> = served.into_iter().map(Some).collect();
        if !options.trace {
            served.push(None);
        }
        let rest = &keys[served.len()..];
        served.extend(rest.iter().map(|key| self.0.find_traced(&Hashed::new(key), options)));
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
        self.start_lookup(leaders, options.priority);
        let memory: Vec<Step> = if options.trace { self.0.memory_miss_steps() } else { Vec::new() };
        for (waiter, coalesced, positions) in waiters {
            self.0.coalesced.inc_by(u64::from(coalesced));
            let found = waiter.outcome().await?;
            for position in positions {
                served[position] = Some(Served::found(found.clone(), coalesced, options, &memory));
            }
        }
        Ok(served.into_iter().map(|served| served.expect("what was missing has been fetched")).collect())
    }

    fn join(&self, key: Hashed, priority: Priority) -> Join {
        self.0.flights.join(key, priority, |key| self.0.peek(key))
    }

    /// Takes the flights of `leaders` as far as they go without waiting, and the rest in a task of its own, which no
    /// caller's going away can stop.
    fn start_lookup(&self, leaders: Vec<Leader>, priority: Priority) {
        let mut lookup = MissLookup::new(leaders, priority, self.0.purges.epoch());
        lookup.start(&self.0);
        if !lookup.is_done() {
            let inner = self.0.clone();
            self.0.runtime.spawn(async move { lookup.finish(&inner).await });
        }
    }

    /// Has the value made without asking any tier, and gives it to every tier.
    async fn refresh(&self, key: Key, options: Options) -> Result<Served, SourceError> {
        let inner = self.0.clone();
        let work = async move {
            let made = miss_lookup::generate_counted(&inner, key, options.priority).await?;
            inner.promote(&Hashed::new(&key), &made.value, inner.lower.len());
            Ok(miss_lookup::generated(made, &[]))
        };
        let aborted = |_| SourceError::Failed { key, reason: "the work was abandoned".to_owned() };
        let found = self.0.runtime.spawn(work).await.map_err(aborted)??;
        Ok(Served::found(found, false, options, &[]))
    }

    /// Gives `value` to every tier: to those in memory now, to the others behind.
    pub fn put(&self, key: Key, value: &Bytes) {
        self.0.promote(&Hashed::new(&key), value, self.0.lower.len());
    }

    /// Forgets `keys` in every tier, as [`purge`](Self::purge) does, and does not tell what became of it.
    pub async fn remove_many(&self, keys: &[Key]) {
        if self.0.lower.is_empty() {
            return self.0.purge_memory(keys);
        }
        // Boxed, so that a chain of memory alone carries none of it about.
        Box::pin(self.0.purge(keys)).await;
    }

    /// Forgets `keys` in every tier. Returns when it is done, and what became of it in each tier below memory; memory never
    /// fails.
    ///
    /// Of what was kept before, nothing comes back: not from a write that is queued, nor from a call that had found it. A
    /// value that is made meanwhile is kept as ever. A tier that fails keeps what it has.
    ///
    /// A tier that has not done it within five seconds is reported as [`Timeout`](crate::TierErrorKind::Timeout). It still
    /// does it, in its turn, also when the caller goes away; until then no tier is filled with what is found in another.
    pub async fn purge(&self, keys: &[Key]) -> Vec<Removal> {
        self.0.purge(keys).await
    }

    /// What each tier holds and has taken, in probing order.
    #[must_use]
    pub fn holdings(&self) -> Vec<Holdings> {
        let memory = self.0.memory.iter().map(|tier| Holdings::new(tier.name(), tier.stats(), None));
        memory.chain(self.0.lower.iter().map(LowerTier::holdings)).collect()
    }

    /// Has each tier below memory give back what room it can, one after the other, behind the writes that are queued.
    pub async fn compact(&self) -> Vec<Compaction> {
        let mut done = Vec::with_capacity(self.0.lower.len());
        for lower in &self.0.lower {
            let before = lower.tier.stats();
            let result = lower.writes.compact().await;
            done.push(Compaction { tier: lower.name(), before, after: lower.tier.stats(), result });
        }
        done
    }

    /// Whether a tier in memory has `key`. Not counted, and no use of it.
    #[must_use]
    pub fn contains_now(&self, key: &Key) -> bool {
        let key = Hashed::new(key);
        self.0.memory.iter().any(|tier| tier.holds(&key))
    }

    /// Whether each tier has `key`, in probing order. A tier that fails has not.
    pub async fn contains(&self, key: &Key) -> Vec<(&'static str, bool)> {
        let hashed = Hashed::new(key);
        let memory = self.0.memory.iter().map(|tier| (tier.name(), tier.holds(&hashed)));
        let lower = self.0.lower.iter().map(|lower| {
            // To its end, also when the caller goes away: a question that is given up half-way hangs up on a tier that is well.
            let (name, tier, key) = (lower.name(), lower.tier.clone(), *key);
            let asked = self.0.runtime.spawn(async move { tier.contains(&key).await });
            async move { (name, matches!(asked.await, Ok(Ok(true)))) }
        });
        memory.chain(join_all(lower).await).collect()
    }

    /// Each tier's figures in probing order, the source last.
    #[must_use]
    pub fn report(&self) -> Vec<TierReport> {
        let memory = self.0.memory.iter().map(|tier| tier.report());
        let lower = self.0.lower.iter().map(LowerTier::report);
        memory.chain(lower).chain([self.0.made.report()]).collect()
    }

    /// Writes what is queued and makes it durable; `false` when a tier failed to, or that took longer than `deadline`. The
    /// chain can be used afterwards.
    pub async fn close(&self, deadline: Duration) -> bool {
        let deadline = tokio::time::Instant::now() + deadline;
        join_all(self.0.lower.iter().map(|lower| lower.writes.flush(deadline))).await.into_iter().all(|flushed| flushed)
    }
}

impl fmt::Debug for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
