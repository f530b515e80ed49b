//! The configuration of a chain.

use std::{fmt, path::PathBuf, time::Duration};

pub use crate::names::UnknownName;
use crate::{
    envelope::{MasterKeys, ValueCheck},
    key::Class,
    names::named_enum,
    tls::Tls,
};

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
    /// The version of the generator. Stored values of another version are never served.
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
    pub redis: RedisConfig,
}

impl ChainConfig {
    /// The default of [`write_queue`](Self::write_queue): about a quarter of a second of a fast disk.
    pub const WRITE_QUEUE: usize = 64 << 20;
}

impl Default for ChainConfig {
    fn default() -> Self {
        Self {
            chain: vec![TierKind::Lru, TierKind::Lmdb],
            namespace: "floors".to_owned(),
            bypass: Bypass::default(),
            value_version: 1,
            write_queue: Self::WRITE_QUEUE,
            lru: LruConfig::default(),
            lmdb: LmdbConfig::default(),
            sled: SledConfig::default(),
            redis: RedisConfig::default(),
        }
    }
}

/// How values are stored and checked, and what tests and benches fix. [`assemble`](crate::assemble()) uses the defaults.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Tuning {
    /// Master keys that seal values outside this process by AES-256-GCM.
    pub keys: Option<MasterKeys>,
    /// Compresses values outside this process by LZ4 if that saves over a tenth.
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
        /// [`RedisTier`](crate::tiers::RedisTier)
        Redis = "redis",
        /// [`LmdbTier`](crate::tiers::LmdbTier)
        Lmdb = "lmdb",
        /// [`SledTier`](crate::tiers::SledTier)
        Sled = "sled",
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

/// See [`LmdbTier`](crate::tiers::LmdbTier).
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

/// See [`SledTier`](crate::tiers::SledTier).
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

/// See [`RedisTier`](crate::tiers::RedisTier).
#[derive(Clone, PartialEq, Eq)]
pub struct RedisConfig {
    /// `redis://[user:password@]host:port[/db]`, or `redis+cluster://[user:password@]host:port,host:port` with some
    /// nodes of a cluster. `rediss://` and `rediss+cluster://` are the same with TLS.
    pub url: String,
    /// The classes of values that it stores.
    pub admit: Admit,
    /// The deadline of a query.
    pub timeout: Duration,
    /// The TLS options of a `rediss://` or `rediss+cluster://` URL.
    pub tls: Tls,
}

impl Default for RedisConfig {
    fn default() -> Self {
        Self {
            url: "redis://127.0.0.1:6379".to_owned(),
            admit: Admit::All,
            timeout: Duration::from_millis(50),
            tls: Tls::default(),
        }
    }
}

impl RedisConfig {
    /// The URL for logs and errors, with the user and password redacted.
    #[must_use]
    pub fn redacted_url(&self) -> String {
        redact(&self.url)
    }
}

impl fmt::Debug for RedisConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisConfig")
            .field("url", &self.redacted_url())
            .field("admit", &self.admit)
            .field("timeout", &self.timeout)
            .field("tls", &self.tls)
            .finish()
    }
}

/// Redacts the user and password, and drops the query, which may contain a password. Splits at the last `@`, since a
/// password may contain one.
fn redact(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let separator = if scheme.is_empty() { "" } else { "://" };
    let rest = rest.split(['?', '#']).next().unwrap_or_default();
    match rest.rsplit_once('@') {
        Some((_, host)) => format!("{scheme}{separator}***@{host}"),
        None => format!("{scheme}{separator}{rest}"),
    }
}

/// Which values a tier stores.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Admit {
    /// Every class.
    #[default]
    All,
    /// These classes.
    Only(ClassSet),
}

impl Admit {
    /// Whether values of `class` are stored.
    #[must_use]
    pub const fn admits(self, class: Class) -> bool {
        match self {
            Self::All => true,
            Self::Only(classes) => classes.contains(class),
        }
    }
}

/// A set of classes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ClassSet(u16);

impl ClassSet {
    /// This set and `class`.
    #[must_use]
    pub const fn with(self, class: Class) -> Self {
        Self(self.0 | 1 << class.index())
    }

    /// Whether `class` is in it.
    #[must_use]
    pub const fn contains(self, class: Class) -> bool {
        self.0 & 1 << class.index() != 0
    }
}

impl FromIterator<Class> for ClassSet {
    fn from_iter<I: IntoIterator<Item = Class>>(classes: I) -> Self {
        classes.into_iter().fold(Self::default(), Self::with)
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

    #[test]
    fn the_secrets_of_a_redis_url_are_redacted() {
        for (url, shown) in [
            ("redis://127.0.0.1:6379", "redis://127.0.0.1:6379"),
            ("redis://:hunter2@cache:6379/1", "redis://***@cache:6379/1"),
            ("rediss://user:p@ss@cache:6379", "rediss://***@cache:6379"),
            ("rediss+cluster://user:p@ss@a:1,b:2", "rediss+cluster://***@a:1,b:2"),
            ("redis+unix:///run/redis.sock?user=me&pass=hunter2", "redis+unix:///run/redis.sock"),
            ("user:hunter2@cache", "***@cache"),
        ] {
            let config = RedisConfig { url: url.to_owned(), ..RedisConfig::default() };
            assert_eq!(config.redacted_url(), shown);
            let debug = format!("{config:?}");
            assert!(!debug.contains("hunter2") && !debug.contains("p@ss"), "{debug}");
        }
    }

    #[test]
    fn a_class_set_contains_the_inserted_classes() {
        let set: ClassSet = [Class::new(7), Class::new(15)].into_iter().collect();
        let held: Vec<usize> =
            (0..16).map(Class::new).filter(|class| Admit::Only(set).admits(*class)).map(Class::index).collect();
        assert_eq!(held, [7, 15]);
    }
}
