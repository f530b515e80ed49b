//! Hedging: when a question takes longer than the tier usually does, the values are generated beside it, and the first
//! answer wins.

use std::{
    future::Future,
    pin::{Pin, pin},
    sync::Arc,
    task::{Context, Poll},
    time::{Duration, Instant},
};

use futures_util::{FutureExt, StreamExt, future::BoxFuture};
use parking_lot::Mutex;
use prometheus::{IntCounter, IntCounterVec};

use crate::{
    chain_inner::ChainInner,
    key::Key,
    lower_tier::LowerTier,
    miss_lookup::{GenerateResult, MissLookup, generate_counted, generated},
    served::{Outcome, Step},
};

/// When questions to one tier are hedged, and what came of it.
#[derive(Debug)]
pub(crate) struct Hedging {
    budget: Mutex<Budget>,
    /// Which answer came first: `floors_hedges_total{tier,winner}`, by keys.
    tier: IntCounter,
    source: IntCounter,
}

/// How long a question may take, and how many values may be generated beside slow ones.
#[derive(Debug, Default)]
struct Budget {
    /// What 95 of 100 questions do not exceed, in seconds.
    slow: f64,
    /// Values that may be generated beside slow questions.
    allowance: f64,
    queries: u64,
}

/// How many questions must be answered before their percentile means anything.
const MIN_QUERIES: u64 = 16;

/// How fast the estimate of the 95th percentile moves: by a tenth at the most. Moving up by 95 parts and down by 5, it
/// comes to rest where one answer in twenty lies above it (frugal streaming: Ma, Muthukrishnan and Sandler, 2013).
const SLOW_STEP: f64 = 0.1;
const PERCENTILE: f64 = 0.95;

/// The allowance that each key asked for adds. So many values may be saved up, or a whole batch: a batch waits for all its
/// keys, so a part of them is of little use to it.
const ALLOWANCE: f64 = 0.05;
const MAX_ALLOWANCE: f64 = 8.0;

impl Hedging {
    pub(crate) fn new(tier: &str, totals: &IntCounterVec) -> Self {
        let count = |winner| totals.with_label_values(&[tier, winner]);
        Self { budget: Mutex::default(), tier: count("tier"), source: count("source") }
    }

    /// Learns from a question for `keys` keys that took `took`.
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

    /// How long a question may take before it is slow for this tier; `None` while that is not known.
    fn slow_after(&self) -> Option<Duration> {
        let budget = self.budget.lock();
        (budget.queries >= MIN_QUERIES).then(|| Duration::from_secs_f64(budget.slow))
    }

    /// How many of `keys` values may be generated beside a slow question. They are taken off the allowance.
    fn take_allowance(&self, keys: usize) -> usize {
        let mut budget = self.budget.lock();
        let taken = keys.min(budget.allowance as usize);
        budget.allowance -= taken as f64;
        taken
    }
}

/// A value in the making beside a question. It goes on for the rest of the way, so that none is made twice.
pub(crate) struct Hedge {
    pub(crate) key: Key,
    work: BoxFuture<'static, GenerateResult>,
}

impl Hedge {
    fn start(inner: &Arc<ChainInner>, key: Key, lookup: &MissLookup) -> Self {
        let (inner, priority) = (inner.clone(), lookup.priority());
        Self { key, work: async move { generate_counted(&inner, key, priority).await }.boxed() }
    }
}

impl Future for Hedge {
    type Output = (Key, GenerateResult);

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let key = self.key;
        self.work.as_mut().poll(cx).map(|made| (key, made))
    }
}

impl MissLookup {
    /// Asks `lower` for `asked` and lands what is found, by it or beside it.
    pub(crate) async fn probe(&mut self, inner: &Arc<ChainInner>, lower: &LowerTier, asked: &[Key]) {
        let started = Instant::now();
        let mut query = pin!(lower.ask(asked));
        let slow_after = lower.hedging.slow_after().filter(|_| inner.hedge);
        let mut slow = pin!(async {
            match slow_after {
                Some(slow_after) => tokio::time::sleep(slow_after).await,
                None => std::future::pending().await,
            }
        });
        let mut may_hedge = true;
        let mut hedged = Vec::new();
        let answer = loop {
            tokio::select! {
                // An answer that is there is taken, however late it was looked for.
                biased;
                answer = &mut query => break answer,
                Some((key, made)) = self.hedges.next(), if !self.hedges.is_empty() => {
                    // A value that cannot be made is left to the question, and to the rest of the way.
                    let Ok(made) = made else { continue };
                    let slow = Step { tier: lower.name(), outcome: Outcome::Slow, took: started.elapsed() };
                    let steps: Vec<Step> = self.steps().iter().copied().chain([slow]).collect();
                    if hedged.contains(&key) && self.count_pending(&[key]) > 0 {
                        lower.hedging.source.inc();
                    }
                    self.complete(inner, &key, generated(made, &steps));
                }
                () = &mut slow, if may_hedge => {
                    may_hedge = false;
                    // While the cores are saturated, generating beside the tier would slow down every other call.
                    if inner.load.is_saturated() {
                        continue;
                    }
                    hedged = self.not_started(asked);
                    hedged.truncate(lower.hedging.take_allowance(hedged.len()));
                    let hedges: Vec<Hedge> = hedged.iter().map(|key| Hedge::start(inner, *key, self)).collect();
                    self.hedges.extend(hedges);
                }
            }
        };
        // By now perhaps nobody waits for it any more, but it tells what the tier costs. It ends with the tier's own deadline.
        let pending = self.count_pending(&hedged);
        self.handle_answer(inner, lower, asked, answer, started.elapsed());
        lower.hedging.tier.inc_by((pending - self.count_pending(&hedged)) as u64);
    }

    /// Those of `asked` that are still wanted and not in the making.
    fn not_started(&self, asked: &[Key]) -> Vec<Key> {
        let is_started = |key: &Key| self.hedges.iter().any(|hedge| hedge.key == *key);
        asked.iter().copied().filter(|key| self.count_pending(&[*key]) > 0 && !is_started(key)).collect()
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
    fn a_question_is_slow_after_what_95_in_100_do_not_exceed() {
        let hedging = hedging();
        assert_eq!(hedging.slow_after(), None);
        // 1 to 100 microseconds, in an order without pattern.
        (0..20_000_u64).for_each(|number| hedging.learn(1, micros(1 + number * 61 % 100)));
        let slow = hedging.slow_after().expect("many questions were answered");
        assert!((micros(85)..micros(106)).contains(&slow), "{slow:?}");
    }

    #[test]
    fn no_more_than_a_twentieth_is_generated_beside_questions() {
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
    fn of_batches_too_no_more_than_a_twentieth_is_generated_but_a_whole_one_at_times() {
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
