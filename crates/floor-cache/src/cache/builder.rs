//! Builds a [`Cache`].

use std::sync::Arc;

use tokio::runtime::Handle;

use super::{computations::Computations, handle::Cache, workers::Workers};
use crate::{
    chain::assemble_tuned,
    config::{Bypass, ChainConfig, LruConfig, TierKind, Tuning},
    open_error::OpenError,
};

/// The tiers of a [`Cache`] in the order in which they are added, which is that of lookups, and its options.
#[derive(Debug, Clone)]
#[must_use]
pub struct CacheBuilder {
    config: ChainConfig,
    tuning: Tuning,
}

impl Cache {
    /// A builder of a cache. `namespace` separates its keys from those of other caches in the same store: 1 to 64
    /// printable ASCII characters without spaces and colons.
    pub fn builder(namespace: impl Into<String>) -> CacheBuilder {
        CacheBuilder::new(namespace.into())
    }
}

impl CacheBuilder {
    fn new(namespace: String) -> Self {
        let config = ChainConfig { chain: Vec::new(), namespace, ..ChainConfig::default() };
        Self { config, tuning: Tuning::default() }
    }

    fn tier(mut self, kind: TierKind) -> Self {
        self.config.chain.push(kind);
        self
    }

    /// Adds memory of at most `bytes`, overhead included.
    pub fn memory(mut self, bytes: u64) -> Self {
        self.config.lru = LruConfig { capacity: bytes, ..self.config.lru };
        self.tier(TierKind::Lru)
    }

    /// Adds a Redis server, cluster or socket, or the master that Sentinels name, by a URL as
    /// [`RedisConfig::url`](crate::RedisConfig::url) has it.
    #[cfg(feature = "redis")]
    pub fn redis(mut self, url: impl Into<String>) -> Self {
        self.config.redis.url = url.into();
        self.tier(TierKind::Redis)
    }

    /// Adds an LMDB store of at most `bytes` in the directory `path`, which is created if it is missing.
    #[cfg(feature = "lmdb")]
    pub fn lmdb(mut self, path: impl Into<std::path::PathBuf>, bytes: u64) -> Self {
        self.config.lmdb = crate::config::LmdbConfig { path: path.into(), map_size: bytes };
        self.tier(TierKind::Lmdb)
    }

    /// Adds a sled store of at most `bytes` in the directory `path`, which is created if it is missing.
    #[cfg(feature = "sled")]
    pub fn sled(mut self, path: impl Into<std::path::PathBuf>, bytes: u64) -> Self {
        self.config.sled = crate::config::SledConfig { path: path.into(), capacity: bytes };
        self.tier(TierKind::Sled)
    }

    /// The version of the values, 1 by default. Stored values of another version are never served, so a new version of
    /// the functions needs no new keys.
    pub fn version(mut self, version: u32) -> Self {
        self.config.value_version = version;
        self
    }

    /// When a tier below memory is skipped; by default, while computing costs less.
    pub fn bypass(mut self, bypass: Bypass) -> Self {
        self.config.bypass = bypass;
        self
    }

    /// Compresses values outside this process by LZ4 if that saves over a tenth.
    #[cfg(feature = "lz4")]
    pub fn compressed(mut self) -> Self {
        self.tuning.compress = true;
        self
    }

    /// Encrypts values outside this process by AES-256-GCM.
    #[cfg(feature = "encryption")]
    pub fn encrypted(mut self, keys: crate::envelope::MasterKeys) -> Self {
        self.tuning.keys = Some(keys);
        self
    }

    /// Opens the tiers. An unreachable Redis is no error: the cache does without it until it is there. Tasks run on the
    /// tokio runtime of the caller.
    ///
    /// # Errors
    /// Outside a tokio runtime, or when an option is invalid or a store cannot be opened.
    pub fn build(self) -> Result<Cache, OpenError> {
        let runtime = Handle::try_current().map_err(|_| OpenError::NoRuntime)?;
        let threads = runtime.metrics().num_workers();
        let computations = Computations::new(threads);
        let chain = assemble_tuned(&self.config, &self.tuning, Arc::new(computations.clone()), &runtime)?;
        Ok(Cache { chain, computations, workers: Workers::new(threads, runtime) })
    }
}
