//! Counts the calls of the floor service: those in flight, so that a drain can wait for them, and those that have ended,
//! for `floors_requests_total{rpc,code}` and `floors_request_seconds{rpc}`.

use std::{
    array,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use bevy::prelude::*;
use floor_proto::{rpc::Rpc, status::code_name};
use prometheus::{Histogram, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, Opts, Registry};
use tokio::sync::{Notify, watch};
use tonic::Code;

/// Admits calls, and refuses new ones once closed.
#[derive(Resource, Debug, Clone, Default)]
pub struct InFlight(Arc<InFlightState>);

#[derive(Debug, Default)]
struct InFlightState {
    closed: AtomicBool,
    /// The number of guards.
    guards: AtomicUsize,
    /// The guards that are clones of another. Calls are not counted themselves: a hit has one guard and no clone.
    clones: AtomicUsize,
    idle: Notify,
    /// Whether calls are cut off.
    cut_off: watch::Sender<bool>,
}

impl InFlight {
    /// Admits a call, which is in flight until its guards are dropped. `None` once closed.
    #[must_use]
    pub fn try_begin(&self) -> Option<InFlightGuard> {
        // Increment before reading `closed`, so that `idle` cannot miss a call that was admitted.
        let guard = InFlightGuard::new(&self.0, false);
        (!self.0.closed.load(Ordering::SeqCst)).then_some(guard)
    }

    /// The calls in flight. A unary call counts until its response is sent, a stream until its last floor is taken.
    #[must_use]
    pub fn calls(&self) -> usize {
        let clones = self.0.clones.load(Ordering::SeqCst);
        self.0.guards.load(Ordering::SeqCst).saturating_sub(clones)
    }

    /// Refuses further calls.
    pub fn close(&self) {
        self.0.closed.store(true, Ordering::SeqCst);
    }

    /// Cuts off the calls that are still in flight: streams end with `UNAVAILABLE` before their next floor, and responses
    /// that their clients do not take are reset.
    pub fn cut_off(&self) {
        self.0.cut_off.send_replace(true);
    }

    /// Whether calls are cut off.
    #[must_use]
    pub fn is_cut_off(&self) -> bool {
        *self.0.cut_off.borrow()
    }

    /// Waits until calls are cut off.
    pub async fn until_cut_off(&self) {
        // Fails only without a sender, and this is one.
        let _ = self.0.cut_off.subscribe().wait_for(|cut_off| *cut_off).await;
    }

    /// Waits until no call is in flight. Call [`close`](Self::close) first.
    pub async fn idle(&self) {
        loop {
            let idle = self.0.idle.notified();
            if self.0.guards.load(Ordering::SeqCst) == 0 {
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
    state: Arc<InFlightState>,
    is_clone: bool,
}

impl InFlightGuard {
    fn new(state: &Arc<InFlightState>, is_clone: bool) -> Self {
        state.guards.fetch_add(1, Ordering::SeqCst);
        if is_clone {
            state.clones.fetch_add(1, Ordering::SeqCst);
        }
        Self { state: Arc::clone(state), is_clone }
    }
}

impl Clone for InFlightGuard {
    fn clone(&self) -> Self {
        Self::new(&self.state, true)
    }
}

impl Drop for InFlightGuard {
    fn drop(&mut self) {
        if self.is_clone {
            self.state.clones.fetch_sub(1, Ordering::SeqCst);
        }
        if self.state.guards.fetch_sub(1, Ordering::SeqCst) == 1 && self.state.closed.load(Ordering::SeqCst) {
            self.state.idle.notify_waiters();
        }
    }
}

/// From a hit in memory to a wait for the generation queue, in seconds.
const REQUEST_BUCKETS: &[f64] =
    &[10e-6, 25e-6, 50e-6, 100e-6, 250e-6, 500e-6, 1e-3, 2.5e-3, 5e-3, 10e-3, 25e-3, 50e-3, 100e-3, 250e-3, 1.0, 5.0];

/// The status codes of gRPC: 0 to 16.
const CODES: usize = 17;

/// Handles to the request metrics, resolved once, so that counting is an atomic add.
#[derive(Resource, Debug, Clone)]
pub struct RequestMetrics {
    /// By RPC, then by code.
    requests: [[IntCounter; CODES]; Rpc::COUNT],
    seconds: [Histogram; Rpc::COUNT],
}

impl RequestMetrics {
    /// Registers the metrics, with every method and code at 0: a rate needs a sample from before the first call.
    ///
    /// # Errors
    /// If `registry` already has metrics with these names.
    pub fn register(registry: &Registry) -> prometheus::Result<Self> {
        let requests = IntCounterVec::new(
            Opts::new("floors_requests_total", "Calls by method and status code."),
            &["rpc", "code"],
        )?;
        let seconds = HistogramVec::new(
            HistogramOpts::new("floors_request_seconds", "Time inside the server by method, in seconds.")
                .buckets(REQUEST_BUCKETS.to_vec()),
            &["rpc"],
        )?;
        registry.register(Box::new(requests.clone()))?;
        registry.register(Box::new(seconds.clone()))?;
        let count = |rpc: Rpc, code| requests.with_label_values(&[rpc.name(), code_name(Code::from_i32(code))]);
        Ok(Self {
            requests: Rpc::ALL.map(|rpc| array::from_fn(|code| count(rpc, code as i32))),
            seconds: Rpc::ALL.map(|rpc| seconds.with_label_values(&[rpc.name()])),
        })
    }

    /// Records a finished call.
    pub fn record(&self, rpc: Rpc, code: Code, took: Duration) {
        let index = rpc as usize;
        self.requests[index][code as usize].inc();
        self.seconds[index].observe(took.as_secs_f64());
    }
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
        for code in 0..CODES as i32 {
            metrics.record(Rpc::StreamFloors, Code::from_i32(code), Duration::ZERO);
        }
        let of_streams = counts().iter().filter(|count| count.ends_with("rpc=\"StreamFloors\"} 1")).count();
        assert_eq!(of_streams, CODES);
    }
}
