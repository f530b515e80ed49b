//! Opens each tier on its own files or its own Redis, for the benches that time tiers.

use std::{sync::Arc, time::Duration};

use floor_cache::{
    LmdbConfig, LruConfig, RedisConfig, SledConfig, Tier, TierKind,
    envelope::{Envelope, Namespace},
    tiers::{LmdbTier, LruTier, RedisTier, SledTier},
};
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};

use crate::{floors::Entries, redis_server::RedisServer, timing::answered};

/// Threads of a bench's runtime: the most tasks that a bench times at once.
const WORKER_THREADS: usize = 8;

/// The tiers that can be opened on this machine: without redis-server, not Redis.
pub fn available() -> Vec<TierKind> {
    let has_redis = RedisServer::is_available();
    TierKind::ALL.into_iter().filter(|tier| has_redis || *tier != TierKind::Redis).collect()
}

/// An open tier. Dropping it removes its files and ends its server.
#[derive(Debug)]
pub struct Store {
    /// The tier without timeout, breaker and metrics.
    pub tier: Arc<dyn Tier>,
    /// The runtime that calls the tier.
    pub runtime: Runtime,
    /// The Redis server of the tier, if it has one.
    pub server: Option<RedisServer>,
    _directory: TempDir,
}

impl Store {
    /// An empty store.
    pub fn open(kind: TierKind) -> Self {
        let runtime = runtime();
        let directory = tempfile::tempdir().expect("a directory for the store");
        let envelope = Envelope::new(Namespace::new("floors").expect("a good name"), floor_gen::GENERATOR_VERSION);
        let path = directory.path().to_owned();
        let mut server = None;
        let tier: Arc<dyn Tier> = match kind {
            TierKind::Lru => Arc::new(LruTier::new(&LruConfig::default())),
            TierKind::Lmdb => {
                let config = LmdbConfig { path, ..LmdbConfig::default() };
                Arc::new(LmdbTier::open(&config, envelope).expect("an empty directory"))
            }
            TierKind::Sled => {
                let config = SledConfig { path, ..SledConfig::default() };
                Arc::new(SledTier::open(&config, envelope).expect("an empty directory"))
            }
            TierKind::Redis => {
                let url = server.insert(RedisServer::start().expect("redis-server starts")).tcp_url();
                // Long, so that a busy machine gives a slow figure and not a failed bench.
                let config = RedisConfig { url, timeout: Duration::from_secs(5), ..RedisConfig::default() };
                Arc::new(RedisTier::open(&config, envelope, runtime.handle()).expect("a good URL"))
            }
        };
        Self { tier, runtime, server, _directory: directory }
    }

    /// A store that holds `entries`. Each is read back and compared.
    pub fn filled(kind: TierKind, entries: &[&Entries]) -> Self {
        let store = Self::open(kind);
        store.runtime.block_on(async {
            for entries in entries {
                answered(store.tier.put_many(entries.all())).await.expect("the store takes them");
                for (key, value) in entries.all() {
                    let found = answered(store.tier.get(key)).await.expect("the store answers");
                    assert_eq!(found.as_ref(), Some(value), "{} gives back what was put", kind.name());
                }
            }
        });
        store
    }
}

/// A multi-threaded runtime, as the server has.
pub fn runtime() -> Runtime {
    Builder::new_multi_thread().worker_threads(WORKER_THREADS).enable_all().build().expect("threads")
}
