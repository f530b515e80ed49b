//! Builds a chain from its configuration.

use std::{
    fmt, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use prometheus::{HistogramOpts, HistogramVec, IntCounter, IntCounterVec, Opts, Registry};
use tokio::runtime::Handle;

use crate::{
    breaker::{Breaker, Circuit},
    chain::{Chain, Links},
    collector::TierCollector,
    config::{Admit, ChainConfig, TierKind},
    envelope::{Envelope, Namespace},
    flight::Flights,
    generations::Generations,
    link::Link,
    metered::{Meter, Metered, OpSeconds},
    shield::Shield,
    source::Source,
    tier::Tier,
    tiers::{LmdbTier, LruTier, RedisTier, SledTier},
    timeout::Timeout,
    write_behind::{WriteBehind, Writes},
};

/// Builds the chain that `config` describes, in front of `source`.
///
/// Its metrics are registered in `registry`. What it spawns runs on `runtime`, from whose threads it need not be
/// called. A Redis that is down is no error: it is connected to when it is first asked.
///
/// # Errors
/// When the configuration contradicts itself, or a store cannot be opened.
pub fn assemble(
    config: &ChainConfig,
    source: Arc<dyn Source>,
    registry: &Registry,
    runtime: &Handle,
) -> Result<Chain, OpenError> {
    let parts = Parts::new(config, registry, runtime)?;
    let (memory, lower) = in_order(config)?;
    let memory = memory.iter().map(|_lru| Arc::new(LruTier::new(&config.lru))).collect();
    let lower = lower.iter().map(|kind| parts.link(*kind)).collect::<Result<_, _>>()?;
    Ok(parts.chain(memory, lower, source)?)
}

/// The chain's kinds, cut after those that lead and are in memory.
fn in_order(config: &ChainConfig) -> Result<(&[TierKind], &[TierKind]), OpenError> {
    let chain = config.chain.as_slice();
    for (position, kind) in chain.iter().enumerate() {
        if chain[..position].contains(kind) {
            return Err(OpenError::Twice(*kind));
        }
    }
    Ok(chain.split_at(usize::from(chain.first() == Some(&TierKind::Lru))))
}

/// What the links of one chain share.
struct Parts<'a> {
    config: &'a ChainConfig,
    envelope: Envelope,
    registry: &'a Registry,
    runtime: &'a Handle,
    seconds: HistogramVec,
    writes: IntCounterVec,
}

impl<'a> Parts<'a> {
    fn new(config: &'a ChainConfig, registry: &'a Registry, runtime: &'a Handle) -> Result<Self, OpenError> {
        let namespace =
            Namespace::new(&config.namespace).ok_or_else(|| OpenError::Namespace(config.namespace.clone()))?;
        let seconds = HistogramVec::new(
            HistogramOpts::new("floors_tier_seconds", "How long a tier took.").buckets(tier_buckets()),
            &["tier", "op"],
        )?;
        let writes = IntCounterVec::new(
            Opts::new("floors_tier_writes_total", "Values written behind the response, by what became of them."),
            &["tier", "outcome"],
        )?;
        registry.register(Box::new(seconds.clone()))?;
        registry.register(Box::new(writes.clone()))?;
        let envelope = Envelope::new(namespace, config.value_version);
        Ok(Self { config, envelope, registry, runtime, seconds, writes })
    }

    /// Opens the tier `kind` and puts around it what the chain needs: nothing remote without a timeout, nothing that
    /// can fail without a breaker, nothing uncounted.
    fn link(&self, kind: TierKind) -> Result<Link, OpenError> {
        let config = self.config;
        match kind {
            TierKind::Lru => self.wrapped(LruTier::new(&config.lru), Admit::All),
            TierKind::Lmdb => self.wrapped(LmdbTier::open(&config.lmdb, self.envelope.clone())?, Admit::All),
            TierKind::Sled => self.wrapped(SledTier::open(&config.sled, self.envelope.clone())?, Admit::All),
            TierKind::Redis => {
                let redis = RedisTier::open(&config.redis, self.envelope.clone(), self.runtime)?;
                self.wrapped(Timeout::new(redis, config.redis.timeout), config.redis.admit)
            }
        }
    }

    fn wrapped(&self, tier: impl Tier, admit: Admit) -> Result<Link, OpenError> {
        let name = tier.name();
        let op = |op| self.seconds.with_label_values(&[name, op]);
        let meter = Arc::new(Meter::new(OpSeconds {
            get: op("get"),
            get_many: op("get_many"),
            put_many: op("put_many"),
            remove_many: op("remove_many"),
        }));
        let circuit = Arc::new(Circuit::new(name));
        let tier: Arc<dyn Tier> =
            Arc::new(Metered::new(Breaker::new(Shield::new(tier), circuit.clone()), meter.clone()));
        let writes = WriteBehind::start(tier.clone(), self.runtime, Writes::new(name, &self.writes))
            .map_err(OpenError::Thread)?;
        Ok(Link { tier, meter, circuit, writes, admit })
    }

    fn chain(
        &self,
        memory: Box<[Arc<LruTier>]>,
        lower: Box<[Link]>,
        source: Arc<dyn Source>,
    ) -> Result<Chain, prometheus::Error> {
        let generations =
            IntCounterVec::new(Opts::new("floors_generations_total", "Floors made, by kind."), &["kind"])?;
        let seconds = HistogramVec::new(
            HistogramOpts::new("floors_generation_seconds", "How long making a floor took, waiting not included.")
                .buckets(generation_buckets()),
            &["kind"],
        )?;
        let coalesced =
            IntCounter::new("floors_coalesced_total", "Floors that a call got by waiting for another's work.")?;
        self.registry.register(Box::new(generations.clone()))?;
        self.registry.register(Box::new(seconds.clone()))?;
        self.registry.register(Box::new(coalesced.clone()))?;
        let links = Arc::new(Links {
            memory,
            lower,
            source,
            made: Generations::new(generations, seconds),
            coalesced,
            flights: Flights::new(),
            runtime: self.runtime.clone(),
        });
        self.registry.register(Box::new(TierCollector::new(Arc::downgrade(&links))?))?;
        Ok(Chain::new(links))
    }
}

/// Seconds: from half a microsecond (a map in memory) to a quarter of a second (a timeout), doubling.
fn tier_buckets() -> Vec<f64> {
    doubling(0.5e-6, 20)
}

/// Seconds: from 16 microseconds (the smallest floor) to half a second, doubling.
fn generation_buckets() -> Vec<f64> {
    doubling(16e-6, 16)
}

fn doubling(first: f64, count: u32) -> Vec<f64> {
    (0..count).map(|power| first * f64::from(1 << power)).collect()
}

/// Why a chain could not be built: what, on which path, and what to do about it, in one sentence.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// A tier stands twice in the chain.
    #[error("cache.chain names {0} twice; name each tier once")]
    Twice(TierKind),
    /// The namespace cannot be part of a key.
    #[error("cache.namespace {0:?} is not 1 to {max} printable ASCII characters without spaces and colons", max = Namespace::MAX)]
    Namespace(String),
    /// A directory cannot be used.
    #[error("the {tier} directory {} cannot be used ({reason}); make it writable for this user, or set cache.{tier}.path to one that is", path.display())]
    Directory {
        /// Whose.
        tier: &'static str,
        /// Which.
        path: PathBuf,
        /// What the system said.
        reason: String,
    },
    /// The store is in use.
    #[error("the {tier} store in {} is in use by another process; stop that one, or set cache.{tier}.path to another directory", path.display())]
    Locked {
        /// Whose.
        tier: &'static str,
        /// Where.
        path: PathBuf,
    },
    /// The store is of another version.
    #[error("the {tier} store in {} was made by another version (found: {found}; this one reads: {expected}); move the directory away, or set cache.{tier}.path to another", path.display())]
    Version {
        /// Whose.
        tier: &'static str,
        /// Where.
        path: PathBuf,
        /// What it says it is.
        found: String,
        /// What was looked for.
        expected: &'static str,
    },
    /// The store is damaged, or no store at all.
    #[error("the {tier} store in {} cannot be opened ({reason}); move the directory away, or set cache.{tier}.path to another", path.display())]
    Store {
        /// Whose.
        tier: &'static str,
        /// Where.
        path: PathBuf,
        /// What the library said.
        reason: String,
    },
    /// The URL of the Redis server is none.
    #[error("cache.redis.url {url:?} cannot be used ({reason}); write redis://host:port")]
    RedisUrl {
        /// The URL, secrets blotted out.
        url: String,
        /// What is wrong with it.
        reason: String,
    },
    /// No thread could be started to write to a tier.
    #[error("no thread could be started for the cache ({0}); raise the limit on threads of this user")]
    Thread(#[source] io::Error),
    /// The metrics are registered already.
    #[error("the chain's metrics cannot be registered ({0}); give each chain a registry of its own")]
    Metrics(#[from] prometheus::Error),
}

impl OpenError {
    pub(crate) fn directory(tier: &'static str, path: &Path, error: &io::Error) -> Self {
        Self::Directory { tier, path: path.to_owned(), reason: error.to_string() }
    }

    pub(crate) fn store(tier: &'static str, path: &Path, error: &dyn fmt::Display) -> Self {
        Self::Store { tier, path: path.to_owned(), reason: error.to_string() }
    }

    pub(crate) fn version(tier: &'static str, path: &Path, found: &str, expected: &'static str) -> Self {
        Self::Version { tier, path: path.to_owned(), found: found.to_owned(), expected }
    }
}
