//! Opens each tier on its own files or its own Redis, for the benches that time tiers.

use std::{sync::Arc, time::Duration};

use floor_cache::{
    LmdbConfig, LruConfig, RedisConfig, SledConfig, Tier,
    envelope::{Envelope, Namespace},
    tiers::{LmdbTier, LruTier, RedisTier, SledTier},
};
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};

use crate::{floors::Entries, redis_server::RedisServer, timing::answered};

/// Threads of a bench's runtime: the most tasks that a bench times at once.
const WORKER_THREADS: usize = 8;

/// A tier that a bench can open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Backend {
    /// The memory of this process.
    Lru,
    /// A memory-mapped file.
    Lmdb,
    /// A log-structured store.
    Sled,
    /// A Redis server over TCP, on this machine.
    Redis,
}

impl Backend {
    /// The backends that can be opened on this machine: without redis-server, not Redis.
    pub fn available() -> Vec<Self> {
        let mut all = vec![Self::Lru, Self::Lmdb, Self::Sled];
        if RedisServer::is_available() {
            all.push(Self::Redis);
        }
        all
    }

    /// The name in benches.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Lru => "lru",
            Self::Lmdb => "lmdb",
            Self::Sled => "sled",
            Self::Redis => "redis-tcp",
        }
    }
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
    pub fn open(backend: Backend) -> Self {
        Self::open_with(backend, LruConfig::default().capacity, LmdbConfig::default().map_size)
    }

    /// An empty store with `memory` bytes for the LRU, or `disk` bytes for LMDB or sled.
    pub fn open_with(backend: Backend, memory: u64, disk: u64) -> Self {
        let runtime = runtime();
        let directory = tempfile::tempdir().expect("a directory for the store");
        let envelope = Envelope::new(Namespace::new("floors").expect("a good name"), floor_gen::GENERATOR_VERSION);
        let path = directory.path().to_owned();
        let mut server = None;
        let tier: Arc<dyn Tier> = match backend {
            Backend::Lru => Arc::new(LruTier::new(&LruConfig { capacity: memory, ttl: None })),
            Backend::Lmdb => {
                let config = LmdbConfig { path, map_size: disk };
                Arc::new(LmdbTier::open(&config, envelope).expect("an empty directory"))
            }
            Backend::Sled => {
                let config = SledConfig { path, capacity: disk };
                Arc::new(SledTier::open(&config, envelope).expect("an empty directory"))
            }
            Backend::Redis => {
                let url = server.insert(RedisServer::start().expect("redis-server starts")).tcp_url();
                // Long, so that a busy machine gives a slow figure and not a failed bench.
                let config = RedisConfig { url, timeout: Duration::from_secs(5), ..RedisConfig::default() };
                Arc::new(RedisTier::open(&config, envelope, runtime.handle()).expect("a good URL"))
            }
        };
        Self { tier, runtime, server, _directory: directory }
    }

    /// A store that holds `entries`. Each is read back and compared.
    pub fn filled(backend: Backend, entries: &[&Entries]) -> Self {
        let store = Self::open(backend);
        store.runtime.block_on(async {
            for entries in entries {
                answered(store.tier.put_many(entries.all())).await.expect("the store takes them");
                for (key, value) in entries.all() {
                    let found = answered(store.tier.get(key)).await.expect("the store answers");
                    assert_eq!(found.as_ref(), Some(value), "{} gives back what was put", backend.name());
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
