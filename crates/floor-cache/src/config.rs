//! The configuration of a chain.

use std::{path::PathBuf, time::Duration};

#[cfg(feature = "redis")]
pub use crate::redis_config::RedisConfig;
pub use crate::{
    admit::{Admit, ClassSet},
    names::UnknownName,
};
use crate::{envelope::ValueCheck, names::named_enum};

const MIB: u64 = 1 << 20;

/// The tiers of a chain in order, and the options of each. Generation is always last and not listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChainConfig {
    /// The tiers in the order in which lookups ask them, each at most once.
    pub chain: Vec<TierKind>,
    /// Prefix of every stored key, so that several chains may share a store. 1 ..= 64 bytes.
    pub namespace: String,
    /// Whether lookups skip a tier that is slower than generating.
    pub bypass: Bypass,
    /// The version of the values. Stored values of another version are never served.
    pub value_version: u32,
    /// Bytes of values that may wait to be written to each lower tier. Beyond it, writes are dropped.
    pub write_queue: usize,
    /// The tier in this process's memory.
    pub lru: LruConfig,
    /// The tier in a memory-mapped file.
    pub lmdb: LmdbConfig,
    /// The tier in a log-structured store.
    pub sled: SledConfig,
    /// The tier in a Redis server.
    #[cfg(feature = "redis")]
    pub redis: RedisConfig,
}

impl ChainConfig {
    /// The default of [`write_queue`](Self::write_queue): about a quarter of a second of a fast disk.
    pub const WRITE_QUEUE: usize = 64 << 20;
}

impl Default for ChainConfig {
    fn default() -> Self {
        Self {
            chain: vec![TierKind::Lru],
            namespace: "values".to_owned(),
            bypass: Bypass::default(),
            value_version: 1,
            write_queue: Self::WRITE_QUEUE,
            lru: LruConfig::default(),
            lmdb: LmdbConfig::default(),
            sled: SledConfig::default(),
            #[cfg(feature = "redis")]
            redis: RedisConfig::default(),
        }
    }
}

/// How values are stored and checked, and what tests and benches fix. [`assemble`](crate::assemble()) uses the defaults.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Tuning {
    /// Master keys that seal values outside this process by AES-256-GCM.
    #[cfg(feature = "encryption")]
    pub keys: Option<crate::envelope::MasterKeys>,
    /// Compresses values outside this process by LZ4 if that saves over a tenth.
    #[cfg(feature = "lz4")]
    pub compress: bool,
    /// A CPU utilisation, 0 to 1, instead of the measured one: for tests and benches that must not depend on other
    /// processes.
    pub utilisation: Option<f64>,
    /// An additional check of values from tiers outside this process; `None` accepts every intact value.
    pub value_check: Option<ValueCheck>,
}

named_enum! {
    /// The kind of a tier.
    pub enum TierKind: "tier" {
        /// [`LruTier`](crate::tiers::LruTier)
        Lru = "lru",
        /// The tier in a Redis server; the cargo feature `redis`.
        Redis = "redis",
        /// The tier in an LMDB store; the cargo feature `lmdb`.
        Lmdb = "lmdb",
        /// The tier in a sled store; the cargo feature `sled`.
        Sled = "sled",
    }
}

impl TierKind {
    /// Whether this build has it.
    #[must_use]
    pub const fn is_built(self) -> bool {
        match self {
            Self::Lru => true,
            Self::Redis => cfg!(feature = "redis"),
            Self::Lmdb => cfg!(feature = "lmdb"),
            Self::Sled => cfg!(feature = "sled"),
        }
    }
}

named_enum! {
    /// When a tier is bypassed.
    #[derive(Default)]
    pub enum Bypass: "bypass mode" {
        /// A tier is asked if that costs less than generating.
        #[default]
        Auto = "auto",
        /// Every tier is always asked.
        Off = "off",
        /// No lower tier is asked, not even to measure its cost; a miss in memory is generated. Lower tiers still get
        /// writes and removals, so they are warm when the mode changes back.
        Forced = "forced",
    }
}

/// See [`LruTier`](crate::tiers::LruTier).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LruConfig {
    /// Limit of its memory in bytes, overhead included.
    pub capacity: u64,
    /// How long an entry may be served; `None` for no limit, since values do not change.
    pub ttl: Option<Duration>,
}

impl Default for LruConfig {
    fn default() -> Self {
        Self { capacity: 256 * MIB, ttl: None }
    }
}

/// The options of the tier in an LMDB store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LmdbConfig {
    /// The directory of the store; created if it is missing.
    pub path: PathBuf,
    /// The largest size of the map and the file in bytes. Entries are evicted before it is full.
    pub map_size: u64,
}

impl Default for LmdbConfig {
    fn default() -> Self {
        Self { path: PathBuf::from("./data/lmdb"), map_size: 4096 * MIB }
    }
}

/// The options of the tier in a sled store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SledConfig {
    /// The directory of the store; created if it is missing.
    pub path: PathBuf,
    /// Bytes of stored values above which entries are evicted; 0 for no limit.
    pub capacity: u64,
}

impl Default for SledConfig {
    fn default() -> Self {
        Self { path: PathBuf::from("./data/sled"), capacity: 4096 * MIB }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for kind in TierKind::ALL {
            assert_eq!(kind.to_string().parse(), Ok(kind));
        }
        for mode in Bypass::ALL {
            assert_eq!(mode.to_string().parse(), Ok(mode));
        }
        let (error, names) =
            ("memcached".parse::<TierKind>().unwrap_err(), TierKind::ALL.map(TierKind::name).join(", "));
        assert_eq!(error.to_string(), format!("there is no tier \"memcached\"; the tiers are {names}"));
    }
}
