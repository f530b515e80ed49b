//! What a chain is made of, as an operator writes it.

use std::{fmt, path::PathBuf, str::FromStr, time::Duration};

use crate::{
    envelope::{MasterKeys, ValueCheck},
    key::Class,
    tls::Tls,
};

const MIB: u64 = 1 << 20;

/// A chain: which tiers in which order, and how each is set up. Generation always stands last and is not named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChainConfig {
    /// The tiers in probing order, each at most once.
    pub chain: Vec<TierKind>,
    /// Prefix of every stored key, so that several chains may share a store. 1 ..= 64 bytes.
    pub namespace: String,
    /// Whether a tier that measures slower than generating is passed by.
    pub bypass: Bypass,
    /// Version of what makes the values. A stored value of another version is never served.
    pub value_version: u32,
    /// The tier in this process's memory.
    pub lru: LruConfig,
    /// The tier in a memory-mapped file.
    pub lmdb: LmdbConfig,
    /// The tier in a log-structured store.
    pub sled: SledConfig,
    /// The tier in a Redis server.
    pub redis: RedisConfig,
}

impl Default for ChainConfig {
    fn default() -> Self {
        Self {
            chain: vec![TierKind::Lru, TierKind::Lmdb],
            namespace: "floors".to_owned(),
            bypass: Bypass::default(),
            value_version: 1,
            lru: LruConfig::default(),
            lmdb: LmdbConfig::default(),
            sled: SledConfig::default(),
            redis: RedisConfig::default(),
        }
    }
}

/// What a configuration file has no words for yet. The defaults are what [`assemble`](crate::assemble()) uses.
#[derive(Debug, Clone, PartialEq)]
pub struct Tuning {
    /// Seals what leaves this process by AES-256-GCM.
    pub keys: Option<MasterKeys>,
    /// Compresses by LZ4 what leaves this process, where that shrinks it by over a tenth.
    pub compress: bool,
    /// One hit in this many, in a lower tier or in memory, is made again and compared; 0 for none.
    pub audit: u32,
    /// Whether generation starts beside a tier that takes longer than it usually does.
    pub hedge: bool,
    /// The CPU utilisation, 0 to 1, to go by instead of the measured one: for tests and benches whose results must not depend on
    /// what else the machine does.
    pub utilisation: Option<f64>,
    /// The last check of a value that comes from outside this process. Without one, such a value is taken as it was sealed.
    pub value_check: Option<ValueCheck>,
}

impl Default for Tuning {
    fn default() -> Self {
        Self { keys: None, compress: false, audit: 1000, hedge: true, utilisation: None, value_check: None }
    }
}

/// A sort of tier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TierKind {
    /// [`LruTier`](crate::tiers::LruTier)
    Lru,
    /// [`RedisTier`](crate::tiers::RedisTier)
    Redis,
    /// [`LmdbTier`](crate::tiers::LmdbTier)
    Lmdb,
    /// [`SledTier`](crate::tiers::SledTier)
    Sled,
}

impl TierKind {
    /// Every kind.
    pub const ALL: [Self; 4] = [Self::Lru, Self::Redis, Self::Lmdb, Self::Sled];

    /// Its name in configuration, metrics and responses.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Lru => "lru",
            Self::Redis => "redis",
            Self::Lmdb => "lmdb",
            Self::Sled => "sled",
        }
    }
}

impl fmt::Display for TierKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for TierKind {
    type Err = UnknownTier;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|kind| kind.name() == name).ok_or_else(|| UnknownTier(name.to_owned()))
    }
}

/// No tier has that name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no tier {0:?}; the tiers are lru, redis, lmdb, sled")]
pub struct UnknownTier(String);

/// Whether a tier is probed while it measures slower than generating.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Bypass {
    /// A tier is probed while it pays.
    #[default]
    Auto,
    /// Every tier is always probed.
    Off,
    /// No tier below memory is ever probed, not even to learn what that would cost: what memory has not is made. They are
    /// written to and removed from as ever, so they are warm when this is changed back.
    Forced,
}

/// Whether a server takes a lease before it makes a value, so that others which miss it too wait for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Lease {
    /// For what measures much costlier to make than a lease.
    #[default]
    Auto,
    /// For every value that the tier was asked for.
    On,
    /// For none.
    Off,
}

/// See [`LruTier`](crate::tiers::LruTier).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LruConfig {
    /// Bytes of memory it may take, its own bookkeeping included.
    pub capacity: u64,
    /// How long an entry may be served; `None`: for ever, since values do not change.
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
    /// A directory; made when it is missing.
    pub path: PathBuf,
    /// Bytes that the map, and so the file, may grow to. Entries are evicted before it is full.
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
    /// A directory; made when it is missing.
    pub path: PathBuf,
    /// Bytes of stored values beyond which entries are evicted; 0 for no limit.
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
    /// `redis://[user:password@]host:port[/db]`, `rediss://` with the same for TLS, or
    /// `redis+cluster://[user:password@]host:port,host:port` with some nodes of a cluster.
    pub url: String,
    /// Which classes are kept there.
    pub admit: Admit,
    /// How long a caller waits for it.
    pub timeout: Duration,
    /// Whom to trust behind a `rediss://` URL.
    pub tls: Tls,
    /// Whether servers that share it agree on who makes what several of them miss.
    pub lease: Lease,
}

impl Default for RedisConfig {
    fn default() -> Self {
        Self {
            url: "redis://127.0.0.1:6379".to_owned(),
            admit: Admit::All,
            timeout: Duration::from_millis(50),
            tls: Tls::default(),
            lease: Lease::default(),
        }
    }
}

impl RedisConfig {
    /// The URL with what stands before the host blotted out, for logs and errors.
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
            .field("lease", &self.lease)
            .finish()
    }
}

/// Blots out user and password, and the query, which may hold a password too. The last `@` ends them, since a password
/// may hold one.
fn redact(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let separator = if scheme.is_empty() { "" } else { "://" };
    let rest = rest.split(['?', '#']).next().unwrap_or_default();
    match rest.rsplit_once('@') {
        Some((_, host)) => format!("{scheme}{separator}***@{host}"),
        None => format!("{scheme}{separator}{rest}"),
    }
}

/// Which values a tier keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Admit {
    /// Every class.
    #[default]
    All,
    /// These classes.
    Only(ClassSet),
}

impl Admit {
    /// Whether values of `class` are kept.
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
        let error = "memcached".parse::<TierKind>().unwrap_err();
        assert_eq!(error.to_string(), "there is no tier \"memcached\"; the tiers are lru, redis, lmdb, sled");
    }

    #[test]
    fn no_part_of_a_redis_url_that_may_be_secret_is_shown() {
        for (url, shown) in [
            ("redis://127.0.0.1:6379", "redis://127.0.0.1:6379"),
            ("redis://:hunter2@cache:6379/1", "redis://***@cache:6379/1"),
            ("rediss://user:p@ss@cache:6379", "rediss://***@cache:6379"),
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
    fn a_class_set_holds_what_was_put_in() {
        let set: ClassSet = [Class::new(7), Class::new(15)].into_iter().collect();
        let held: Vec<usize> =
            (0..16).map(Class::new).filter(|class| Admit::Only(set).admits(*class)).map(Class::index).collect();
        assert_eq!(held, [7, 15]);
    }
}
