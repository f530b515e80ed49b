//! The registry of all metrics, and the metrics of the gRPC service: `floors_requests_total{rpc,code}`,
//! `floors_request_seconds{rpc}` and `floors_clients_refused_total{reason}`.

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

/// The limits that refuse clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Limit {
    Connections,
    ConnectionsPerIp,
    Generation,
    NoCache,
    Receiving,
    Scope,
    Unauthenticated,
    Unsent,
}

impl Limit {
    const ALL: [Self; 8] = [
        Self::Connections,
        Self::ConnectionsPerIp,
        Self::Generation,
        Self::NoCache,
        Self::Receiving,
        Self::Scope,
        Self::Unauthenticated,
        Self::Unsent,
    ];

    /// The reason in `floors_clients_refused_total`.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Connections => "connections",
            Self::ConnectionsPerIp => "connections_per_ip",
            Self::Generation => "generation",
            Self::NoCache => "no_cache",
            Self::Receiving => "receiving",
            Self::Scope => "scope",
            Self::Unauthenticated => "unauthenticated",
            Self::Unsent => "unsent",
        }
    }
}

/// `floors_clients_refused_total{reason}`. Cheap to clone.
#[derive(Resource, Debug, Clone)]
pub struct Refusals(IntCounterVec);

impl Refusals {
    /// Registers the metric, with every reason at 0.
    ///
    /// # Errors
    /// If `registry` already has a metric with this name.
    pub fn register(registry: &Registry) -> prometheus::Result<Self> {
        let refusals = IntCounterVec::new(
            Opts::new("floors_clients_refused_total", "Connections and calls that a limit refused, by the limit."),
            &["reason"],
        )?;
        registry.register(Box::new(refusals.clone()))?;
        for limit in Limit::ALL {
            let _ = refusals.with_label_values(&[limit.name()]);
        }
        Ok(Self(refusals))
    }

    pub(crate) fn count(&self, limit: Limit) {
        self.0.with_label_values(&[limit.name()]).inc();
    }
}

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
