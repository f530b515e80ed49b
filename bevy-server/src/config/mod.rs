//! The configuration: defaults, then a file, then the environment. Later ones override earlier ones.
//!
//! `layers` merges, [`Config::resolve`] parses every key and collects all errors. Nothing is opened before that
//! succeeds.

mod layers;
mod redis;
mod values;

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use floor_cache::{
    ChainConfig, LmdbConfig, LruConfig, RedisConfig, SledConfig, Tuning, envelope::ValueCheck, tls::Tls,
};

pub use layers::{ConfigError, Problem};
use layers::{Layers, Reader};
use values::{ByteCount, TimeSpan};

use crate::stored;

/// The defaults: every key, with a comment.
pub const DEFAULTS: &str = include_str!("defaults.toml");

/// A resolved configuration.
#[derive(Debug, Clone)]
pub struct Config {
    /// The address for gRPC and gRPC-Web.
    pub grpc_listen: SocketAddr,
    /// The time limit for calls in flight after the drain starts.
    pub drain: Duration,
    /// The address of the operations pages.
    pub ops_listen: SocketAddr,
    /// The cache tiers.
    pub cache: ChainConfig,
    /// Settings that apply to all tiers.
    pub tuning: Tuning,
    /// Capacity of the generation queue.
    pub generation_queue: usize,
    /// Threads that generate. Never 0.
    pub generation_threads: usize,
    /// Floors to prefetch above a climber; 0 for none.
    pub prefetch_ahead: u32,
    resolved: String,
}

impl Config {
    /// Reads the defaults, then `file`, then the environment.
    ///
    /// # Errors
    /// All problems at once: unknown keys with the nearest valid one, invalid values with their source and
    /// what would be valid.
    pub fn resolve(file: Option<&std::path::Path>) -> Result<Self, ConfigError> {
        Self::read(&Layers::load(file)?)
    }

    /// Reads the defaults and then `text`, without the environment.
    ///
    /// # Errors
    /// As [`Config::resolve`].
    pub fn from_toml(text: &str) -> Result<Self, ConfigError> {
        Self::read(&Layers::from_toml(text)?)
    }

    fn read(layers: &Layers) -> Result<Self, ConfigError> {
        let mut reader = Reader::new(layers);
        let grpc_listen = reader.key("grpc.listen");
        let drain = reader.key::<TimeSpan>("grpc.drain");
        let ops_listen = reader.key("ops.listen");
        let chain = reader.key("cache.chain");
        let namespace = reader.key::<values::Namespace>("cache.namespace");
        let bypass = reader.key("cache.bypass");
        let hedge = reader.key("cache.hedge");
        let audit = reader.key::<values::OneIn>("cache.audit");
        let compress = reader.key("cache.compress");
        let keys = reader.key::<values::Keys>("cache.keys");
        let keys_file = reader.key::<values::KeysFile>("cache.keys_file");
        let capacity = reader.key::<ByteCount>("cache.lru.capacity");
        let ttl = reader.key::<TimeSpan>("cache.lru.ttl");
        let lmdb_path = reader.key::<PathBuf>("cache.lmdb.path");
        let map_size = reader.key::<ByteCount>("cache.lmdb.map_size");
        let sled_path = reader.key::<PathBuf>("cache.sled.path");
        let sled_capacity = reader.key::<values::DiskLimit>("cache.sled.capacity");
        let url = reader.key::<values::RedisUrl>("cache.redis.url");
        let admit = reader.key("cache.redis.admit");
        let timeout = reader.key::<values::Timeout>("cache.redis.timeout");
        let ca = reader.key::<redis::CaFile>("cache.redis.ca");
        let cert = reader.key::<redis::CertFile>("cache.redis.cert");
        let key = reader.key::<redis::KeyFile>("cache.redis.key");
        let lease = reader.key("cache.redis.lease");
        let queue = reader.key::<values::QueueCapacity>("generation.queue");
        let threads = reader.key::<usize>("generation.threads");
        let ahead = reader.key::<values::FloorCount>("prefetch.ahead");
        let resolved = reader.finish()?;
        Ok(Self {
            grpc_listen: grpc_listen?,
            drain: drain?.0,
            ops_listen: ops_listen?,
            cache: ChainConfig {
                chain: chain?,
                namespace: namespace?.0,
                bypass: bypass?,
                value_version: floor_gen::GENERATOR_VERSION,
                lru: LruConfig { capacity: capacity?.0, ttl: Some(ttl?.0).filter(|ttl| !ttl.is_zero()) },
                lmdb: LmdbConfig { path: lmdb_path?, map_size: map_size?.0 },
                sled: SledConfig { path: sled_path?, capacity: sled_capacity?.0 },
                redis: RedisConfig {
                    url: url?.0,
                    admit: admit?,
                    timeout: timeout?.0,
                    tls: Tls { ca: ca?.0, cert: cert?.0, key: key?.0 },
                    lease: lease?,
                },
            },
            tuning: Tuning {
                keys: keys?.0.or(keys_file?.0),
                compress: compress?,
                audit: audit?.0,
                hedge: hedge?,
                utilisation: None,
                value_check: Some(ValueCheck::new(stored::check)),
            },
            generation_queue: queue?.0,
            generation_threads: match threads? {
                0 => std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
                threads => threads,
            },
            prefetch_ahead: ahead?.0,
            resolved,
        })
    }

    /// The resolved configuration as TOML, each key with its source, secrets redacted.
    #[must_use]
    pub fn resolved(&self) -> &str {
        &self.resolved
    }
}

#[cfg(test)]
mod tests {
    use floor_cache::TierKind;

    use super::*;

    #[test]
    fn the_defaults_are_those_of_floor_cache() {
        let defaults = Config::from_toml("").expect("the defaults are valid");
        let cache = ChainConfig { value_version: floor_gen::GENERATOR_VERSION, ..ChainConfig::default() };
        assert_eq!(defaults.cache, cache);
        assert_eq!(Tuning { value_check: None, ..defaults.tuning }, Tuning::default());
    }

    #[test]
    fn every_tier_has_keys() {
        for tier in TierKind::ALL {
            assert!(DEFAULTS.contains(&format!("[cache.{tier}]")), "defaults.toml has no table for {tier}");
        }
    }
}
