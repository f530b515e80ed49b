//! The lookup after a miss in memory: asks the lower tiers for one or many keys, then generates the rest.
//! [`Chain`](crate::Chain) starts it.

use std::{
    collections::HashMap,
    mem,
    panic::AssertUnwindSafe,
    sync::Arc,
    time::{Duration, Instant},
};

use bytes::Bytes;
use futures_util::{FutureExt, StreamExt, stream::FuturesUnordered};

use crate::{
    audit,
    chain_inner::ChainInner,
    flight::{Found, Leader},
    hash::{Hashed, IdentityHasher},
    hedge::Hedge,
    key::Key,
    lower_tier::{LowerTier, Values},
    policy::{Asked, Decision},
    purge::PurgeEpoch,
    sampler::Draw,
    served::{GENERATED, Outcome, Step},
    source::{Made, Priority, SourceError},
    tier::TierError,
};

/// A lookup of keys that memory does not have. It leads a flight for each and completes it as soon as the value is
/// found.
pub(crate) struct MissLookup {
    pending: Vec<Leader>,
    /// The lower tier to ask next.
    next: usize,
    steps: Vec<Step>,
    priority: Priority,
    /// Keys that the shared tier missed.
    shared_misses: Vec<Key>,
    /// Taken before the first tier was asked.
    epoch: PurgeEpoch,
    /// Hedged generations that are running.
    pub(crate) hedges: FuturesUnordered<Hedge>,
}

impl MissLookup {
    pub(crate) fn new(pending: Vec<Leader>, priority: Priority, epoch: PurgeEpoch) -> Self {
        let (steps, shared_misses, hedges) = (Vec::new(), Vec::new(), FuturesUnordered::new());
        Self { pending, next: 0, steps, priority, shared_misses, epoch, hedges }
    }

    /// Whether every flight is complete.
    pub(crate) fn is_done(&self) -> bool {
        self.pending.is_empty()
    }

    /// Asks the leading lower tiers that answer without waiting.
    pub(crate) fn start(&mut self, inner: &Arc<ChainInner>) {
        while let Some(lower) = inner.lower.get(self.next).filter(|lower| !lower.tier.waits()) {
            if self.is_done() {
                return;
            }
            let asked = self.keys_to_ask(inner, lower);
            if !asked.is_empty() {
                let started = Instant::now();
                let Some(answer) = lower.ask(&asked).now_or_never() else { return };
                self.handle_answer(inner, lower, &asked, answer, started.elapsed());
            }
            self.next += 1;
        }
    }

    /// Asks the remaining tiers and generates what none has.
    pub(crate) async fn finish(mut self, inner: &Arc<ChainInner>) {
        // Only foreground lookups count as calls in flight.
        let _in_flight = (self.priority == Priority::Foreground).then(|| inner.load.call());
        while let Some(lower) = inner.lower.get(self.next) {
            if self.is_done() {
                return;
            }
            let asked = self.keys_to_ask(inner, lower);
            if !asked.is_empty() {
                self.probe(inner, lower, &asked).await;
            }
            self.next += 1;
        }
        self.generate_rest(inner).await;
    }

    /// The pending keys to ask `lower` for. Counts the others as bypassed.
    fn keys_to_ask(&mut self, inner: &Arc<ChainInner>, lower: &LowerTier) -> Vec<Key> {
        let pending = self.pending.iter().map(|leader| *leader.key());
        let mut asked: Vec<Key> = pending.filter(|key| lower.admit.admits(key.class())).collect();
        if !asked.is_empty() {
            if lower.policy.is_expensive() {
                asked.iter().for_each(|key| learn_cost(inner, *key));
            }
            let now = Instant::now();
            let decision = lower.policy.decide(now, asked.len(), inner.forecast(asked.iter()), inner.cpu_cost(now));
            match decision {
                Decision::Ask => {}
                Decision::Bypass => asked.clear(),
                Decision::BypassAndSample => sample(inner, self.next, mem::take(&mut asked)),
            }
        }
        lower.meter.record_bypass(self.pending.len() - asked.len());
        if asked.is_empty() {
            self.steps.push(Step { tier: lower.name(), outcome: Outcome::Bypass, took: Duration::ZERO });
        }
        asked
    }

    /// Completes the flights of the keys that were found. Fills the tiers above first, unless a purge ran since the
    /// lookup began.
    pub(crate) fn handle_answer(
        &mut self,
        inner: &Arc<ChainInner>,
        lower: &LowerTier,
        asked: &[Key],
        answer: Result<Values, TierError>,
        took: Duration,
    ) {
        let step = |outcome| Step { tier: lower.name(), outcome, took };
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
        let permit = inner.purges.fill_permit(self.epoch);
        self.pending.retain_mut(|leader| {
            let Some(value) = found.remove(leader.hashed()) else { return true };
            if inner.audits.sampler.picks(Draw::next()) {
                audit::start(inner, *leader.key(), &value, lower.name());
            }
            leader.store_and_complete(Found { value, by: lower.name(), steps: steps.clone() }, |key, value| {
                if permit.is_some() {
                    inner.promote(key, value, self.next);
                }
            });
            false
        });
        self.steps.push(step(Outcome::Miss));
        if inner.leases.as_ref().is_some_and(|leases| leases.tier == self.next) {
            self.shared_misses.extend(asked);
        }
    }

    /// Completes the flight of `key` with a generated value if it is still pending.
    pub(crate) fn complete(&mut self, inner: &ChainInner, key: &Key, found: Found) {
        let Some(position) = self.pending.iter().position(|leader| leader.key() == key) else { return };
        let mut leader = self.pending.swap_remove(position);
        leader.store_and_complete(found, |key, value| inner.promote(key, value, inner.lower.len()));
    }

    /// How many of `keys` are still pending.
    pub(crate) fn count_pending(&self, keys: &[Key]) -> usize {
        self.pending.iter().filter(|leader| keys.contains(leader.key())).count()
    }

    pub(crate) fn steps(&self) -> &[Step] {
        &self.steps
    }

    pub(crate) const fn priority(&self) -> Priority {
        self.priority
    }

    /// Generates the pending values concurrently and completes each flight when its value is ready.
    async fn generate_rest(self, inner: &ChainInner) {
        let Self { pending, steps, priority, shared_misses, epoch, hedges, .. } = self;
        let mut hedges: HashMap<Key, Hedge> = hedges.into_iter().map(|hedge| (hedge.key, hedge)).collect();
        // Background work takes no leases, so that no other server waits for it.
        let leases = inner.leases.as_ref().filter(|_| priority == Priority::Foreground);
        let (steps, shared_misses) = (steps.as_slice(), shared_misses.as_slice());
        let tasks: FuturesUnordered<_> = pending
            .into_iter()
            .map(|leader| {
                let hedge = hedges.remove(leader.key());
                (leader, hedge)
            })
            .map(|(mut leader, hedge)| async move {
                let key = *leader.key();
                if let Some(hedge) = hedge
                    && let (_, Ok(made)) = hedge.await
                {
                    return complete_with(inner, &mut leader, Ok(made), steps);
                }
                match leases.filter(|leases| shared_misses.contains(&key) && leases.is_worthwhile(inner, &key)) {
                    Some(leases) => leases.generate_once(inner, leader, steps, priority, epoch).await,
                    None => {
                        let made = generate_counted(inner, key, priority).await;
                        complete_with(inner, &mut leader, made, steps);
                    }
                }
            })
            .collect();
        tasks.collect::<()>().await;
    }
}

pub(crate) type GenerateResult = Result<Made, SourceError>;

/// Asks the lower tier at `depth` for `keys` in the background, to measure its cost.
fn sample(inner: &Arc<ChainInner>, depth: usize, keys: Vec<Key>) {
    let inner = inner.clone();
    inner.runtime.clone().spawn(async move { inner.lower[depth].sample(&keys).await });
}

/// Generates `key` in the background once per class, so that the policy has a generation cost to compare with. Without
/// it, a tier that has every value would always be asked, however slow it is.
fn learn_cost(inner: &Arc<ChainInner>, key: Key) {
    if inner.generations.claim_cost_sample(key.class()) {
        let inner = inner.clone();
        inner.runtime.clone().spawn(async move {
            if let Err(error) = generate_counted(&inner, key, Priority::Background).await {
                tracing::debug!(%error, "the cost of generation could not be measured");
            }
            inner.generations.release_cost_sample(key.class());
        });
    }
}

/// Calls the source and records the cost of the generation. A panic of the source becomes an error of this key.
pub(crate) async fn run_source(inner: &ChainInner, key: Key, priority: Priority) -> GenerateResult {
    let started = Instant::now();
    let in_progress = inner.generations.cost.begin(inner.work(&key), priority == Priority::Background);
    let work = AssertUnwindSafe(async { inner.source.generate(key, priority).await });
    let panicked = |_| Err(SourceError::Failed { key, reason: "the generator panicked".to_owned() });
    let made = work.catch_unwind().await.unwrap_or_else(panicked)?;
    in_progress.finish(started.elapsed(), made.took, made.cpu);
    inner.generations.count_cpu(made.cpu);
    Ok(made)
}

/// Generates the value of `key` for a call and counts it. Does not store it.
pub(crate) async fn generate_counted(inner: &ChainInner, key: Key, priority: Priority) -> GenerateResult {
    let made = run_source(inner, key, priority).await?;
    inner.generations.count(inner.source.class_name(key.class()), &made);
    Ok(made)
}

/// Stores the generated value in every tier, then completes the flight. An error completes it at once.
pub(crate) fn complete_with(inner: &ChainInner, leader: &mut Leader, made: GenerateResult, steps: &[Step]) {
    match made {
        Ok(made) => {
            leader.store_and_complete(generated(made, steps), |key, value| inner.promote(key, value, inner.lower.len()))
        }
        Err(error) => leader.complete(Err(error)),
    }
}

/// The result of a flight whose value was generated after `steps`.
pub(crate) fn generated(made: Made, steps: &[Step]) -> Found {
    let step = Step { tier: GENERATED, outcome: Outcome::Hit, took: made.took };
    Found { value: made.value, by: GENERATED, steps: steps.iter().copied().chain([step]).collect() }
}
