//! Counts and times the answers of a tier.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use prometheus::Histogram;

use super::{Layer, Operation, Reply};
use crate::{
    ewma::AtomicMean,
    tier::{Answer, Tier, TierError, TierErrorKind},
};

/// A tier whose answers are counted in a [`Meter`].
#[derive(Debug)]
pub(crate) struct Metered<T> {
    inner: T,
    meter: Arc<Meter>,
}

impl<T> Metered<T> {
    /// Counts the answers of `inner` in `meter`.
    pub(crate) const fn new(inner: T, meter: Arc<Meter>) -> Self {
        Self { inner, meter }
    }
}

/// The counts and times of one tier since the start. Metrics and reports read it.
#[derive(Debug)]
pub(crate) struct Meter {
    hits: AtomicU64,
    misses: AtomicU64,
    errors: AtomicU64,
    timeouts: AtomicU64,
    bypasses: AtomicU64,
    /// Mean times of a hit and of a miss per key.
    pub(crate) hit_cost: AtomicMean,
    pub(crate) miss_cost: AtomicMean,
    seconds: OpSeconds,
}

/// The histograms of each operation: `floors_tier_seconds{tier,op}`.
#[derive(Debug, Clone)]
pub(crate) struct OpSeconds {
    /// One key.
    pub(crate) get: Histogram,
    /// Many keys in one round trip.
    pub(crate) get_many: Histogram,
    /// Many entries in one round trip.
    pub(crate) put_many: Histogram,
    /// Many keys in one round trip.
    pub(crate) remove_many: Histogram,
}

/// The counts of a [`Meter`]. They count keys, not calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Values found.
    pub(crate) hits: u64,
    /// Values not found.
    pub(crate) misses: u64,
    /// Errors other than timeouts.
    pub(crate) errors: u64,
    /// Timeouts.
    pub(crate) timeouts: u64,
    /// Keys not asked for: bypassed by the policy, by an open breaker or by admission.
    pub(crate) bypasses: u64,
}

impl Meter {
    /// A meter with all counts at zero.
    pub(crate) fn new(seconds: OpSeconds) -> Self {
        Self {
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
            errors: AtomicU64::new(0),
            timeouts: AtomicU64::new(0),
            bypasses: AtomicU64::new(0),
            hit_cost: AtomicMean::default(),
            miss_cost: AtomicMean::default(),
            seconds,
        }
    }

    /// The current counts.
    pub(crate) fn counts(&self) -> Counts {
        Counts {
            hits: self.hits.load(Relaxed),
            misses: self.misses.load(Relaxed),
            errors: self.errors.load(Relaxed),
            timeouts: self.timeouts.load(Relaxed),
            bypasses: self.bypasses.load(Relaxed),
        }
    }

    /// Counts `keys` as bypassed.
    pub(crate) fn record_bypass(&self, keys: usize) {
        self.bypasses.fetch_add(keys as u64, Relaxed);
    }

    fn record_failure(&self, kind: TierErrorKind, keys: usize) {
        let count = match kind {
            TierErrorKind::Timeout => &self.timeouts,
            TierErrorKind::Open => &self.bypasses,
            TierErrorKind::Unreachable | TierErrorKind::Refused | TierErrorKind::Full | TierErrorKind::Internal => {
                &self.errors
            }
        };
        count.fetch_add(keys as u64, Relaxed);
    }

    /// Counts a lookup of `keys` keys and the values that it found.
    fn record_lookup(&self, keys: usize, hits: Result<usize, TierErrorKind>, took: Duration) {
        let hits = match hits {
            Ok(hits) => hits,
            Err(kind) => return self.record_failure(kind, keys),
        };
        let misses = keys.saturating_sub(hits);
        self.hits.fetch_add(hits as u64, Relaxed);
        self.misses.fetch_add(misses as u64, Relaxed);
        let each = took / u32::try_from(keys).unwrap_or(u32::MAX);
        if hits > 0 {
            self.hit_cost.add(each);
        }
        if misses > 0 {
            self.miss_cost.add(each);
        }
    }
}

/// Records the time of an answer. A refusal by the breaker is not recorded: it would make a failing tier look fast.
fn observe<A>(seconds: &Histogram, result: &Result<A, TierError>, took: Duration) {
    if !result.as_ref().is_err_and(|error| error.kind() == TierErrorKind::Open) {
        seconds.observe(took.as_secs_f64());
    }
}

impl<T: Tier> Layer for Metered<T> {
    type Inner = T;

    fn inner(&self) -> &T {
        &self.inner
    }

    fn run<'a, R: Reply>(&'a self, operation: Operation, call: impl FnOnce(&'a T) -> Answer<'a, R>) -> Answer<'a, R> {
        let (seconds, lookups) = match operation {
            Operation::Get => (&self.meter.seconds.get, 1),
            Operation::GetMany(keys) => (&self.meter.seconds.get_many, keys),
            Operation::PutMany => (&self.meter.seconds.put_many, 0),
            Operation::RemoveMany => (&self.meter.seconds.remove_many, 0),
            Operation::Contains | Operation::RemoveMatching | Operation::Flush => return call(&self.inner),
        };
        let started = Instant::now();
        call(&self.inner).inspect(move |result| {
            let took = started.elapsed();
            if lookups > 0 {
                self.meter.record_lookup(lookups, result.as_ref().map(Reply::hits).map_err(TierError::kind), took);
            }
            observe(seconds, result, took);
        })
    }
}
