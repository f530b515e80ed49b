//! Builds a chain tier by tier. [`assemble`](crate::assemble()) and tests with their own tiers use it.

use std::sync::Arc;

use prometheus::{
    HistogramOpts, HistogramVec, IntCounter, IntCounterVec, Opts, Registry, core::Collector, exponential_buckets,
};
use tokio::runtime::Handle;

use super::{
    collector::TierCollector,
    handle::{Chain, Inner},
};
use crate::{
    config::{Admit, ChainConfig, LruConfig, Tuning},
    envelope::{Envelope, Namespace},
    layers::{Breaker, Circuit, Meter, Metered, OpSeconds},
    memory_tier::MemoryTier,
    open_error::OpenError,
    policy::{LoadMonitor, Policy},
    producer::{Generations, Producer},
    single_flight::Flights,
    source::Source,
    stack::{BreakerProbe, LowerTier, Purges, TierStack, WriteBehind, WriteMetrics},
    tier::Tier,
    tiers::LruTier,
};

/// A builder that adds tiers in lookup order. [`assemble`](crate::assemble()) builds from a configuration; use this
/// for chains that a configuration cannot describe.
pub struct ChainBuilder<'a> {
    config: &'a ChainConfig,
    tuning: &'a Tuning,
    envelope: Envelope,
    exported: Exported<'a>,
    runtime: Handle,
    seconds: HistogramVec,
    writes: IntCounterVec,
    memory: Vec<Arc<dyn MemoryTier>>,
    lower: Vec<LowerTier>,
}

/// Where the metrics of a chain go.
enum Exported<'a> {
    /// All of them, to this registry.
    To(&'a Registry),
    /// Generations and coalesced lookups, with those of this chain. Those of the tiers are not exported.
    With(&'a Chain),
}

impl<'a> ChainBuilder<'a> {
    /// A builder without tiers. It reads the namespace, version and bypass mode of `config` and ignores its list of
    /// tiers.
    ///
    /// # Errors
    /// When the namespace is invalid, or `registry` already has the metrics of a chain.
    pub fn new(
        config: &'a ChainConfig,
        tuning: &'a Tuning,
        registry: &'a Registry,
        runtime: &'a Handle,
    ) -> Result<Self, OpenError> {
        Self::exporting(Exported::To(registry), config, tuning, runtime.clone())
    }

    /// A builder of a chain beside `first`, in the same process: they share nothing that is stored, looked up or in
    /// flight. They share the measured load of the machine and the metrics of generation.
    ///
    /// # Errors
    /// When the namespace is invalid.
    pub fn beside(first: &'a Chain, config: &'a ChainConfig, tuning: &'a Tuning) -> Result<Self, OpenError> {
        Self::exporting(Exported::With(first), config, tuning, first.runtime().clone())
    }

    fn exporting(
        exported: Exported<'a>,
        config: &'a ChainConfig,
        tuning: &'a Tuning,
        runtime: Handle,
    ) -> Result<Self, OpenError> {
        let namespace =
            Namespace::new(&config.namespace).ok_or_else(|| OpenError::Namespace(config.namespace.clone()))?;
        // From half a microsecond (a map in memory) to a quarter of a second (a timeout).
        let buckets = exponential_buckets(0.5e-6, 2.0, 20)?;
        let opts = HistogramOpts::new("floors_tier_seconds", "Time that a tier took.").buckets(buckets);
        let seconds = exported.register(HistogramVec::new(opts, &["tier", "op"]))?;
        let opts =
            Opts::new("floors_tier_writes_total", "Values written to a lower tier in the background, by outcome.");
        let writes = exported.register(IntCounterVec::new(opts, &["tier", "outcome"]))?;
        let mut envelope = Envelope::new(namespace, config.value_version).compressing(tuning.compress);
        if let Some(keys) = &tuning.keys {
            envelope = envelope.sealing(keys);
        }
        if let Some(check) = &tuning.value_check {
            envelope = envelope.checking(check.clone());
        }
        let (memory, lower) = (Vec::new(), Vec::new());
        Ok(Self { config, tuning, envelope, exported, runtime, seconds, writes, memory, lower })
    }

    /// The envelope that tiers outside this process use for their values.
    #[must_use]
    pub fn envelope(&self) -> Envelope {
        self.envelope.clone()
    }

    /// Adds a memory tier. Memory tiers before every other tier are asked on the caller's stack and neither wait nor
    /// fail.
    ///
    /// # Errors
    /// When the tier follows a lower tier and its writer thread cannot be started.
    pub fn memory(mut self, name: &'static str, config: &LruConfig) -> Result<Self, OpenError> {
        let tier = LruTier::named(name, config);
        if !self.lower.is_empty() {
            return self.tier(tier, Admit::All);
        }
        self.memory.push(Arc::new(tier));
        Ok(self)
    }

    /// Adds `tier` behind a breaker, which also handles its panics, and metrics. A remote tier needs its own
    /// [`Timeout`](crate::layers::Timeout).
    ///
    /// # Errors
    /// When the writer thread cannot be started.
    pub fn tier(mut self, tier: impl Tier, admit: Admit) -> Result<Self, OpenError> {
        let name = tier.name();
        let op = |op| self.seconds.with_label_values(&[name, op]);
        let meter = Arc::new(Meter::new(OpSeconds {
            get: op("get"),
            get_many: op("get_many"),
            put_many: op("put_many"),
            remove_many: op("remove_many"),
        }));
        let circuit = Arc::new(Circuit::new(name));
        let tier: Arc<dyn Tier> = Arc::new(Metered::new(Breaker::new(tier, circuit.clone()), meter.clone()));
        let metrics = WriteMetrics::new(name, &self.writes);
        let writes = WriteBehind::start(tier.clone(), self.config.write_queue, &self.runtime, metrics)
            .map_err(OpenError::Thread)?;
        let policy = Policy::new(self.config.bypass, tier.waits());
        let probe = tier.waits().then(|| BreakerProbe::start(&tier, circuit.clone(), &self.runtime));
        self.lower.push(LowerTier { tier, meter, circuit, probe, writes, admit, policy });
        Ok(self)
    }

    /// Builds the chain in front of `source`.
    ///
    /// # Errors
    /// When the registry already has the metrics of a chain.
    pub fn build(self, source: Arc<dyn Source>) -> Result<Chain, OpenError> {
        let (generations, coalesced, load) = match &self.exported {
            Exported::To(registry) => {
                let (generations, coalesced) = generation_metrics(registry)?;
                (generations, coalesced, Arc::new(LoadMonitor::new(self.tuning.utilisation)))
            }
            Exported::With(first) => {
                let Inner { producer, coalesced, .. } = &*first.0;
                (producer.generations_beside(), coalesced.clone(), producer.load.clone())
            }
        };
        let stack = Arc::new(TierStack {
            memory: self.memory.into(),
            lower: self.lower.into(),
            flights: Flights::new(),
            purges: Purges::default(),
            runtime: self.runtime.clone(),
        });
        let producer = Arc::new(Producer::new(source, generations, load, self.runtime));
        let (counted, counting) = (Arc::downgrade(&stack), Arc::downgrade(&producer));
        producer.load.add_chain(move || {
            let (Some(stack), Some(producer)) = (counted.upgrade(), counting.upgrade()) else { return (0, 0.0) };
            let (made, seconds) = producer.work();
            (stack.lookups() + made, seconds)
        });
        if let Exported::To(registry) = self.exported {
            registry.register(Box::new(TierCollector::new(&stack, &producer)?))?;
        }
        Ok(Chain::new(Inner { refreshes: Flights::new(), stack, producer, coalesced }))
    }
}

/// The metrics of generation and of coalesced lookups, registered.
fn generation_metrics(registry: &Registry) -> Result<(Generations, IntCounter), prometheus::Error> {
    let opts = Opts::new("floors_generations_total", "Floors generated, by kind.");
    let totals = registered(registry, IntCounterVec::new(opts, &["kind"]))?;
    // From 16 microseconds (the smallest floor) to half a second.
    let buckets = exponential_buckets(16e-6, 2.0, 16)?;
    let opts = HistogramOpts::new("floors_generation_seconds", "Time to generate a floor, without queueing.");
    let seconds = registered(registry, HistogramVec::new(opts.buckets(buckets), &["kind"]))?;
    let coalesced = IntCounter::new("floors_coalesced_total", "Floors that a call got from another call's lookup.");
    Ok((Generations::new(totals, seconds), registered(registry, coalesced)?))
}

impl Exported<'_> {
    /// The metric of tiers in `created`, after its registration.
    fn register<M: Collector + Clone + 'static>(
        &self,
        created: Result<M, prometheus::Error>,
    ) -> Result<M, prometheus::Error> {
        match self {
            Self::To(registry) => registered(registry, created),
            Self::With(_) => created,
        }
    }
}

/// The metric in `created`, after its registration.
fn registered<M: Collector + Clone + 'static>(
    registry: &Registry,
    created: Result<M, prometheus::Error>,
) -> Result<M, prometheus::Error> {
    let metric = created?;
    registry.register(Box::new(metric.clone()))?;
    Ok(metric)
}
