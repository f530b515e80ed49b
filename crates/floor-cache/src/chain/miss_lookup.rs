//! The lookup after a miss in memory: asks the lower tiers for one or many keys, then generates the rest.
//! [`Chain`](crate::Chain) starts it.

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};

use bytes::Bytes;
use futures_util::{FutureExt, StreamExt, stream::FuturesUnordered};

use super::handle::Inner;
use crate::{
    hash::{Hashed, IdentityHasher},
    key::Key,
    policy::{Asked, Decision},
    served::{Found, Options, Outcome, Step},
    single_flight::Leader,
    source::{Forecast, Priority},
    stack::{Answered, LowerTier, PurgeEpoch, TierStack, WriteReason},
    tier::TierErrorKind,
};

/// A lookup of keys that memory does not have. It leads a flight for each and completes it as soon as the value is
/// found.
pub(crate) struct MissLookup {
    pending: Vec<Leader>,
    /// The lower tier to ask next.
    next: usize,
    steps: Vec<Step>,
    options: Options,
    /// Taken before the first tier was asked.
    epoch: PurgeEpoch,
}

/// Keys to ask a tier for, and the cost of generating their values instead.
#[derive(Default)]
struct Query {
    keys: Vec<Key>,
    generation: Option<Forecast>,
}

impl MissLookup {
    pub(crate) fn new(pending: Vec<Leader>, options: Options, epoch: PurgeEpoch) -> Self {
        Self { pending, next: 0, steps: Vec::new(), options, epoch }
    }

    /// Whether every flight is complete.
    pub(crate) fn is_done(&self) -> bool {
        self.pending.is_empty()
    }

    /// Asks the leading lower tiers that answer without waiting.
    pub(crate) fn start(&mut self, inner: &Inner) {
        while !self.is_done()
            && let Some(lower) = inner.stack.lower.get(self.next).filter(|lower| !lower.tier.waits())
        {
            if self.ask(inner, lower).now_or_never().is_none() {
                return;
            }
        }
    }

    /// Asks the remaining tiers and generates what none has.
    pub(crate) async fn finish(mut self, inner: &Inner) {
        // Only foreground lookups count as calls in flight.
        let _in_flight = (self.options.priority == Priority::Foreground).then(|| inner.source.load.call());
        while !self.is_done()
            && let Some(lower) = inner.stack.lower.get(self.next)
        {
            self.ask(inner, lower).await;
        }
        self.generate_rest(inner).await;
    }

    /// Asks `lower`, the next tier, for the pending keys, or skips it.
    async fn ask(&mut self, inner: &Inner, lower: &LowerTier) {
        let Query { keys, generation } = self.decide(inner, lower);
        lower.meter.record_bypass(self.pending.len() - keys.len());
        if keys.is_empty() {
            self.steps.push(Step::of_tier(lower.name(), Outcome::Bypass, Instant::now(), Duration::ZERO));
        } else {
            let answered = lower.ask(Asked::ForCaller, &keys, generation).await;
            self.take(inner, lower, &keys, answered);
        }
        self.next += 1;
    }

    /// Whether to ask `lower`, and for which pending keys.
    fn decide(&self, inner: &Inner, lower: &LowerTier) -> Query {
        let pending = self.pending.iter().map(|leader| *leader.key());
        let keys: Vec<Key> = pending.filter(|key| lower.admit.admits(key.class())).collect();
        if keys.is_empty() {
            return Query::default();
        }
        if lower.policy.is_expensive() {
            keys.iter().for_each(|key| inner.source.measure_cost(*key));
        }
        let (now, generation) = (Instant::now(), inner.source.forecast(&keys));
        let query = Query { keys, generation };
        match lower.policy.decide(now, query.keys.len(), generation, inner.cpu_cost(now)) {
            Decision::Ask => query,
            Decision::Skip => Query::default(),
            Decision::AskInBackground => {
                ask_in_background(&inner.stack, self.next, query);
                Query::default()
            }
        }
    }

    /// Completes the flights of the keys that `lower` had. Fills the tiers above first, unless a purge ran since the
    /// lookup began.
    fn take(&mut self, inner: &Inner, lower: &LowerTier, asked: &[Key], answered: Answered) {
        let Answered { values, started, took } = answered;
        let step = |outcome| Step::of_tier(lower.name(), outcome, started, took);
        let values = match values {
            Ok(values) => values,
            Err(error) => {
                tracing::debug!(tier = lower.name(), %error, "a tier failed; the lookup continues without it");
                let text = (error.kind() != TierErrorKind::Open).then(|| error.to_string().into());
                self.steps.push(Step { error: text, ..step(Outcome::from_error(error.kind())) });
                return;
            }
        };
        let mut found: HashMap<Hashed, Bytes, IdentityHasher> =
            asked.iter().zip(values).filter_map(|(key, value)| Some((Hashed::new(key), value?))).collect();
        let steps: Arc<[Step]> = self.steps.iter().cloned().chain([step(Outcome::Hit)]).collect();
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
    }

    /// Generates the pending values concurrently and completes each flight when its value is ready.
    async fn generate_rest(self, inner: &Inner) {
        let Self { pending, steps, options, .. } = self;
        let generate = async |leader| generate(inner, leader, options, &steps, WriteReason::Missed).await;
        pending.into_iter().map(generate).collect::<FuturesUnordered<_>>().collect::<()>().await;
    }
}

/// Generates the value of `leader`, stores it in every tier, then completes the flight. An error completes it at once.
pub(super) async fn generate(inner: &Inner, mut leader: Leader, options: Options, steps: &[Step], reason: WriteReason) {
    match inner.source.generate(leader.request(options)).await {
        Ok(made) => {
            leader.store_and_complete(made.after(steps), |key, value| inner.stack.store(key, value, reason));
        }
        Err(error) => leader.complete(Err(error)),
    }
}

/// Asks the lower tier at `depth` to measure its cost. No caller waits for the answer, and a tier in this process may
/// block.
fn ask_in_background(stack: &Arc<TierStack>, depth: usize, query: Query) {
    let asked = stack.clone();
    let ask = async move {
        asked.lower[depth].ask(Asked::InBackground, &query.keys, query.generation).await;
    };
    if stack.lower[depth].tier.waits() {
        stack.runtime.spawn(ask);
    } else {
        stack.runtime.spawn_blocking(|| ask.now_or_never());
    }
}
