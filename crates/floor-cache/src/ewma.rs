//! Exponentially weighted moving averages: [`Ewma`] behind a lock for the policy, [`AtomicMean`] for reports.

use std::{
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::Duration,
};

/// An exponentially weighted moving average. The first values have equal weight, so that the first, which may have
/// opened a connection, does not dominate.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ewma {
    value: f64,
    count: u32,
}

impl Ewma {
    pub(crate) const fn new() -> Self {
        Self { value: 0.0, count: 0 }
    }

    /// Adds `sample` with `weight` (0 to 1) against all earlier values.
    pub(crate) fn add(&mut self, sample: f64, weight: f64) {
        self.count = self.count.saturating_add(1);
        self.value += weight.max(1.0 / f64::from(self.count)) * (sample - self.value);
    }

    /// The average; `None` before the first value.
    pub(crate) fn get(self) -> Option<f64> {
        (self.count > 0).then_some(self.value)
    }
}

/// A running mean that follows a change within some dozens of samples. Concurrent samples may be lost.
#[derive(Debug, Default)]
pub(crate) struct AtomicMean(AtomicU64);

impl AtomicMean {
    /// The inverse of the weight of a new sample.
    const WEIGHT: u64 = 16;

    pub(crate) fn add(&self, sample: Duration) {
        let sample = u64::try_from(sample.as_nanos()).unwrap_or(u64::MAX).max(1);
        let mean = self.0.load(Relaxed);
        let next = if mean == 0 { sample } else { mean - mean / Self::WEIGHT + sample / Self::WEIGHT };
        self.0.store(next.max(1), Relaxed);
    }

    pub(crate) fn get(&self) -> Duration {
        Duration::from_nanos(self.0.load(Relaxed))
    }
}
