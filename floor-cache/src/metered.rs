//! Counts and times the answers of a tier.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use bytes::Bytes;
use prometheus::Histogram;

use crate::{
    key::Key,
    tier::{Answer, Tier, TierError, TierErrorKind, TierStats},
};

/// A tier whose answers are counted in a [`Meter`].
#[derive(Debug)]
pub struct Metered<T> {
    inner: T,
    meter: Arc<Meter>,
}

impl<T> Metered<T> {
    /// Counts the answers of `inner` in `meter`.
    pub const fn new(inner: T, meter: Arc<Meter>) -> Self {
        Self { inner, meter }
    }
}

/// The counts and times of one tier since the start. Metrics and reports read it.
#[derive(Debug)]
pub struct Meter {
    hits: AtomicU64,
    misses: AtomicU64,
    errors: AtomicU64,
    timeouts: AtomicU64,
    bypasses: AtomicU64,
    hit_cost: Mean,
    miss_cost: Mean,
    seconds: OpSeconds,
}

/// The histograms of each operation: `floors_tier_seconds{tier,op}`.
#[derive(Debug, Clone)]
pub struct OpSeconds {
    /// One key.
    pub get: Histogram,
    /// Many keys in one round trip.
    pub get_many: Histogram,
    /// Many entries in one round trip.
    pub put_many: Histogram,
    /// Many keys in one round trip.
    pub remove_many: Histogram,
}

/// The counts of a [`Meter`]. They count keys, not calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Values found.
    pub hits: u64,
    /// Values not found.
    pub misses: u64,
    /// Errors other than timeouts.
    pub errors: u64,
    /// Timeouts.
    pub timeouts: u64,
    /// Keys not asked for: bypassed by the policy, by an open breaker or by admission.
    pub bypasses: u64,
}

impl Meter {
    /// A meter with all counts at zero.
    #[must_use]
    pub fn new(seconds: OpSeconds) -> Self {
        Self {
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
            errors: AtomicU64::new(0),
            timeouts: AtomicU64::new(0),
            bypasses: AtomicU64::new(0),
            hit_cost: Mean::default(),
            miss_cost: Mean::default(),
            seconds,
        }
    }

    /// The current counts.
    #[must_use]
    pub fn counts(&self) -> Counts {
        Counts {
            hits: self.hits.load(Relaxed),
            misses: self.misses.load(Relaxed),
            errors: self.errors.load(Relaxed),
            timeouts: self.timeouts.load(Relaxed),
            bypasses: self.bypasses.load(Relaxed),
        }
    }

    /// Mean time of a hit per key; zero before the first hit.
    #[must_use]
    pub fn hit_cost(&self) -> Duration {
        self.hit_cost.get()
    }

    /// Mean time of a miss per key; zero before the first miss.
    #[must_use]
    pub fn miss_cost(&self) -> Duration {
        self.miss_cost.get()
    }

    /// Counts `keys` as bypassed.
    pub fn record_bypass(&self, keys: usize) {
        self.bypasses.fetch_add(keys as u64, Relaxed);
    }

    fn record_failure(&self, kind: TierErrorKind, keys: usize) {
        let count = match kind {
            TierErrorKind::Timeout => &self.timeouts,
            TierErrorKind::Open => &self.bypasses,
            TierErrorKind::Unreachable | TierErrorKind::Refused | TierErrorKind::Internal => &self.errors,
        };
        count.fetch_add(keys as u64, Relaxed);
    }

    fn record_lookup(&self, hits: usize, misses: usize, took: Duration) {
        self.hits.fetch_add(hits as u64, Relaxed);
        self.misses.fetch_add(misses as u64, Relaxed);
        let each = took / u32::try_from((hits + misses).max(1)).unwrap_or(u32::MAX);
        if hits > 0 {
            self.hit_cost.add(each);
        }
        if misses > 0 {
            self.miss_cost.add(each);
        }
    }

    fn record_get(&self, result: &Result<Option<Bytes>, TierError>, started: Instant) {
        let took = started.elapsed();
        match result {
            Ok(value) => {
                let hits = usize::from(value.is_some());
                self.record_lookup(hits, 1 - hits, took);
            }
            Err(error) => self.record_failure(error.kind(), 1),
        }
        observe(&self.seconds.get, result, took);
    }

    fn record_get_many(&self, result: &Result<Vec<Option<Bytes>>, TierError>, asked: usize, started: Instant) {
        let took = started.elapsed();
        match result {
            Ok(values) => {
                let hits = values.iter().flatten().count();
                self.record_lookup(hits, values.len() - hits, took);
            }
            Err(error) => self.record_failure(error.kind(), asked),
        }
        observe(&self.seconds.get_many, result, took);
    }
}

/// Records the time of an answer. A refusal by the breaker is not recorded: it would make a failing tier look fast.
fn observe<A>(seconds: &Histogram, result: &Result<A, TierError>, took: Duration) {
    if !result.as_ref().is_err_and(|error| error.kind() == TierErrorKind::Open) {
        seconds.observe(took.as_secs_f64());
    }
}

/// A running mean that follows a change within some dozens of samples. Concurrent samples may be lost.
#[derive(Debug, Default)]
pub(crate) struct Mean(AtomicU64);

impl Mean {
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

impl<T: Tier> Tier for Metered<T> {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn waits(&self) -> bool {
        self.inner.waits()
    }

    fn get<'a>(&'a self, key: &'a Key) -> Answer<'a, Option<Bytes>> {
        let started = Instant::now();
        self.inner.get(key).inspect(move |result| self.meter.record_get(result, started))
    }

    fn get_many<'a>(&'a self, keys: &'a [Key]) -> Answer<'a, Vec<Option<Bytes>>> {
        let started = Instant::now();
        self.inner.get_many(keys).inspect(move |result| self.meter.record_get_many(result, keys.len(), started))
    }

    fn put_many<'a>(&'a self, entries: &'a [(Key, Bytes)]) -> Answer<'a, ()> {
        let started = Instant::now();
        self.inner
            .put_many(entries)
            .inspect(move |result| observe(&self.meter.seconds.put_many, result, started.elapsed()))
    }

    fn batch_bytes(&self) -> usize {
        self.inner.batch_bytes()
    }

    fn remove_many<'a>(&'a self, keys: &'a [Key]) -> Answer<'a, ()> {
        let started = Instant::now();
        self.inner
            .remove_many(keys)
            .inspect(move |result| observe(&self.meter.seconds.remove_many, result, started.elapsed()))
    }

    fn contains<'a>(&'a self, key: &'a Key) -> Answer<'a, bool> {
        self.inner.contains(key)
    }

    fn stats(&self) -> TierStats {
        self.inner.stats()
    }

    fn flush(&self) -> Answer<'_, ()> {
        self.inner.flush()
    }

    fn compact(&self) -> Answer<'_, ()> {
        self.inner.compact()
    }
}
