//! The hedging budget of a lower tier: when a query counts as slow, and how many values may be generated meanwhile.

use std::time::Duration;

use parking_lot::Mutex;
use prometheus::{IntCounter, IntCounterVec};

/// The hedging budget of one tier, and the counts of which answer came first.
#[derive(Debug)]
pub(crate) struct Hedging {
    budget: Mutex<Budget>,
    /// `floors_hedges_total{tier,winner}`: keys by which answer came first.
    pub(crate) tier: IntCounter,
    pub(crate) source: IntCounter,
}

/// The estimate of a slow query, and the allowance for hedged generations.
#[derive(Debug, Default)]
struct Budget {
    /// The 95th percentile of the response time, in seconds.
    slow: f64,
    /// Values that may be generated for slow queries.
    allowance: f64,
    queries: u64,
}

/// Answers needed before the percentile is meaningful.
const MIN_QUERIES: u64 = 16;

/// Largest relative step of the percentile estimate. It rises by 95 parts of the step and falls by 5, so it settles
/// where one answer in twenty is slower (frugal streaming: Ma, Muthukrishnan and Sandler, 2013).
const SLOW_STEP: f64 = 0.1;
const PERCENTILE: f64 = 0.95;

/// Allowance added per key asked for. It is capped at 8 values or one batch: a batch waits for all its keys, so hedging
/// a part of it gains little.
const ALLOWANCE: f64 = 0.05;
const MAX_ALLOWANCE: f64 = 8.0;

impl Hedging {
    pub(crate) fn new(tier: &str, totals: &IntCounterVec) -> Self {
        let count = |winner| totals.with_label_values(&[tier, winner]);
        Self { budget: Mutex::default(), tier: count("tier"), source: count("source") }
    }

    /// Records a query for `keys` keys that took `took`.
    pub(crate) fn learn(&self, keys: usize, took: Duration) {
        let (keys, took) = (keys as f64, took.as_secs_f64());
        let mut budget = self.budget.lock();
        let most = MAX_ALLOWANCE.max(keys);
        if budget.allowance < most {
            budget.allowance = (budget.allowance + keys * ALLOWANCE).min(most);
        }
        if budget.queries == 0 {
            budget.slow = took;
        } else {
            let step = if took > budget.slow { PERCENTILE } else { PERCENTILE - 1.0 };
            budget.slow *= 1.0 + SLOW_STEP * step;
        }
        budget.queries += 1;
    }

    /// How long a query may take before it counts as slow; `None` while that is unknown.
    pub(crate) fn slow_after(&self) -> Option<Duration> {
        let budget = self.budget.lock();
        (budget.queries >= MIN_QUERIES).then(|| Duration::from_secs_f64(budget.slow))
    }

    /// Takes up to `keys` values from the allowance and returns how many may be generated.
    pub(crate) fn take_allowance(&self, keys: usize) -> usize {
        let mut budget = self.budget.lock();
        let taken = keys.min(budget.allowance as usize);
        budget.allowance -= taken as f64;
        taken
    }
}

#[cfg(test)]
mod tests {
    use prometheus::Opts;

    use super::*;

    fn hedging() -> Hedging {
        let totals = IntCounterVec::new(Opts::new("hedges", "Hedges."), &["tier", "winner"]).expect("a valid metric");
        Hedging::new("redis", &totals)
    }

    fn micros(micros: u64) -> Duration {
        Duration::from_micros(micros)
    }

    #[test]
    fn a_query_is_slow_beyond_the_95th_percentile() {
        let hedging = hedging();
        assert_eq!(hedging.slow_after(), None);
        // 1 to 100 microseconds in a scattered order.
        (0..20_000_u64).for_each(|number| hedging.learn(1, micros(1 + number * 61 % 100)));
        let slow = hedging.slow_after().expect("many queries were answered");
        assert!((micros(85)..micros(106)).contains(&slow), "{slow:?}");
    }

    #[test]
    fn at_most_a_twentieth_is_hedged() {
        let hedging = hedging();
        assert_eq!(hedging.take_allowance(1), 0);
        let mut hedged = 0;
        for _ in 0..1000 {
            hedging.learn(1, micros(100));
            hedged += hedging.take_allowance(1);
        }
        assert!((49..=50).contains(&hedged), "{hedged}");
        (0..1000).for_each(|_| hedging.learn(1, micros(100)));
        assert_eq!([3, 9, 1].map(|keys| hedging.take_allowance(keys)), [3, 5, 0], "8 in a row");
    }

    #[test]
    fn at_most_a_twentieth_of_batches_is_hedged_and_a_whole_batch_may_be() {
        let hedging = hedging();
        let batch = || hedging.learn(256, micros(1000));
        let mut hedged = 0;
        for _ in 0..1000 {
            batch();
            hedged += hedging.take_allowance(256);
        }
        assert!((12_700..=12_800).contains(&hedged), "{hedged} of 256,000");
        (0..1000).for_each(|_| batch());
        hedging.learn(1, micros(100));
        assert_eq!([256, 256].map(|keys| hedging.take_allowance(keys)), [256, 0]);
    }
}
