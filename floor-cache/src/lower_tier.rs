//! A lower tier in its place in the chain: the tier itself, what is written to it, and whether it is asked.

use std::{
    sync::{Arc, atomic::AtomicU32},
    time::{Duration, Instant},
};

use bytes::Bytes;

use crate::{
    breaker::{Circuit, CircuitState},
    config::Admit,
    hedge::Hedging,
    key::Key,
    metered::Meter,
    policy::{Asked, Policy, PolicyStatus},
    report::{Holdings, TierReport, micros},
    tier::{Tier, TierError, TierErrorKind},
    write_behind::WriteBehind,
};

/// What was found, position by position.
pub(crate) type Values = Vec<Option<Bytes>>;

/// See the module.
#[derive(Debug)]
pub(crate) struct LowerTier {
    pub(crate) tier: Arc<dyn Tier>,
    pub(crate) meter: Arc<Meter>,
    pub(crate) circuit: Arc<Circuit>,
    pub(crate) writes: WriteBehind,
    pub(crate) admit: Admit,
    pub(crate) policy: Policy,
    pub(crate) hedging: Hedging,
    /// Wrong values that audits found here since its breaker was last tripped for them.
    pub(crate) mismatches: AtomicU32,
}

impl LowerTier {
    pub(crate) fn name(&self) -> &'static str {
        self.tier.name()
    }

    /// Asks for `keys`: for one or for many, in the tier's own way.
    pub(crate) async fn ask(&self, keys: &[Key]) -> Result<Values, TierError> {
        match keys {
            [key] => self.tier.get(key).await.map(|value| vec![value]),
            _ => self.tier.get_many(keys).await,
        }
    }

    /// Asks for `keys` only to learn what that costs now.
    pub(crate) async fn sample(&self, keys: &[Key]) {
        let started = Instant::now();
        let answer = self.ask(keys).await;
        self.learn(Asked::InBackground, keys.len(), &answer, started.elapsed());
    }

    /// Learns from a question for `keys` keys and its answer.
    pub(crate) fn learn(&self, asked: Asked, keys: usize, answer: &Result<Values, TierError>, took: Duration) {
        self.hedging.learn(keys, took);
        match answer {
            Ok(values) => self.policy.learn(Instant::now(), asked, keys, values.iter().flatten().count(), took),
            // A breaker's refusal says nothing about the tier behind it.
            Err(error) if error.kind() == TierErrorKind::Open => {}
            Err(_) => self.policy.learn(Instant::now(), asked, keys, 0, took),
        }
    }

    /// Has `value` written, if its class is kept here.
    pub(crate) fn keep(&self, key: Key, value: &Bytes) {
        if self.admit.admits(key.class()) {
            self.writes.put(key, value);
        }
    }

    /// Since when the chain has made of it what it does: of its policy and its breaker, the one that decides.
    pub(crate) fn verdict_since(&self, status: &PolicyStatus) -> Instant {
        match self.circuit.state() {
            CircuitState::Closed => status.since.max(self.circuit.since()),
            CircuitState::HalfOpen | CircuitState::Open => self.circuit.since(),
        }
    }

    /// Why the tier is asked or bypassed, in words.
    pub(crate) fn reason(&self, status: &PolicyStatus) -> &'static str {
        match self.circuit.state() {
            CircuitState::Closed => status.reason.as_str(),
            CircuitState::HalfOpen | CircuitState::Open => "breaker",
        }
    }

    pub(crate) fn holdings(&self) -> Holdings {
        Holdings::new(self.name(), self.tier.stats(), Some(self.writes.counts()))
    }

    pub(crate) fn report(&self) -> TierReport {
        let (counts, stats, status) = (self.meter.counts(), self.tier.stats(), self.policy.status());
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
            reason: self.reason(&status),
            verdict: match self.circuit.state() {
                CircuitState::Closed => status.verdict.as_str(),
                other => other.as_str(),
            },
            since: self.verdict_since(&status).elapsed(),
        }
    }
}
