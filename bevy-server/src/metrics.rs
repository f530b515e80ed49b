//! The registry of all metrics, what runs (`floors_build_info`), and the metrics of the gRPC service:
//! `floors_requests_total{rpc,code}`, `floors_request_seconds{rpc}` and `floors_clients_refused_total{reason}`.

use std::{array, time::Duration};

use bevy::prelude::*;
use floor_gen::GENERATOR_VERSION;
use floor_proto::{rpc::Rpc, status::code_name};
use prometheus::{
    Histogram, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGauge, Opts, PullingGauge, Registry,
};
use tonic::Code;

/// The registry of every metric of the server.
#[derive(Resource, Debug, Clone, Deref)]
pub struct MetricsRegistry(pub Registry);

/// Registers `floors_build_info`, a gauge of value 1 whose labels say what runs.
///
/// # Errors
/// If `registry` already has a metric with this name.
pub fn register_build_info(registry: &Registry) -> prometheus::Result<()> {
    let opts = Opts::new("floors_build_info", "Always 1. The labels say which build of the server runs.")
        .const_label("version", env!("CARGO_PKG_VERSION"))
        .const_label("generator_version", GENERATOR_VERSION.to_string())
        .const_label("profile", if cfg!(debug_assertions) { "debug" } else { "release" })
        .const_label("target", format!("{}-{}", std::env::consts::ARCH, std::env::consts::OS));
    let info = IntGauge::with_opts(opts)?;
    info.set(1);
    registry.register(Box::new(info))
}

/// Registers a gauge that has the result of `value` at each scrape.
///
/// # Errors
/// If `registry` already has a metric with this name.
pub(crate) fn register_gauge(
    registry: &Registry,
    name: &str,
    help: &str,
    value: impl Fn() -> f64 + Send + Sync + 'static,
) -> prometheus::Result<()> {
    registry.register(Box::new(PullingGauge::new(name, help, Box::new(value))?))
}

/// From a hit in memory to a wait for the generation queue, in seconds.
const REQUEST_BUCKETS: &[f64] =
    &[10e-6, 25e-6, 50e-6, 100e-6, 250e-6, 500e-6, 1e-3, 2.5e-3, 5e-3, 10e-3, 25e-3, 50e-3, 100e-3, 250e-3, 1.0, 5.0];

/// What refuses clients: a limit, or a check of who they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Limit {
    Connections,
    ConnectionsPerIp,
    Generation,
    Handshake,
    NoCache,
    Receiving,
    Scope,
    Unauthenticated,
    Unsent,
}

impl Limit {
    const ALL: [Self; 9] = [
        Self::Connections,
        Self::ConnectionsPerIp,
        Self::Generation,
        Self::Handshake,
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
            Self::Handshake => "handshake",
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
            Opts::new(
                "floors_clients_refused_total",
                "Connections and calls that were refused, by the limit or the check.",
            ),
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
