//! The chain: what callers hold and ask.

use std::{collections::HashMap, fmt, sync::Arc, time::Duration};

use bytes::Bytes;
use futures_util::future::{join_all, try_join_all};

use crate::{
    flight::{Aboard, Lead},
    hash::{Hashed, Ready},
    key::Key,
    link::Link,
    links::Links,
    purge::Removal,
    report::{Compaction, Holdings, TierReport},
    served::{Options, Served, Step},
    source::{Priority, SourceError},
    tier::Tier,
    walk::{self, Walk},
};

/// A chain of tiers in front of a [`Source`](crate::Source). Cheap to clone; clones are the same chain.
#[derive(Clone)]
pub struct Chain(Arc<Links>);

impl Chain {
    pub(crate) const fn new(links: Arc<Links>) -> Self {
        Self(links)
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
            && let Some(hit) = self.0.in_memory(&key, options)
        {
            return Ok(hit);
        }
        let memory = if options.trace { self.0.memory_misses() } else { Vec::new() };
        let began = self.0.purges.now();
        let Aboard { waiter, lead, coalesced } = self.board(key, options.priority);
        if let Some(lead) = lead {
            self.lead(vec![lead], options.priority);
        }
        self.0.coalesced.inc_by(u64::from(coalesced));
        let found = waiter.landing().await?;
        if options.priority == Priority::Background
            && let Some(_leave) = self.0.purges.none_since(began)
        {
            self.0.expect_soon(&key, &found.value);
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
        served.extend(rest.iter().map(|key| self.0.in_memory(&Hashed::new(key), options)));
        let mut missing: HashMap<Hashed, Vec<usize>, Ready> = HashMap::default();
        for (position, key) in keys.iter().enumerate().filter(|(position, _)| served[*position].is_none()) {
            missing.entry(Hashed::new(key)).or_default().push(position);
        }
        let mut leads = Vec::with_capacity(missing.len());
        let mut waiters = Vec::with_capacity(missing.len());
        for (key, positions) in missing {
            let Aboard { waiter, lead, coalesced } = self.board(key, options.priority);
            waiters.push((waiter, coalesced, positions));
            leads.extend(lead);
        }
        self.lead(leads, options.priority);
        let memory: Vec<Step> = if options.trace { self.0.memory_misses() } else { Vec::new() };
        for (waiter, coalesced, positions) in waiters {
            self.0.coalesced.inc_by(u64::from(coalesced));
            let found = waiter.landing().await?;
            for position in positions {
                served[position] = Some(Served::found(found.clone(), coalesced, options, &memory));
            }
        }
        Ok(served.into_iter().map(|served| served.expect("what was missing has been fetched")).collect())
    }

    fn board(&self, key: Hashed, priority: Priority) -> Aboard {
        self.0.flights.board(key, priority, |key| self.0.peek(key))
    }

    /// Takes the flights of `leads` as far as they go without waiting, and the rest in a task of its own, which no
    /// caller's going away can stop.
    fn lead(&self, leads: Vec<Lead>, priority: Priority) {
        let mut walk = Walk::new(leads, priority, self.0.purges.now());
        walk.start(&self.0);
        if !walk.is_over() {
            let links = self.0.clone();
            self.0.runtime.spawn(async move { walk.finish(&links).await });
        }
    }

    /// Has the value made without asking any tier, and gives it to every tier.
    async fn refresh(&self, key: Key, options: Options) -> Result<Served, SourceError> {
        let links = self.0.clone();
        let work = async move {
            let made = walk::make(&links, key, options.priority).await?;
            links.promote(&Hashed::new(&key), &made.value, links.lower.len());
            Ok(walk::found(made, &[]))
        };
        let stopped = |_| SourceError::Failed { key, reason: "the work was abandoned".to_owned() };
        let found = self.0.runtime.spawn(work).await.map_err(stopped)??;
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
        memory.chain(self.0.lower.iter().map(Link::holdings)).collect()
    }

    /// Has each tier below memory give back what room it can, one after the other, behind the writes that are queued.
    pub async fn compact(&self) -> Vec<Compaction> {
        let mut done = Vec::with_capacity(self.0.lower.len());
        for link in &self.0.lower {
            let before = link.tier.stats();
            let result = link.writes.compact().await;
            done.push(Compaction { tier: link.name(), before, after: link.tier.stats(), result });
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
        let lower = self.0.lower.iter().map(|link| {
            // To its end, also when the caller goes away: a question that is given up half-way hangs up on a tier that is well.
            let (name, tier, key) = (link.name(), link.tier.clone(), *key);
            let asked = self.0.runtime.spawn(async move { tier.contains(&key).await });
            async move { (name, matches!(asked.await, Ok(Ok(true)))) }
        });
        memory.chain(join_all(lower).await).collect()
    }

    /// Each tier's figures in probing order, the source last.
    #[must_use]
    pub fn report(&self) -> Vec<TierReport> {
        let memory = self.0.memory.iter().map(|tier| tier.report());
        let lower = self.0.lower.iter().map(Link::report);
        memory.chain(lower).chain([self.0.made.report()]).collect()
    }

    /// Writes what is queued and makes it durable; `false` when a tier failed to, or that took longer than `deadline`. The
    /// chain can be used afterwards.
    pub async fn close(&self, deadline: Duration) -> bool {
        let deadline = tokio::time::Instant::now() + deadline;
        join_all(self.0.lower.iter().map(|link| link.writes.flush(deadline))).await.into_iter().all(|flushed| flushed)
    }
}

impl fmt::Debug for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
