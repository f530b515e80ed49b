//! The registry of all metrics, what runs (`floors_build_info`), what refuses clients
//! (`floors_clients_refused_total{reason}`), and whether reloads succeed (`floors_reload_success{what}`).

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};

use bevy::prelude::*;
use floor_cache::metrics::Times;
use floor_gen::GENERATOR_VERSION;
use prometheus::{
    IntCounterVec, IntGauge, IntGaugeVec, Opts, PullingGauge, Registry,
    core::{Collector, Desc},
    proto::{Bucket, Counter, Gauge, Histogram, LabelPair, Metric, MetricFamily, MetricType},
};

/// The registry of every metric of the server.
#[derive(Resource, Debug, Clone, Deref)]
pub struct MetricsRegistry(pub Registry);

/// Adds the [`MetricsRegistry`], [`Refusals`] and [`Reloads`].
#[derive(Debug)]
pub struct MetricsPlugin {
    registry: Registry,
    pub(crate) refusals: Refusals,
    pub(crate) reloads: Reloads,
}

impl MetricsPlugin {
    /// A registry with the metrics of this module.
    ///
    /// # Errors
    /// If two metrics have one name.
    pub fn register() -> prometheus::Result<Self> {
        let registry = Registry::new();
        register_build_info(&registry)?;
        let (refusals, reloads) = (Refusals::register(&registry)?, Reloads::register(&registry)?);
        Ok(Self { registry, refusals, reloads })
    }

    /// For what a plugin opens.
    #[must_use]
    pub const fn registry(&self) -> &Registry {
        &self.registry
    }
}

impl Plugin for MetricsPlugin {
    fn build(&self, app: &mut App) {
        app.insert_resource(MetricsRegistry(self.registry.clone()))
            .insert_resource(self.refusals.clone())
            .insert_resource(self.reloads.clone());
    }
}

/// Registers `floors_build_info`, a gauge of value 1 whose labels say what runs.
fn register_build_info(registry: &Registry) -> prometheus::Result<()> {
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

/// A family of metrics that are counted elsewhere, as it is at one scrape.
pub(crate) struct Family {
    labels: Vec<String>,
    collected: MetricFamily,
}

impl Family {
    pub(crate) fn counter<'a, const N: usize>(
        name: &str,
        help: &str,
        labels: [&str; N],
        series: impl IntoIterator<Item = ([&'a str; N], u64)>,
    ) -> Self {
        Self::new(MetricType::COUNTER, name, help, labels, series, |metric, count| {
            let mut counter = Counter::default();
            counter.set_value(count as f64);
            metric.set_counter(counter);
        })
    }

    pub(crate) fn gauge<'a, const N: usize>(
        name: &str,
        help: &str,
        labels: [&str; N],
        series: impl IntoIterator<Item = ([&'a str; N], f64)>,
    ) -> Self {
        Self::new(MetricType::GAUGE, name, help, labels, series, |metric, value| {
            let mut gauge = Gauge::default();
            gauge.set_value(value);
            metric.set_gauge(gauge);
        })
    }

    pub(crate) fn histogram<'a, const N: usize>(
        name: &str,
        help: &str,
        labels: [&str; N],
        series: impl IntoIterator<Item = ([&'a str; N], &'a Times)>,
    ) -> Self {
        Self::new(MetricType::HISTOGRAM, name, help, labels, series, |metric, times| {
            metric.set_histogram(histogram(times));
        })
    }

    fn new<'a, const N: usize, V>(
        kind: MetricType,
        name: &str,
        help: &str,
        labels: [&str; N],
        series: impl IntoIterator<Item = ([&'a str; N], V)>,
        set: impl Fn(&mut Metric, V),
    ) -> Self {
        let series = series.into_iter().map(|(values, value)| {
            // A label without a value, such as the tenant of callers without one, is the same as none.
            let mut labels: Vec<_> = labels.into_iter().zip(values).filter(|(_, value)| !value.is_empty()).collect();
            // As Prometheus' own types have them.
            labels.sort_unstable();
            let mut metric = with_labels(&labels);
            set(&mut metric, value);
            metric
        });
        Self { collected: family(kind, name, help, series.collect()), labels: labels.map(str::to_owned).into() }
    }
}

fn family(kind: MetricType, name: &str, help: &str, series: Vec<Metric>) -> MetricFamily {
    let mut family = MetricFamily::default();
    family.set_name(name.to_owned());
    family.set_help(help.to_owned());
    family.set_field_type(kind);
    family.set_metric(series);
    family
}

fn with_labels(labels: &[(&str, &str)]) -> Metric {
    let label = |(name, value): &(&str, &str)| {
        let mut label = LabelPair::default();
        label.set_name((*name).to_owned());
        label.set_value((*value).to_owned());
        label
    };
    Metric::from_label(labels.iter().map(label).collect())
}

fn histogram(times: &Times) -> Histogram {
    let bucket = |(bound, count): &(Duration, u64)| {
        let mut bucket = Bucket::default();
        bucket.set_upper_bound(bound.as_secs_f64());
        bucket.set_cumulative_count(*count);
        bucket
    };
    let mut histogram = Histogram::default();
    histogram.set_bucket(times.buckets.iter().map(bucket).collect());
    histogram.set_sample_count(times.count);
    histogram.set_sample_sum(times.sum.as_secs_f64());
    histogram
}

/// Registers the families that `read` returns, also those without a series, and reads them at each scrape.
///
/// # Errors
/// If `registry` already has a metric with one of the names.
pub(crate) fn register_families(
    registry: &Registry,
    read: impl Fn() -> Vec<Family> + Send + Sync + 'static,
) -> prometheus::Result<()> {
    let describe = |Family { labels, collected }| {
        Desc::new(collected.name().to_owned(), collected.help().to_owned(), labels, Default::default())
    };
    let descriptions = read().into_iter().map(describe).collect::<Result<_, _>>()?;
    registry.register(Box::new(FamilyCollector { descriptions, read }))
}

struct FamilyCollector<F> {
    descriptions: Vec<Desc>,
    read: F,
}

impl<F: Fn() -> Vec<Family> + Send + Sync> Collector for FamilyCollector<F> {
    fn desc(&self) -> Vec<&Desc> {
        self.descriptions.iter().collect()
    }

    fn collect(&self) -> Vec<MetricFamily> {
        (self.read)().into_iter().map(|family| family.collected).collect()
    }
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
    Watches = "watches",
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

/// What the server reads again while it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reloaded {
    Configuration,
    Tokens,
    Tls,
    Packs,
}

impl Reloaded {
    const fn name(self) -> &'static str {
        match self {
            Self::Configuration => "configuration",
            Self::Tokens => "tokens",
            Self::Tls => "tls",
            Self::Packs => "packs",
        }
    }

    /// Its name in the log.
    const fn subject(self) -> &'static str {
        match self {
            Self::Configuration => "the configuration is",
            Self::Tokens => "the tokens file is",
            Self::Tls => "the files of grpc.tls are",
            Self::Packs => "all packs are",
        }
    }
}

/// `floors_reload_success{what}`. The start counts as a reload; what the server does not have is missing. Cheap to clone.
#[derive(Resource, Debug, Clone)]
pub struct Reloads {
    success: IntGaugeVec,
    /// Whether the last reload failed, by [`Reloaded`].
    failed: Arc<[AtomicBool; 4]>,
}

impl Reloads {
    /// Registers the metric.
    ///
    /// # Errors
    /// If `registry` already has a metric with this name.
    pub fn register(registry: &Registry) -> prometheus::Result<Self> {
        let help = "Whether the last reload succeeded: 1 if it did, else 0.";
        let success = IntGaugeVec::new(Opts::new("floors_reload_success", help), &["what"])?;
        registry.register(Box::new(success.clone()))?;
        Ok(Self { success, failed: Arc::default() })
    }

    /// A reload of `what` has succeeded or failed. Logs a success after a failure, whether it changed anything or not: the
    /// error in the log has ended.
    pub(crate) fn record(&self, what: Reloaded, succeeded: bool) {
        if self.failed[what as usize].swap(!succeeded, Relaxed) && succeeded {
            tracing::info!("{} right again and in use", what.subject());
        }
        self.success.with_label_values(&[what.name()]).set(succeeded.into());
    }

    /// The server has no `what` any more.
    pub(crate) fn forget(&self, what: Reloaded) {
        self.failed[what as usize].store(false, Relaxed);
        // Fails if there was none.
        let _ = self.success.remove_label_values(&[what.name()]);
    }
}
