//! The chains that commands compare, and a server with one of them on stores of its own.

use anyhow::Context;
use clap::ValueEnum;
use tempfile::TempDir;

use crate::{
    redis_server::RedisServer,
    server::{Server, Setup},
};

/// A chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Candidate {
    /// No tier: every floor is generated.
    #[value(name = "generation only")]
    GenerationOnly,
    /// Memory.
    #[value(name = "lru")]
    Lru,
    /// Memory above LMDB, the default of the server.
    #[value(name = "lru + lmdb")]
    LruLmdb,
    /// Memory above sled.
    #[value(name = "lru + sled")]
    LruSled,
    /// Memory above Redis.
    #[value(name = "lru + redis")]
    LruRedis,
    /// Memory above LMDB above Redis.
    #[value(name = "lru + lmdb + redis")]
    LruLmdbRedis,
}

impl Candidate {
    /// The names of its tiers.
    pub const fn tiers(self) -> &'static [&'static str] {
        match self {
            Self::GenerationOnly => &[],
            Self::Lru => &["lru"],
            Self::LruLmdb => &["lru", "lmdb"],
            Self::LruSled => &["lru", "sled"],
            Self::LruRedis => &["lru", "redis"],
            Self::LruLmdbRedis => &["lru", "lmdb", "redis"],
        }
    }

    /// Whether one of its tiers is Redis.
    pub fn needs_redis(self) -> bool {
        self.tiers().contains(&"redis")
    }

    /// The candidates of `named`, in the order of the list; all of them when it is empty. Without redis-server, those
    /// without Redis.
    pub fn available(named: &[Self]) -> Vec<Self> {
        let has_redis = RedisServer::is_available();
        let is_chosen = |it: &Self| named.is_empty() || named.contains(it);
        Self::value_variants().iter().copied().filter(|it| is_chosen(it) && (has_redis || !it.needs_redis())).collect()
    }

    /// The name on the command line and in tables.
    pub fn name(self) -> String {
        self.to_possible_value().expect("no value is hidden").get_name().to_owned()
    }
}

/// New stores for a chain: a directory, and a Redis if the chain has one. Removed when dropped.
#[derive(Debug)]
pub struct Stores {
    /// The directory of LMDB and sled.
    pub data: TempDir,
    /// The Redis, if the chain has one.
    pub redis: Vec<RedisServer>,
    tiers: &'static [&'static str],
}

impl Stores {
    /// Empty stores for a chain of `tiers`.
    pub fn empty(tiers: &'static [&'static str]) -> anyhow::Result<Self> {
        let redis = if tiers.contains(&"redis") { vec![RedisServer::start()?] } else { Vec::new() };
        Ok(Self { data: tempfile::tempdir().context("a directory for the stores")?, redis, tiers })
    }

    /// Starts a server on these stores, with `setup` and this chain. Without prefetching, which would answer some calls
    /// from memory that a store is meant to answer.
    pub fn serve(&self, setup: &Setup) -> anyhow::Result<Server> {
        let mut setup = setup.clone().with("CACHE__CHAIN", format!("{:?}", self.tiers));
        setup = setup.with_default("PREFETCH__AHEAD", "0");
        for redis in &self.redis {
            setup = setup.with("CACHE__REDIS__URL", redis.tcp_url());
        }
        setup.start_in(self.data.path())
    }
}
