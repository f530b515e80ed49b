//! Counts and times the answers of a tier.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use super::{Layer, Operation, Reply};
use crate::{
    ewma::AtomicMean,
    histogram::{Histogram, Times},
    report::{LastError, RequestCounts},
    sync::Mutex,
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
    times: OperationTimes,
    last_error: Mutex<Option<(Arc<str>, Instant)>>,
}

/// The times of each operation.
#[derive(Debug)]
struct OperationTimes {
    get: OperationHistogram,
    get_many: OperationHistogram,
    put_many: OperationHistogram,
    remove_many: OperationHistogram,
}

/// From half a microsecond (a map in memory) to a quarter of a second (a timeout).
type OperationHistogram = Histogram<20>;

impl Meter {
    /// A meter with all counts at zero.
    pub(crate) fn new() -> Self {
        let histogram = || OperationHistogram::new(Duration::from_nanos(500));
        Self {
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
            errors: AtomicU64::new(0),
            timeouts: AtomicU64::new(0),
            bypasses: AtomicU64::new(0),
            hit_cost: AtomicMean::default(),
            miss_cost: AtomicMean::default(),
            times: OperationTimes {
                get: histogram(),
                get_many: histogram(),
                put_many: histogram(),
                remove_many: histogram(),
            },
            last_error: Mutex::default(),
        }
    }

    /// The last failure.
    pub(crate) fn last_error(&self) -> Option<LastError> {
        let last = self.last_error.lock().clone();
        last.map(|(message, at)| LastError { message, ago: at.elapsed() })
    }

    /// The current counts.
    pub(crate) fn counts(&self) -> RequestCounts {
        RequestCounts {
            hits: self.hits.load(Relaxed),
            misses: self.misses.load(Relaxed),
            errors: self.errors.load(Relaxed),
            timeouts: self.timeouts.load(Relaxed),
            bypasses: self.bypasses.load(Relaxed),
        }
    }

    /// The times of each operation.
    pub(crate) fn times(&self) -> [(&'static str, Times); 4] {
        let OperationTimes { get, get_many, put_many, remove_many } = &self.times;
        let named = [("get", get), ("get_many", get_many), ("put_many", put_many), ("remove_many", remove_many)];
        named.map(|(name, histogram)| (name, histogram.times()))
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

    /// Keeps the text of an error.
    #[inline]
    fn record_error<A>(&self, result: &Result<A, TierError>) {
        if let Err(error) = result
            && !is_refusal(result)
        {
            *self.last_error.lock() = Some((error.to_string().into(), Instant::now()));
        }
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

/// Whether the breaker refused the request. The tier was not asked then.
fn is_refusal<A>(result: &Result<A, TierError>) -> bool {
    result.as_ref().is_err_and(|error| error.kind() == TierErrorKind::Open)
}

/// Records the time of an answer. A refusal by the breaker is not recorded: it would make a failing tier look fast.
fn observe<A>(times: &OperationHistogram, result: &Result<A, TierError>, took: Duration) {
    if !is_refusal(result) {
        times.observe(took);
    }
}

impl<T: Tier> Layer for Metered<T> {
    type Inner = T;

    fn inner(&self) -> &T {
        &self.inner
    }

    fn run<'a, R: Reply>(&'a self, operation: Operation, call: impl FnOnce(&'a T) -> Answer<'a, R>) -> Answer<'a, R> {
        let (times, lookups) = match operation {
            Operation::Get => (&self.meter.times.get, 1),
            Operation::GetMany(keys) => (&self.meter.times.get_many, keys),
            Operation::PutMany => (&self.meter.times.put_many, 0),
            Operation::RemoveMany => (&self.meter.times.remove_many, 0),
            Operation::Contains | Operation::Probe | Operation::RemoveMatching | Operation::Flush => {
                return call(&self.inner).inspect(|result| self.meter.record_error(result));
            }
        };
        let started = Instant::now();
        call(&self.inner).inspect(move |result| {
            let took = started.elapsed();
            self.meter.record_error(result);
            if lookups > 0 {
                self.meter.record_lookup(lookups, result.as_ref().map(Reply::hits).map_err(TierError::kind), took);
            }
            observe(times, result, took);
        })
    }
}
