//! The registry of all metrics, and the metrics of the gRPC service: `floors_requests_total{rpc,code}` and
//! `floors_request_seconds{rpc}`.

use std::time::Duration;

use bevy::prelude::*;
use floor_proto::{rpc::Rpc, status::code_name};
use prometheus::{Histogram, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, Opts, Registry};
use tonic::Code;

/// The registry of every metric of the server.
#[derive(Resource, Debug, Clone, Deref)]
pub struct MetricsRegistry(pub Registry);

/// From a hit in memory to a wait for the generation queue, in seconds.
const REQUEST_BUCKETS: &[f64] =
    &[10e-6, 25e-6, 50e-6, 100e-6, 250e-6, 500e-6, 1e-3, 2.5e-3, 5e-3, 10e-3, 25e-3, 50e-3, 100e-3, 250e-3, 1.0, 5.0];

/// Handles to the request metrics, resolved once, so that counting is an atomic add.
#[derive(Resource, Debug, Clone)]
pub struct RequestMetrics {
    requests: IntCounterVec,
    succeeded: [IntCounter; Rpc::COUNT],
    seconds: [Histogram; Rpc::COUNT],
}

impl RequestMetrics {
    /// Registers the metrics.
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
        Ok(Self {
            succeeded: Rpc::ALL.map(|rpc| requests.with_label_values(&[rpc.name(), code_name(Code::Ok)])),
            seconds: Rpc::ALL.map(|rpc| seconds.with_label_values(&[rpc.name()])),
            requests,
        })
    }

    /// Records a finished call.
    pub fn record(&self, rpc: Rpc, code: Code, took: Duration) {
        let index = rpc as usize;
        if code == Code::Ok {
            self.succeeded[index].inc();
        } else {
            self.requests.with_label_values(&[rpc.name(), code_name(code)]).inc();
        }
        self.seconds[index].observe(took.as_secs_f64());
    }
}
