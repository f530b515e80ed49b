//! Lookups: in memory, on the caller's stack, and for what memory does not have in the flight of each key.

use std::{
    collections::HashMap,
    pin::Pin,
    task::{Context, Poll},
    time::Instant,
};

use futures_util::{
    FutureExt,
    future::{BoxFuture, try_join_all},
};
use tokio::runtime::Handle;

use super::{
    handle::Chain,
    miss_lookup::{MissLookup, generate},
};
use crate::{
    hash::{Hashed, IdentityHasher},
    key::Key,
    memory_tier::LeadingHits,
    sampler::{Draw, Sampler},
    served::{Found, Options, Outcome, Served, Step},
    single_flight::{FlightResult, Join, Leader},
    source::{Priority, SourceError},
    stack::WriteReason,
};

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
        if TIMED.picks(draw) { self.find_sampled(key, draw, |_| {}) } else { self.find_from(0, key) }
    }

    /// The value of `key` if a memory tier from index `first` on has it. A hit fills the memory tiers above.
    #[inline(always)]
    fn find_from(&self, first: usize, key: &Hashed) -> Option<Served> {
        for (depth, tier) in self.0.stack.memory.iter().enumerate().skip(first) {
            if let Some(value) = tier.lookup(key) {
                if depth > 0 {
                    self.0.stack.fill_above(depth, key, &value);
                }
                return Some(Served { value, by: tier.name(), coalesced: false, trace: None });
            }
        }
        None
    }

    /// As [`find`](Self::find), with two clock readings for each tier. A timed hit is also offered to the lower
    /// tiers: the more often memory serves a value, the sooner they learn of it.
    #[cold]
    fn find_sampled(&self, key: &Hashed, draw: Draw, record: impl FnMut(Step)) -> Option<Served> {
        let epoch = self.0.stack.purges.epoch();
        let hit = self.find_timed(key, record)?;
        if TIMED.picks(draw)
            && let Some(_permit) = self.0.stack.purges.fill_permit(epoch)
        {
            self.0.stack.keep_below(key, &hit.value);
        }
        Some(hit)
    }

    /// As [`find_from`](Self::find_from) the first tier, with two clock readings for each tier.
    #[cold]
    fn find_timed(&self, key: &Hashed, mut record: impl FnMut(Step)) -> Option<Served> {
        for (depth, tier) in self.0.stack.memory.iter().enumerate() {
            let started = Instant::now();
            let value = tier.lookup(key);
            let took = started.elapsed();
            tier.record_time(value.is_some(), took);
            let outcome = if value.is_some() { Outcome::Hit } else { Outcome::Miss };
            record(Step::of_tier(tier.name(), outcome, started, took));
            if let Some(value) = value {
                self.0.stack.fill_above(depth, key, &value);
                return Some(Served { value, by: tier.name(), coalesced: false, trace: None });
            }
        }
        None
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
        let mut served = Vec::with_capacity(keys.len());
        let Some(first) = self.0.stack.memory.first() else { return served };
        loop {
            let stopped = first.leading_hits(&keys[served.len()..], TIMED, &mut served);
            let hit = match (stopped, keys.get(served.len())) {
                (LeadingHits::All, _) | (_, None) => return served,
                (LeadingHits::Sampled(draw), Some(key)) => self.find_sampled(&Hashed::new(key), draw, |_| {}),
                (LeadingHits::Missed, Some(key)) => self.find_from(1, &Hashed::new(key)),
            };
            match hit {
                Some(hit) => served.push(hit),
                None => return served,
            }
        }
    }

    /// The value of `key` from the first tier that has it, or generated.
    ///
    /// The future may be dropped at any time. The lookup then continues in a task and stores the value for the next
    /// caller. Poll it until then: other callers may wait for the same value.
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
            let (waiter, coalesced) = match self.join(key, options) {
                Join::Found(found) => return Ok((found, false)),
                Join::Wait(waiter) => (waiter, true),
                Join::Lead(leader, waiter) => {
                    if let Some(rest) = self.start_lookup(vec![leader], options) {
                        rest.await;
                    }
                    (waiter, false)
                }
            };
            self.0.coalesced.add(u64::from(coalesced));
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
            return self.refresh_many(keys, options).await;
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
        let memory: Vec<Step> = if options.trace { self.0.stack.memory_miss_steps() } else { Vec::new() };
        for (key, positions) in missing {
            match self.join(key, options) {
                Join::Found(found) => {
                    for position in positions {
                        served[position] = Some(Served::found(found.clone(), false, options, &memory));
                    }
                }
                Join::Wait(waiter) => waiters.push((waiter, true, positions)),
                Join::Lead(leader, waiter) => {
                    leaders.push(leader);
                    waiters.push((waiter, false, positions));
                }
            }
        }
        // A task does the rest: the caller may read its values slowly.
        drop(self.start_lookup(leaders, options));
        for (waiter, coalesced, positions) in waiters {
            self.0.coalesced.add(u64::from(coalesced));
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

    fn join(&self, key: Hashed, options: Options) -> Join {
        self.0.stack.flights.join(key, options, |key| self.0.stack.peek(key))
    }

    /// Runs the flights of `leaders` without waiting as far as possible. Returns what is left to do.
    fn start_lookup(&self, leaders: Vec<Leader>, options: Options) -> Option<RestOfLookup> {
        let mut lookup = MissLookup::new(leaders, options, self.0.stack.purges.epoch());
        lookup.start(&self.0);
        if lookup.is_done() {
            return None;
        }
        let inner = self.0.clone();
        Some(self.rest(async move { lookup.finish(&inner).await }.boxed()))
    }

    fn rest(&self, rest: BoxFuture<'static, ()>) -> RestOfLookup {
        RestOfLookup { rest: Some(rest), runtime: self.0.stack.runtime.clone() }
    }

    /// As [`refresh`](Self::refresh) of each key, and of a repeated key once: one refresh may end before another begins.
    async fn refresh_many(&self, keys: &[Key], options: Options) -> Result<Vec<Served>, SourceError> {
        let (mut distinct, mut indexes) = (Vec::new(), HashMap::<Hashed, usize, IdentityHasher>::default());
        let mut index_of = |key: &Key| {
            *indexes.entry(Hashed::new(key)).or_insert_with(|| {
                distinct.push(*key);
                distinct.len() - 1
            })
        };
        let of_keys: Vec<usize> = keys.iter().map(&mut index_of).collect();
        let served = try_join_all(distinct.into_iter().map(|key| self.refresh(key, options))).await?;
        Ok(of_keys.into_iter().map(|index| served[index].clone()).collect())
    }

    /// Generates the value without asking any tier, and stores it in every tier. Concurrent refreshes of a key share one
    /// generation.
    async fn refresh(&self, key: Key, options: Options) -> Result<Served, SourceError> {
        let (found, coalesced) = match self.0.refreshes.join(Hashed::new(&key), options, |_| None) {
            Join::Found(found) => (found, false),
            Join::Wait(waiter) => {
                self.0.coalesced.add(1);
                (waiter.outcome().await?, true)
            }
            Join::Lead(leader, waiter) => {
                let inner = self.0.clone();
                let rest = async move { generate(&inner, leader, options, &[], WriteReason::Required).await };
                self.rest(rest.boxed()).await;
                (waiter.outcome().await?, false)
            }
        };
        Ok(Served::found(found, coalesced, options, &[]))
    }
}

/// What is left of a lookup, for its caller to poll: a task of its own would cost two wake-ups. If the caller is dropped
/// before the end, a task does it, so that the value is stored and other callers get it.
struct RestOfLookup {
    /// `None` after the end.
    rest: Option<BoxFuture<'static, ()>>,
    runtime: Handle,
}

impl Future for RestOfLookup {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        // Taken first: after a panic nothing is left.
        if let Some(mut rest) = self.rest.take()
            && rest.as_mut().poll(cx).is_pending()
        {
            self.rest = Some(rest);
            return Poll::Pending;
        }
        Poll::Ready(())
    }
}

impl Drop for RestOfLookup {
    fn drop(&mut self) {
        if let Some(rest) = self.rest.take() {
            self.runtime.spawn(rest);
        }
    }
}
