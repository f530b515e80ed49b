//! Builds a chain tier by tier. [`assemble`](crate::assemble()) and tests with their own tiers use it.

use std::sync::Arc;

use tokio::runtime::Handle;

use super::handle::{Chain, Inner};
use crate::{
    config::{Admit, ChainConfig, LruConfig, Tuning},
    counted_source::{CountedSource, Generations},
    envelope::{Envelope, Namespace},
    layers::{Breaker, Circuit, Meter, Metered},
    memory_tier::MemoryTier,
    open_error::OpenError,
    policy::{LoadMonitor, Policy},
    single_flight::Flights,
    source::Source,
    stack::{BreakerProbe, LocalQueries, LowerTier, Purges, TierStack, WriteBehind},
    tier::Tier,
    tiers::LruTier,
};

/// A builder that adds tiers in lookup order. [`assemble`](crate::assemble()) builds from a configuration; use this
/// for chains that a configuration cannot describe.
pub struct ChainBuilder<'a> {
    config: &'a ChainConfig,
    tuning: &'a Tuning,
    envelope: Envelope,
    /// The chain beside which this one is built.
    first: Option<&'a Chain>,
    pub(super) runtime: Handle,
    memory: Vec<Arc<dyn MemoryTier>>,
    lower: Vec<LowerTier>,
}

impl<'a> ChainBuilder<'a> {
    /// A builder without tiers, of a chain whose tasks run on `runtime`. It reads the namespace, version and bypass mode
    /// of `config` and ignores its list of tiers.
    ///
    /// # Errors
    /// When the namespace is invalid.
    pub fn new(config: &'a ChainConfig, tuning: &'a Tuning, runtime: &Handle) -> Result<Self, OpenError> {
        Self::with(None, config, tuning, runtime.clone())
    }

    /// A builder of a chain beside `first`, in the same process: they share nothing that is stored, looked up or in
    /// flight. They share the measured load of the machine and the counts of generated and of coalesced values.
    ///
    /// # Errors
    /// When the namespace is invalid.
    pub fn beside(first: &'a Chain, config: &'a ChainConfig, tuning: &'a Tuning) -> Result<Self, OpenError> {
        Self::with(Some(first), config, tuning, first.runtime().clone())
    }

    fn with(
        first: Option<&'a Chain>,
        config: &'a ChainConfig,
        tuning: &'a Tuning,
        runtime: Handle,
    ) -> Result<Self, OpenError> {
        let namespace =
            Namespace::new(&config.namespace).ok_or_else(|| OpenError::Namespace(config.namespace.clone()))?;
        let mut envelope = Envelope::new(namespace, config.value_version);
        #[cfg(feature = "lz4")]
        {
            envelope = envelope.compressing(tuning.compress);
        }
        #[cfg(feature = "encryption")]
        if let Some(keys) = &tuning.keys {
            envelope = envelope.sealing(keys);
        }
        if let Some(check) = &tuning.value_check {
            envelope = envelope.checking(check.clone());
        }
        let (memory, lower) = (Vec::new(), Vec::new());
        Ok(Self { config, tuning, envelope, first, runtime, memory, lower })
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
        let meter = Arc::new(Meter::new());
        let circuit = Arc::new(Circuit::new(name));
        let tier: Arc<dyn Tier> = Arc::new(Metered::new(Breaker::new(tier, circuit.clone()), meter.clone()));
        let writes = WriteBehind::start(tier.clone(), self.config.write_queue, &self.runtime);
        let writes = writes.map_err(OpenError::Thread)?;
        let policy = Policy::new(self.config.bypass, tier.waits());
        let probe = tier.waits().then(|| BreakerProbe::start(&tier, circuit.clone(), &self.runtime));
        let local_queries = LocalQueries::default();
        self.lower.push(LowerTier { tier, meter, circuit, probe, writes, admit, policy, local_queries });
        Ok(self)
    }

    /// Builds the chain in front of `source`.
    #[must_use]
    pub fn build(self, source: Arc<dyn Source>) -> Chain {
        let (generations, coalesced, load) = match self.first {
            None => (Generations::default(), Arc::default(), Arc::new(LoadMonitor::new(self.tuning.utilisation))),
            Some(first) => {
                let Inner { source, coalesced, .. } = &*first.0;
                (source.generations_beside(), coalesced.clone(), source.load.clone())
            }
        };
        let stack = Arc::new(TierStack {
            memory: self.memory.into(),
            lower: self.lower.into(),
            flights: Flights::new(),
            purges: Purges::default(),
            runtime: self.runtime.clone(),
        });
        let source = Arc::new(CountedSource::new(source, generations, load, self.runtime));
        let (counted, counting) = (Arc::downgrade(&stack), Arc::downgrade(&source));
        source.load.add_chain(move || {
            let (Some(stack), Some(source)) = (counted.upgrade(), counting.upgrade()) else { return (0, 0.0) };
            let (made, seconds) = source.work();
            (stack.lookups() + made, seconds)
        });
        Chain::new(Inner { refreshes: Flights::new(), stack, source, coalesced })
    }
}
