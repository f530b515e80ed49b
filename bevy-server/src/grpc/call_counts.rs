//! Counts the calls of the floor service: those in flight, so that a drain can wait for them, and those that have ended,
//! for `floors_requests_total{rpc,code}` and `floors_request_seconds{rpc}`. Each core counts in a part of its own: one
//! that all cores write would cost each of them more than all other counting.

use std::{
    array,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{
            AtomicBool, AtomicU64, AtomicUsize,
            Ordering::{Relaxed, SeqCst},
        },
    },
    time::Duration,
};

use bevy::prelude::*;
use floor_cache::metrics::Times;
use floor_proto::{rpc::Rpc, status::code_name};
use prometheus::{
    IntCounterVec, Opts, Registry,
    core::{Collector, Desc},
    proto::MetricFamily,
};
use tokio::sync::{Notify, watch};
use tonic::Code;

use crate::metrics::HistogramFamily;

/// Admits calls, and refuses new ones once closed. Cheap to clone.
#[derive(Resource, Debug, Clone)]
pub struct InFlight(Arc<InFlightPart>);

/// The part of a core.
#[derive(Debug)]
struct InFlightPart {
    counts: Arc<GuardCounts>,
    all: Arc<InFlightState>,
}

#[derive(Debug, Default)]
struct InFlightState {
    closed: AtomicBool,
    parts: Mutex<Vec<Arc<GuardCounts>>>,
    idle: Notify,
    /// Whether calls are cut off.
    cut_off: watch::Sender<bool>,
}

/// On cache lines of its own (two, since processors fetch pairs).
#[derive(Debug, Default)]
#[repr(align(128))]
struct GuardCounts {
    guards: AtomicUsize,
    /// The guards that are clones of another. Calls are not counted themselves: a hit has one guard and no clone.
    clones: AtomicUsize,
}

impl Default for InFlight {
    fn default() -> Self {
        Self::part_of(Arc::default())
    }
}

impl InFlight {
    fn part_of(all: Arc<InFlightState>) -> Self {
        let counts = Arc::<GuardCounts>::default();
        lock(&all.parts).push(Arc::clone(&counts));
        Self(Arc::new(InFlightPart { counts, all }))
    }

    /// The same, with a part of its own for another core.
    #[must_use]
    pub(crate) fn for_core(&self) -> Self {
        Self::part_of(Arc::clone(&self.0.all))
    }

    /// Admits a call, which is in flight until its guards are dropped. `None` once closed.
    #[must_use]
    pub fn try_begin(&self) -> Option<InFlightGuard> {
        // Increment before reading `closed`, so that `idle` cannot miss a call that was admitted.
        let guard = InFlightGuard::new(&self.0, false);
        (!self.0.all.closed.load(SeqCst)).then_some(guard)
    }

    /// The calls in flight. A unary call counts until its response is sent, a stream until its last floor is taken.
    #[must_use]
    pub fn calls(&self) -> usize {
        let parts = lock(&self.0.all.parts);
        let counts = parts.iter().map(|part| (part.clones.load(SeqCst), part.guards.load(SeqCst)));
        counts.map(|(clones, guards)| guards.saturating_sub(clones)).sum()
    }

    /// Refuses further calls.
    pub fn close(&self) {
        self.0.all.closed.store(true, SeqCst);
    }

    /// Cuts off the calls that are still in flight: streams end with `UNAVAILABLE` before their next floor, and responses
    /// that their clients do not take are reset.
    pub fn cut_off(&self) {
        self.0.all.cut_off.send_replace(true);
    }

    /// Whether calls are cut off.
    #[must_use]
    pub fn is_cut_off(&self) -> bool {
        *self.0.all.cut_off.borrow()
    }

    /// Waits until calls are cut off.
    pub async fn until_cut_off(&self) {
        // Fails only without a sender, and this is one.
        let _ = self.0.all.cut_off.subscribe().wait_for(|cut_off| *cut_off).await;
    }

    /// Waits until no call is in flight. Call [`close`](Self::close) first.
    pub async fn idle(&self) {
        loop {
            let idle = self.0.all.idle.notified();
            if lock(&self.0.all.parts).iter().all(|part| part.guards.load(SeqCst) == 0) {
                return;
            }
            idle.await;
        }
    }
}

/// Keeps a call in flight until it and its clones are dropped. Each part of a response that the transport may still
/// have to send holds a clone.
#[derive(Debug)]
pub struct InFlightGuard {
    part: Arc<InFlightPart>,
    is_clone: bool,
}

impl InFlightGuard {
    fn new(part: &Arc<InFlightPart>, is_clone: bool) -> Self {
        part.counts.guards.fetch_add(1, SeqCst);
        if is_clone {
            part.counts.clones.fetch_add(1, SeqCst);
        }
        Self { part: Arc::clone(part), is_clone }
    }
}

impl Clone for InFlightGuard {
    fn clone(&self) -> Self {
        Self::new(&self.part, true)
    }
}

impl Drop for InFlightGuard {
    fn drop(&mut self) {
        let InFlightPart { counts, all } = &*self.part;
        if self.is_clone {
            counts.clones.fetch_sub(1, SeqCst);
        }
        if counts.guards.fetch_sub(1, SeqCst) == 1 && all.closed.load(SeqCst) {
            all.idle.notify_waiters();
        }
    }
}

/// Upper bounds of the buckets, from a hit in memory to a wait for the generation queue, in microseconds.
const BUCKETS: [u64; 16] =
    [10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 25_000, 50_000, 100_000, 250_000, 1_000_000, 5_000_000];

const SECONDS: HistogramFamily =
    HistogramFamily("floors_request_seconds", "Time inside the server by method, in seconds.", &["rpc"]);

/// The status codes of gRPC: 0 to 16.
const CODES: usize = 17;

/// Counts the calls that have ended. Cheap to clone.
#[derive(Resource, Debug, Clone)]
pub struct RequestMetrics {
    part: Arc<EndedCalls>,
    parts: Parts,
}

/// The parts of all cores.
type Parts = Arc<Mutex<Vec<Arc<EndedCalls>>>>;

/// What one core counts, by RPC, on cache lines of its own.
#[derive(Debug)]
#[repr(align(128))]
struct EndedCalls([EndedCallsOf; Rpc::COUNT]);

#[derive(Debug)]
struct EndedCallsOf {
    codes: [AtomicU64; CODES],
    /// The last has what is longer than every bound.
    buckets: [AtomicU64; BUCKETS.len() + 1],
    nanoseconds: AtomicU64,
}

impl RequestMetrics {
    /// Registers the metrics, with every method and code at 0: a rate needs a sample from before the first call.
    ///
    /// # Errors
    /// If `registry` already has metrics with these names.
    pub fn register(registry: &Registry) -> prometheus::Result<Self> {
        let parts = Parts::default();
        let descriptions = [counter()?.desc().into_iter().cloned().collect(), vec![SECONDS.description()?]].concat();
        registry.register(Box::new(CallCollector { parts: Arc::clone(&parts), descriptions }))?;
        Ok(Self::part_of(parts))
    }

    fn part_of(parts: Parts) -> Self {
        let zeros = || EndedCallsOf {
            codes: array::from_fn(|_| AtomicU64::new(0)),
            buckets: array::from_fn(|_| AtomicU64::new(0)),
            nanoseconds: AtomicU64::new(0),
        };
        let part = Arc::new(EndedCalls(array::from_fn(|_| zeros())));
        lock(&parts).push(Arc::clone(&part));
        Self { part, parts }
    }

    /// The same, with a part of its own for another core.
    #[must_use]
    pub(crate) fn for_core(&self) -> Self {
        Self::part_of(Arc::clone(&self.parts))
    }

    /// Records a finished call.
    pub fn record(&self, rpc: Rpc, code: Code, took: Duration) {
        let calls = &self.part.0[rpc as usize];
        calls.codes[code as usize].fetch_add(1, Relaxed);
        let nanoseconds = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        let bucket = BUCKETS.partition_point(|bound| bound * 1000 < nanoseconds);
        calls.buckets[bucket].fetch_add(1, Relaxed);
        calls.nanoseconds.fetch_add(nanoseconds, Relaxed);
    }
}

fn counter() -> prometheus::Result<IntCounterVec> {
    IntCounterVec::new(Opts::new("floors_requests_total", "Calls by method and status code."), &["rpc", "code"])
}

/// Sums the parts at each scrape.
#[derive(Debug)]
struct CallCollector {
    parts: Parts,
    descriptions: Vec<Desc>,
}

impl Collector for CallCollector {
    fn desc(&self) -> Vec<&Desc> {
        self.descriptions.iter().collect()
    }

    fn collect(&self) -> Vec<MetricFamily> {
        let Ok(counter) = counter() else { return Vec::new() };
        let parts = lock(&self.parts);
        let seconds = Rpc::ALL.map(|rpc| {
            let parts = || parts.iter().map(|part| &part.0[rpc as usize]);
            for code in 0..CODES {
                let count = parts().map(|calls| calls.codes[code].load(Relaxed)).sum();
                counter.with_label_values(&[rpc.name(), code_name(Code::from_i32(code as i32))]).inc_by(count);
            }
            let mut times = Times::default();
            let in_bucket = |bucket: usize| parts().map(|calls| calls.buckets[bucket].load(Relaxed)).sum::<u64>();
            for (bucket, bound) in BUCKETS.into_iter().enumerate() {
                times.count += in_bucket(bucket);
                times.buckets.push((Duration::from_micros(bound), times.count));
            }
            times.count += in_bucket(BUCKETS.len());
            times.sum = Duration::from_nanos(parts().map(|calls| calls.nanoseconds.load(Relaxed)).sum());
            HistogramFamily::series(&[("rpc", rpc.name())], &times)
        });
        let mut families = counter.collect();
        families.push(SECONDS.family(seconds.into()));
        families
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use prometheus::TextEncoder;

    use super::*;

    #[test]
    fn a_call_counts_once_however_many_parts_of_its_response_hold_it() {
        let in_flight = InFlight::default();
        let first = in_flight.try_begin().unwrap();
        let second = in_flight.try_begin().unwrap();
        let part = first.clone();
        assert_eq!(in_flight.calls(), 2);
        let other_core = in_flight.for_core();
        let third = other_core.try_begin().unwrap();
        assert_eq!((in_flight.calls(), other_core.calls()), (3, 3));
        drop(third);
        drop(first);
        assert_eq!(in_flight.calls(), 1, "only the second is left, and a part of the first");
        drop((part, second));
        assert_eq!(in_flight.calls(), 0);
        in_flight.close();
        assert!(in_flight.try_begin().is_none());
        assert_eq!(in_flight.calls(), 0, "a refused call is not in flight");
    }

    #[test]
    fn every_code_of_every_method_has_a_zero_before_its_first_call() {
        let registry = Registry::new();
        let metrics = RequestMetrics::register(&registry).unwrap();
        let counts = || {
            let text = TextEncoder::new().encode_to_string(&registry.gather()).unwrap();
            let counts = text.lines().filter(|line| line.starts_with("floors_requests_total{"));
            counts.map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(counts().len(), CODES * Rpc::COUNT);
        assert!(counts().iter().all(|count| count.ends_with(" 0")));
        let cores = [metrics.clone(), metrics.for_core()];
        for code in 0..CODES as i32 {
            cores[code as usize % 2].record(Rpc::StreamFloors, Code::from_i32(code), Duration::ZERO);
        }
        let of_streams = counts().iter().filter(|count| count.ends_with("rpc=\"StreamFloors\"} 1")).count();
        assert_eq!(of_streams, CODES);
    }
}
