//! A lower tier in its place in the chain: the tier itself, what is written to it, and whether it is asked.

use std::sync::Arc;

use bytes::Bytes;

use crate::{
    breaker::{Circuit, CircuitState},
    config::Admit,
    key::{Class, Key},
    metered::Meter,
    report::{TierReport, micros},
    tier::Tier,
    write_behind::WriteBehind,
};

/// See the module.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) tier: Arc<dyn Tier>,
    pub(crate) meter: Arc<Meter>,
    pub(crate) circuit: Arc<Circuit>,
    pub(crate) writes: WriteBehind,
    pub(crate) admit: Admit,
}

impl Link {
    pub(crate) fn name(&self) -> &'static str {
        self.tier.name()
    }

    /// Whether it is to be asked for a value of `class`.
    pub(crate) fn probes(&self, class: Class) -> bool {
        self.admit.admits(class)
    }

    /// Has `value` written, if its class is kept here.
    pub(crate) fn keep(&self, key: Key, value: &Bytes) {
        if self.admit.admits(key.class()) {
            self.writes.put(key, value);
        }
    }

    pub(crate) fn report(&self) -> TierReport {
        let (counts, stats) = (self.meter.counts(), self.tier.stats());
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
            verdict: self.verdict().to_owned(),
        }
    }

    /// `probed`, or the state of its breaker while that is not closed.
    pub(crate) fn verdict(&self) -> &'static str {
        match self.circuit.state() {
            CircuitState::Closed => "probed",
            other => other.as_str(),
        }
    }
}
