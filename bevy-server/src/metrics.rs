//! The registry of all metrics, what runs (`floors_build_info`), and what refuses clients
//! (`floors_clients_refused_total{reason}`).

use bevy::prelude::*;
use floor_gen::GENERATOR_VERSION;
use prometheus::{IntCounterVec, IntGauge, Opts, PullingGauge, Registry};

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

/// Defines [`Limit`] from one list of variants, and of each its reason in `floors_clients_refused_total`.
macro_rules! limits {
    ($($Limit:ident = $reason:literal,)+) => {
        /// What refuses clients: a limit, or a check of who they are.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum Limit {
            $($Limit,)+
        }

        impl Limit {
            const ALL: [Self; [$($reason),+].len()] = [$(Self::$Limit),+];

            /// The reason in `floors_clients_refused_total`.
            pub(crate) const fn name(self) -> &'static str {
                match self {
                    $(Self::$Limit => $reason,)+
                }
            }
        }
    };
}

limits! {
    Connections = "connections",
    ConnectionsPerIp = "connections_per_ip",
    Generation = "generation",
    Handshake = "handshake",
    NoCache = "no_cache",
    Receiving = "receiving",
    Resets = "resets",
    Scope = "scope",
    Unauthenticated = "unauthenticated",
    Unsent = "unsent",
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
