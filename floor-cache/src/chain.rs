//! The chain: what callers hold and ask.

use std::{
    collections::HashMap,
    fmt,
    sync::Arc,
    time::{Duration, Instant},
};

use bytes::Bytes;
use futures_util::future::{join_all, try_join_all};
use prometheus::IntCounter;
use tokio::runtime::Handle;

use crate::{
    audit::{self, Audits},
    flight::{Flights, Found, Lead, Seat},
    generations::Generations,
    hash::{Hashed, Ready},
    key::Key,
    link::Link,
    report::TierReport,
    source::{Priority, Source, SourceError},
    tier::{Tier, TierErrorKind},
    tiers::LruTier,
    turn::{Share, Turn},
    walk::{self, Walk},
    write_behind::REMOVAL_DEADLINE,
};

/// A chain of tiers in front of a [`Source`]. Cheap to clone; clones are the same chain.
#[derive(Clone)]
pub struct Chain(Arc<Links>);

/// What a chain is made of.
pub(crate) struct Links {
    /// The tiers in front that are in this process's memory and need no waiting. Often one, perhaps none.
    pub(crate) memory: Box<[Arc<LruTier>]>,
    /// The others, in probing order.
    pub(crate) lower: Box<[Link]>,
    pub(crate) source: Arc<dyn Source>,
    pub(crate) made: Generations,
    pub(crate) coalesced: IntCounter,
    pub(crate) audits: Audits,
    /// The lookups in memory that are timed or audited.
    pub(crate) watched: Share,
    pub(crate) hedge: bool,
    pub(crate) flights: Flights,
    pub(crate) runtime: Handle,
}

/// The source's name among the tiers.
pub(crate) const GENERATED: &str = "generated";

/// One lookup in memory in this many is timed: two readings of the clock cost as much as the lookup between them.
pub(crate) const TIMED: Share = Share::one_in(1024);

/// How a call wants its answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Options {
    /// Skip every lookup: have the value made, and refresh every tier with it.
    pub no_cache: bool,
    /// Tell what each tier answered and cost.
    pub trace: bool,
    /// Who waits.
    pub priority: Priority,
}

/// A value and where it came from.
#[derive(Debug, Clone)]
pub struct Served {
    /// The value.
    pub value: Bytes,
    /// The tier that had it, or `generated`.
    pub by: &'static str,
    /// Whether the call waited for the work of another.
    pub coalesced: bool,
    /// What was asked on the way, in order; only when [`Options::trace`] was set.
    pub trace: Option<Box<[Step]>>,
}

/// One tier's part in an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// The tier, or `generated`.
    pub tier: &'static str,
    /// What it answered.
    pub outcome: Outcome,
    /// How long that took, of a batch the whole.
    pub took: Duration,
}

/// What a tier answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// It had the value (or made it).
    Hit,
    /// It had not.
    Miss,
    /// It failed.
    Error,
    /// It did not answer in time.
    Timeout,
    /// It did not answer as soon as it usually does, and the value was made beside it.
    Slow,
    /// It was not asked, since that would not pay.
    Bypass,
    /// It was not asked, since its breaker is open.
    Open,
}

impl Outcome {
    /// Its name in metrics and traces.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Hit => "hit",
            Self::Miss => "miss",
            Self::Error => "error",
            Self::Timeout => "timeout",
            Self::Slow => "slow",
            Self::Bypass => "bypass",
            Self::Open => "open",
        }
    }

    pub(crate) const fn from_error(kind: TierErrorKind) -> Self {
        match kind {
            TierErrorKind::Timeout => Self::Timeout,
            TierErrorKind::Open => Self::Open,
            TierErrorKind::Unreachable | TierErrorKind::Refused | TierErrorKind::Internal => Self::Error,
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

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
    /// Those of the [`Source`]; a failing tier is passed by.
    pub async fn get(&self, key: Key, options: Options) -> Result<Served, SourceError> {
        if options.no_cache {
            return self.refresh(key, options).await;
        }
        let key = Hashed::new(&key);
        if let Some(hit) = self.0.in_memory(&key, options) {
            return Ok(hit);
        }
        let memory = if options.trace { self.0.memory_misses() } else { Vec::new() };
        let (waiter, coalesced) = match self.0.flights.join(key, options.priority) {
            Seat::Wait(waiter) => (waiter, true),
            Seat::Lead(lead) => {
                let waiter = lead.waiter();
                self.lead(vec![lead], options.priority);
                (waiter, false)
            }
        };
        self.0.coalesced.inc_by(u64::from(coalesced));
        Ok(Served::found(waiter.landing().await?, coalesced, options, &memory))
    }

    /// The values of `keys`, position by position, all or nothing. A key that stands twice is fetched once.
    ///
    /// One pass over memory, then one question to each lower tier for what is still missing, then the rest is made in
    /// parallel; keys that another call is at work on are waited for.
    ///
    /// # Errors
    /// The first of the [`Source`]'s errors.
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
            match self.0.flights.join(key, options.priority) {
                Seat::Wait(waiter) => waiters.push((waiter, true, positions)),
                Seat::Lead(lead) => {
                    waiters.push((lead.waiter(), false, positions));
                    leads.push(lead);
                }
            }
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

    /// Takes the flights of `leads` as far as they go without waiting, and the rest in a task of its own, which no
    /// caller's going away can stop.
    fn lead(&self, mut leads: Vec<Lead>, priority: Priority) {
        // Since the caller looked, a flight of the same key may have landed and left its value in memory.
        leads.retain_mut(|lead| match self.0.peek(lead.hashed()) {
            Some(found) => {
                lead.land(Ok(found));
                false
            }
            None => true,
        });
        let mut walk = Walk::new(leads, priority);
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

    /// Forgets `keys` in every tier. Returns when it is done; a tier that fails keeps what it has.
    pub async fn remove_many(&self, keys: &[Key]) {
        for key in keys {
            self.0.forget(&Hashed::new(key));
        }
        if self.0.lower.is_empty() {
            return;
        }
        let removals = self.0.lower.iter().map(|link| link.writes.remove(keys.to_vec()));
        let _ = tokio::time::timeout(REMOVAL_DEADLINE, join_all(removals)).await;
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
        let lower = self.0.lower.iter().map(async |link| (link.name(), link.tier.contains(key).await.unwrap_or(false)));
        memory.chain(join_all(lower).await).collect()
    }

    /// Each tier's figures in probing order, the source last.
    #[must_use]
    pub fn report(&self) -> Vec<TierReport> {
        let memory = self.0.memory.iter().map(|tier| tier.report());
        let lower = self.0.lower.iter().map(Link::report);
        memory.chain(lower).chain([self.0.made.report()]).collect()
    }

    /// Writes what is queued and makes it durable; `false` when that took longer than `deadline`. The chain can be used
    /// afterwards.
    pub async fn close(&self, deadline: Duration) -> bool {
        let deadline = tokio::time::Instant::now() + deadline;
        join_all(self.0.lower.iter().map(|link| link.writes.flush(deadline))).await.into_iter().all(|flushed| flushed)
    }
}

impl Links {
    /// The value if a tier in memory has it, and which; the tiers above have it too, then.
    #[inline(always)]
    fn find(self: &Arc<Self>, key: &Hashed) -> Option<Served> {
        let turn = Turn::next();
        if self.watched.has(turn) {
            return self.find_watched(key, turn, |_| {});
        }
        for (depth, tier) in self.memory.iter().enumerate() {
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
    fn leading_hits(self: &Arc<Self>, keys: &[Key]) -> Vec<Served> {
        let mut served = Vec::with_capacity(keys.len());
        for key in keys {
            match self.find(&Hashed::new(key)) {
                Some(hit) => served.push(hit),
                None => break,
            }
        }
        served
    }

    /// The same with a reading of the clock around each tier, which costs as much as the lookup, and perhaps an audit.
    #[cold]
    fn find_watched(self: &Arc<Self>, key: &Hashed, turn: Turn, mut note: impl FnMut(Step)) -> Option<Served> {
        for (depth, tier) in self.memory.iter().enumerate() {
            let started = Instant::now();
            let value = tier.lookup(key);
            let took = started.elapsed();
            tier.timed(value.is_some(), took);
            let outcome = if value.is_some() { Outcome::Hit } else { Outcome::Miss };
            note(Step { tier: tier.name(), outcome, took });
            if let Some(value) = value {
                self.fill_above(depth, key, &value);
                if self.audits.share.has(turn) {
                    audit::start(self, *key.key(), &value, tier.name());
                }
                return Some(Served { value, by: tier.name(), coalesced: false, trace: None });
            }
        }
        None
    }

    /// As a call with `options` is to see it.
    fn in_memory(self: &Arc<Self>, key: &Hashed, options: Options) -> Option<Served> {
        if !options.trace {
            return self.find(key);
        }
        let mut steps = Vec::with_capacity(self.memory.len());
        let hit = self.find_watched(key, Turn::next(), |step| steps.push(step))?;
        Some(Served { trace: Some(steps.into()), ..hit })
    }

    #[cold]
    fn fill_above(&self, depth: usize, key: &Hashed, value: &Bytes) {
        self.memory[..depth].iter().for_each(|above| above.insert(key, value));
    }

    /// Removes the value of `key` from the tiers in memory.
    pub(crate) fn forget(&self, key: &Hashed) {
        self.memory.iter().for_each(|tier| tier.remove(key));
    }

    /// The value if a tier in memory has it, not counted again.
    fn peek(&self, key: &Hashed) -> Option<Found> {
        self.memory.iter().find_map(|tier| {
            let value = tier.peek(key)?;
            let step = Step { tier: tier.name(), outcome: Outcome::Hit, took: Duration::ZERO };
            Some(Found { value, by: tier.name(), steps: Arc::new([step]) })
        })
    }

    /// What a miss in memory looks like in a trace.
    fn memory_misses(&self) -> Vec<Step> {
        let miss = |tier: &Arc<LruTier>| Step { tier: tier.name(), outcome: Outcome::Miss, took: tier.miss_cost() };
        self.memory.iter().map(miss).collect()
    }

    /// Gives `value` to the tiers in memory, and to the first `below` of the lower ones.
    pub(crate) fn promote(&self, key: &Hashed, value: &Bytes, below: usize) {
        self.memory.iter().for_each(|tier| tier.insert(key, value));
        self.lower[..below].iter().for_each(|link| link.keep(*key.key(), value));
    }
}

impl Served {
    fn found(found: Found, coalesced: bool, options: Options, before: &[Step]) -> Self {
        let trace = options.trace.then(|| before.iter().chain(found.steps.iter()).copied().collect());
        Self { value: found.value, by: found.by, coalesced, trace }
    }
}

impl fmt::Debug for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Chain")
            .field("memory", &self.0.memory)
            .field("lower", &self.0.lower)
            .field("source", &self.0.source)
            .finish_non_exhaustive()
    }
}
