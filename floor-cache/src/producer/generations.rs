//! Counts generated values: `floors_generations_total{kind}` and `floors_generation_seconds{kind}`.

use std::{
    sync::atomic::{AtomicU16, AtomicU64, Ordering::Relaxed},
    time::{Duration, Instant},
};

use prometheus::{HistogramVec, IntCounterVec};

use crate::{
    key::Class,
    report::{TierReport, micros},
    served::GENERATED,
    source::Made,
};

/// The counts of the source.
#[derive(Debug)]
pub(crate) struct Generations {
    totals: IntCounterVec,
    seconds: HistogramVec,
    made: AtomicU64,
    nanoseconds: AtomicU64,
    cpu_nanoseconds: AtomicU64,
    /// A bit for each class whose cost is being sampled.
    sampling: AtomicU16,
    started: Instant,
}

impl Generations {
    pub(crate) fn new(totals: IntCounterVec, seconds: HistogramVec) -> Self {
        Self {
            totals,
            seconds,
            made: AtomicU64::new(0),
            nanoseconds: AtomicU64::new(0),
            cpu_nanoseconds: AtomicU64::new(0),
            sampling: AtomicU16::new(0),
            started: Instant::now(),
        }
    }

    /// Whether no other sample of the cost of `class` is running. A caller that gets `true` must call
    /// [`release_cost_sample`](Self::release_cost_sample).
    pub(crate) fn claim_cost_sample(&self, class: Class) -> bool {
        let bit = 1 << class.index();
        self.sampling.fetch_or(bit, Relaxed) & bit == 0
    }

    pub(crate) fn release_cost_sample(&self, class: Class) {
        self.sampling.fetch_and(!(1 << class.index()), Relaxed);
    }

    /// Counts CPU time of a generation for any purpose.
    pub(crate) fn count_cpu(&self, cpu: Duration) {
        self.cpu_nanoseconds.fetch_add(nanoseconds(cpu), Relaxed);
    }

    /// Counts a value generated for a call. `kind` is the name of its class.
    pub(crate) fn count(&self, kind: &str, made: &Made) {
        self.totals.with_label_values(&[kind]).inc();
        self.seconds.with_label_values(&[kind]).observe(made.took.as_secs_f64());
        self.made.fetch_add(1, Relaxed);
        self.nanoseconds.fetch_add(nanoseconds(made.took), Relaxed);
    }

    /// Values generated for calls so far.
    pub(crate) fn total(&self) -> u64 {
        self.made.load(Relaxed)
    }

    /// CPU seconds of all generations so far.
    pub(crate) fn cpu_seconds(&self) -> f64 {
        self.cpu_nanoseconds.load(Relaxed) as f64 * 1e-9
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
            asked_ratio: 1.0,
            reason: "configured",
            verdict: "last",
            since: self.started.elapsed(),
        }
    }
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
