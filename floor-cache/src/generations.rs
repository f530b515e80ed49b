//! Counts what the source makes and what that costs: `floors_generations_total{kind}` and
//! `floors_generation_seconds{kind}`.

use std::{
    sync::atomic::{AtomicU16, AtomicU64, Ordering::Relaxed},
    time::{Duration, Instant},
};

use prometheus::{HistogramVec, IntCounterVec};

use crate::{
    key::Class,
    metered::Mean,
    report::{TierReport, micros},
    served::GENERATED,
};

/// The source's counts.
#[derive(Debug)]
pub(crate) struct Generations {
    totals: IntCounterVec,
    seconds: HistogramVec,
    made: AtomicU64,
    nanoseconds: AtomicU64,
    costs: [Mean; Class::COUNT],
    /// The classes of which a value is being made to learn what that costs, a bit each.
    learning: AtomicU16,
    started: Instant,
}

impl Generations {
    pub(crate) fn new(totals: IntCounterVec, seconds: HistogramVec) -> Self {
        Self {
            totals,
            seconds,
            made: AtomicU64::new(0),
            nanoseconds: AtomicU64::new(0),
            costs: Default::default(),
            learning: AtomicU16::new(0),
            started: Instant::now(),
        }
    }

    /// What making a value of `class` costs of late; `None` until one was made.
    pub(crate) fn cost(&self, class: Class) -> Option<Duration> {
        Some(self.costs[class.index()].get()).filter(|cost| !cost.is_zero())
    }

    /// Takes in what making a value of `class` took.
    pub(crate) fn learn(&self, class: Class, took: Duration) {
        self.costs[class.index()].add(took);
    }

    /// Whether a value of `class` is to be made only to learn what that costs: it is not known, and nobody is at it. To ask
    /// is to take it on; [`learnt`](Self::learnt) ends it.
    pub(crate) fn is_to_be_learnt(&self, class: Class) -> bool {
        let bit = 1 << class.index();
        self.cost(class).is_none() && self.learning.fetch_or(bit, Relaxed) & bit == 0
    }

    pub(crate) fn learnt(&self, class: Class) {
        self.learning.fetch_and(!(1 << class.index()), Relaxed);
    }

    /// Counts a value of `class`, which is called `kind`.
    pub(crate) fn count(&self, class: Class, kind: &str, took: Duration) {
        self.learn(class, took);
        self.totals.with_label_values(&[kind]).inc();
        self.seconds.with_label_values(&[kind]).observe(took.as_secs_f64());
        self.made.fetch_add(1, Relaxed);
        self.nanoseconds.fetch_add(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX), Relaxed);
    }

    pub(crate) fn report(&self) -> TierReport {
        let made = self.made.load(Relaxed);
        let mean = Duration::from_nanos(self.nanoseconds.load(Relaxed) / made.max(1));
        TierReport {
            name: GENERATED,
            hits: made,
            misses: 0,
            errors: 0,
            bypasses: 0,
            entries: 0,
            bytes: 0,
            hit_cost_us: micros(mean),
            miss_cost_us: 0.0,
            hit_ratio: 1.0,
            probe_cost_us: micros(mean),
            generation_cost_us: micros(mean),
            verdict: "last".to_owned(),
            since: self.started.elapsed(),
        }
    }
}
