//! A tier below memory with everything the chain attaches to it: meter, breaker state, write-behind queue and policy.

use std::{
    sync::{Arc, atomic::AtomicU32},
    time::{Duration, Instant},
};

use bytes::Bytes;

use super::write_behind::WriteBehind;
use crate::{
    config::Admit,
    key::Key,
    layers::{Circuit, CircuitState, Meter},
    policy::{Asked, Hedging, Policy, PolicyStatus},
    report::{Holdings, TierReport, micros},
    tier::{Tier, TierError, TierErrorKind},
};

/// The value of each key asked for, in the same order.
pub(crate) type Values = Vec<Option<Bytes>>;

/// A tier below memory.
#[derive(Debug)]
pub(crate) struct LowerTier {
    pub(crate) tier: Arc<dyn Tier>,
    pub(crate) meter: Arc<Meter>,
    pub(crate) circuit: Arc<Circuit>,
    pub(crate) writes: WriteBehind,
    pub(crate) admit: Admit,
    pub(crate) policy: Policy,
    pub(crate) hedging: Hedging,
    /// Wrong values that audits found here since they last tripped the breaker.
    pub(crate) mismatches: AtomicU32,
}

impl LowerTier {
    pub(crate) fn name(&self) -> &'static str {
        self.tier.name()
    }

    /// Asks the tier for `keys`, by `get` for one key and by `get_many` for several.
    pub(crate) async fn ask(&self, keys: &[Key]) -> Result<Values, TierError> {
        match keys {
            [key] => self.tier.get(key).await.map(|value| vec![value]),
            _ => self.tier.get_many(keys).await,
        }
    }

    /// Asks the tier for `keys` to measure its current cost.
    pub(crate) async fn sample(&self, keys: &[Key]) {
        let started = Instant::now();
        let answer = self.ask(keys).await;
        let took = started.elapsed();
        self.hedging.learn(keys.len(), took);
        self.learn(Asked::InBackground, keys.len(), &answer, took);
    }

    /// Updates the policy with a query for `keys` keys and its answer.
    pub(crate) fn learn(&self, asked: Asked, keys: usize, answer: &Result<Values, TierError>, took: Duration) {
        match answer {
            Ok(values) => self.policy.learn(Instant::now(), asked, keys, values.iter().flatten().count(), took),
            // A refusal by the breaker is no measurement of the tier.
            Err(error) if error.kind() == TierErrorKind::Open => {}
            Err(_) => self.policy.learn(Instant::now(), asked, keys, 0, took),
        }
    }

    /// Queues `value` to be written if this tier admits its class.
    pub(crate) fn write(&self, key: Key, value: &Bytes) {
        if self.admit.admits(key.class()) {
            self.writes.put(key, value);
        }
    }

    /// Why the tier is asked or bypassed, how lookups use it, and since when. A breaker that is not closed decides
    /// instead of the policy.
    pub(crate) fn verdict(&self, policy: &PolicyStatus) -> (&'static str, &'static str, Instant) {
        let since = self.circuit.since();
        match self.circuit.state() {
            CircuitState::Closed => (policy.reason.as_str(), policy.verdict.as_str(), policy.since.max(since)),
            state => ("breaker", state.as_str(), since),
        }
    }

    pub(crate) fn holdings(&self) -> Holdings {
        Holdings { name: self.name(), stats: self.tier.stats(), writes: Some(self.writes.counts()) }
    }

    pub(crate) fn report(&self) -> TierReport {
        let (counts, stats, status) = (self.meter.counts(), self.tier.stats(), self.policy.status());
        let (reason, verdict, since) = self.verdict(&status);
        TierReport {
            name: self.name(),
            hits: counts.hits,
            misses: counts.misses,
            errors: counts.errors + counts.timeouts,
            bypasses: counts.bypasses,
            entries: stats.entries,
            bytes: stats.bytes,
            hit_cost_us: micros(self.meter.hit_cost()),
            miss_cost_us: micros(self.meter.miss_cost()),
            hit_ratio: status.hit_ratio,
            probe_cost_us: status.cost * 1e6,
            generation_cost_us: status.generation * 1e6,
            asked_ratio: status.asked_ratio,
            reason,
            verdict,
            since: since.elapsed(),
        }
    }
}
