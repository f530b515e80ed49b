//! The lookup after a miss in memory: asks the lower tiers for one or many keys, then generates the rest.
//! [`Chain`](crate::Chain) starts it.

use std::{
    collections::HashMap,
    mem,
    sync::Arc,
    time::{Duration, Instant},
};

use bytes::Bytes;
use futures_util::{FutureExt, StreamExt, stream::FuturesUnordered};

use super::{
    handle::Inner,
    lease::{Leased, Leases},
};
use crate::{
    hash::{Hashed, IdentityHasher},
    key::Key,
    policy::{Asked, CpuCost, Decision},
    producer::GenerateResult,
    served::{Found, Options, Outcome, Step},
    single_flight::Leader,
    source::Priority,
    stack::{LowerTier, PurgeEpoch, Recheck, RequiredIn, TierStack, Values},
    tier::TierError,
};

/// A lookup of keys that memory does not have. It leads a flight for each and completes it as soon as the value is
/// found.
pub(crate) struct MissLookup {
    pending: Vec<Leader>,
    /// The lower tier to ask next.
    next: usize,
    steps: Vec<Step>,
    options: Options,
    /// Keys that the shared tier missed.
    shared_misses: Vec<Key>,
    /// Taken before the first tier was asked.
    epoch: PurgeEpoch,
}

impl MissLookup {
    pub(crate) fn new(pending: Vec<Leader>, options: Options, epoch: PurgeEpoch) -> Self {
        Self { pending, next: 0, steps: Vec::new(), options, shared_misses: Vec::new(), epoch }
    }

    /// Whether every flight is complete.
    pub(crate) fn is_done(&self) -> bool {
        self.pending.is_empty()
    }

    /// Asks the leading lower tiers that answer without waiting.
    pub(crate) fn start(&mut self, inner: &Inner) {
        while let Some(lower) = inner.stack.lower.get(self.next).filter(|lower| !lower.tier.waits()) {
            if self.is_done() {
                return;
            }
            let asked = self.keys_to_ask(inner, lower);
            if !asked.is_empty() {
                let started = Instant::now();
                let Some(answer) = lower.ask(&asked).now_or_never() else { return };
                self.handle_answer(inner, lower, &asked, answer, (started, started.elapsed()));
            }
            self.next += 1;
        }
    }

    /// Asks the remaining tiers and generates what none has.
    pub(crate) async fn finish(mut self, inner: &Inner) {
        // Only foreground lookups count as calls in flight.
        let _in_flight = (self.options.priority == Priority::Foreground).then(|| inner.producer.load.call());
        while let Some(lower) = inner.stack.lower.get(self.next) {
            if self.is_done() {
                return;
            }
            let asked = self.keys_to_ask(inner, lower);
            if !asked.is_empty() {
                let started = Instant::now();
                let answer = lower.ask(&asked).await;
                self.handle_answer(inner, lower, &asked, answer, (started, started.elapsed()));
            }
            self.next += 1;
        }
        self.generate_rest(inner).await;
    }

    /// The pending keys to ask `lower` for. Counts the others as bypassed.
    fn keys_to_ask(&mut self, inner: &Inner, lower: &LowerTier) -> Vec<Key> {
        let pending = self.pending.iter().map(|leader| *leader.key());
        let mut asked: Vec<Key> = pending.filter(|key| lower.admit.admits(key.class())).collect();
        if !asked.is_empty() {
            if lower.policy.is_expensive() {
                asked.iter().for_each(|key| inner.producer.sample_cost(*key));
            }
            let now = Instant::now();
            let decision = lower.policy.decide(now, asked.len(), inner.producer.forecast(&asked), cpu_cost(inner, now));
            match decision {
                Decision::Ask => {}
                Decision::Bypass => asked.clear(),
                Decision::BypassAndSample => sample(&inner.stack, self.next, mem::take(&mut asked)),
                Decision::BypassAndCollect(allowed) => {
                    if let Some(complete) = lower.recheck_keys.collect(now, &asked, allowed) {
                        start_recheck(&inner.stack, self.next, complete);
                    }
                    asked.clear();
                }
            }
        }
        lower.meter.record_bypass(self.pending.len() - asked.len());
        if asked.is_empty() {
            self.steps.push(Step::of_tier(lower.name(), Outcome::Bypass, Instant::now(), Duration::ZERO));
        }
        asked
    }

    /// Completes the flights of the keys that were found. Fills the tiers above first, unless a purge ran since the
    /// lookup began. `(started, took)`: when the tier was asked, and for how long.
    fn handle_answer(
        &mut self,
        inner: &Inner,
        lower: &LowerTier,
        asked: &[Key],
        answer: Result<Values, TierError>,
        (started, took): (Instant, Duration),
    ) {
        let step = |outcome| Step::of_tier(lower.name(), outcome, started, took);
        lower.learn(Asked::ForCaller, asked.len(), &answer, took);
        let values = match answer {
            Ok(values) => values,
            Err(error) => {
                tracing::debug!(tier = lower.name(), %error, "a tier failed; the lookup continues without it");
                self.steps.push(step(Outcome::from_error(error.kind())));
                return;
            }
        };
        let mut found: HashMap<Hashed, Bytes, IdentityHasher> =
            asked.iter().zip(values).filter_map(|(key, value)| Some((Hashed::new(key), value?))).collect();
        let steps: Arc<[Step]> = self.steps.iter().copied().chain([step(Outcome::Hit)]).collect();
        let permit = inner.stack.purges.fill_permit(self.epoch);
        self.pending.retain_mut(|leader| {
            let Some(value) = found.remove(leader.hashed()) else { return true };
            leader.store_and_complete(Found { value, by: lower.name(), steps: steps.clone() }, |key, value| {
                if permit.is_some() {
                    inner.stack.promote(key, value, self.next);
                }
            });
            false
        });
        self.steps.push(step(Outcome::Miss));
        if inner.leases.as_ref().is_some_and(|leases| leases.tier == self.next) {
            self.shared_misses.extend(asked);
        }
    }

    /// Generates the pending values concurrently and completes each flight when its value is ready.
    async fn generate_rest(self, inner: &Inner) {
        let Self { pending, steps, options, shared_misses, epoch, .. } = self;
        // Background work takes no leases, so that no other server waits for it.
        let leases = inner.leases.as_ref().filter(|_| options.priority == Priority::Foreground);
        let (steps, shared_misses) = (steps.as_slice(), shared_misses.as_slice());
        let tasks: FuturesUnordered<_> = pending
            .into_iter()
            .map(async |mut leader| {
                let key = *leader.key();
                match leases.filter(|leases| shared_misses.contains(&key) && is_worth_lease(inner, leases, &key)) {
                    Some(leases) => complete_leased(inner, leases, &mut leader, options, steps, epoch).await,
                    None => {
                        let made = inner.producer.generate(leader.request(options)).await;
                        complete_with(inner, &mut leader, made, steps, RequiredIn::NoTier);
                    }
                }
            })
            .collect();
        tasks.collect::<()>().await;
    }
}

/// The current price of CPU time.
fn cpu_cost(inner: &Inner, now: Instant) -> CpuCost {
    inner.producer.cpu_cost(now, || inner.stack.lookups())
}

/// Asks the lower tier at `depth` for `keys` in the background, to measure its cost.
fn sample(stack: &Arc<TierStack>, depth: usize, keys: Vec<Key>) {
    let asked = stack.clone();
    stack.runtime.spawn(async move { asked.lower[depth].sample(&keys).await });
}

/// Rechecks the local tier at `depth`, on a thread that may block.
fn start_recheck(stack: &Arc<TierStack>, depth: usize, recheck: Recheck) {
    let asked = stack.clone();
    stack.runtime.spawn_blocking(move || asked.lower[depth].run_recheck(&recheck));
}

/// Stores the generated value, then completes the flight. Lower tiers that are nearly full may refuse it unless
/// `required` includes them. An error completes the flight at once.
pub(super) fn complete_with(
    inner: &Inner,
    leader: &mut Leader,
    made: GenerateResult,
    steps: &[Step],
    required: RequiredIn,
) {
    match made {
        Ok(made) => {
            let found = Found::generated(made, steps);
            leader.store_and_complete(found, |key, value| inner.stack.store(key, value, required));
        }
        Err(error) => leader.complete(Err(error)),
    }
}

/// Whether the value of `key`, which the shared tier missed, is worth a lease.
fn is_worth_lease(inner: &Inner, leases: &Leases, key: &Key) -> bool {
    leases.is_worthwhile(&inner.producer, key, || {
        let query = inner.stack.lower[leases.tier].policy.status().cost;
        (query, cpu_cost(inner, Instant::now()))
    })
}

/// Generates the value of `leader` under a lease, or waits for another server to do so, and completes the flight. A
/// value from another server is not stored if a purge ran since `epoch`.
async fn complete_leased(
    inner: &Inner,
    leases: &Leases,
    leader: &mut Leader,
    options: Options,
    steps: &[Step],
    epoch: PurgeEpoch,
) {
    let shared = &inner.stack.lower[leases.tier];
    let started = Instant::now();
    match leases.generate_once(&inner.producer, leader.request(options)).await {
        Leased::Found(value) => {
            if let Some(_permit) = inner.stack.purges.fill_permit(epoch) {
                inner.stack.promote(leader.hashed(), &value, leases.tier);
            }
            let step = Step::of_tier(shared.name(), Outcome::Hit, started, started.elapsed());
            let steps = steps.iter().copied().chain([step]).collect();
            leader.complete(Ok(Found { value, by: shared.name(), steps }));
        }
        Leased::Generated(made, guard) => {
            // Other servers may be waiting for the value of a lease.
            let required = guard.as_ref().map_or(RequiredIn::NoTier, |_| RequiredIn::Tier(leases.tier));
            complete_with(inner, leader, made, steps, required);
            if let Some(guard) = guard {
                guard.keep_until(shared.writes.last_stored());
            }
        }
    }
}
