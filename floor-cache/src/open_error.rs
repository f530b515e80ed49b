//! Why a chain could not be built.

use std::{
    fmt, io,
    path::{Path, PathBuf},
};

use crate::{config::TierKind, envelope::Namespace};

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
    /// The disk has no room for what a start writes. What is stored is not touched.
    #[error("no space left on the disk for the {tier} store in {} ({reason}); free 1 MiB or more there, or set cache.{tier}.path to a directory on another disk", path.display())]
    NoSpace {
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
    #[error(
        "cache.redis.url {url:?} cannot be used ({reason}); write redis://host:port, rediss://host:port or redis+cluster://host:port,host:port"
    )]
    RedisUrl {
        /// The URL, secrets blotted out.
        url: String,
        /// What is wrong with it.
        reason: String,
    },
    /// What is set for TLS contradicts itself or the URL.
    #[error("cache.redis.ca, cert and key cannot be used: {0}")]
    RedisTls(String),
    /// No thread could be started to write to a tier.
    #[error("no thread could be started for the cache ({0}); raise the limit on threads of this user")]
    Thread(#[source] io::Error),
    /// The metrics are registered already.
    #[error("the chain's metrics cannot be registered ({0}); give each chain a registry of its own")]
    Metrics(#[from] prometheus::Error),
}

impl OpenError {
    pub(crate) fn directory(tier: &'static str, path: &Path, error: &io::Error) -> Self {
        let (path, reason) = (path.to_owned(), error.to_string());
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::NoSpace { tier, path, reason },
            _ => Self::Directory { tier, path, reason },
        }
    }

    pub(crate) fn store(tier: &'static str, path: &Path, error: &dyn fmt::Display) -> Self {
        Self::Store { tier, path: path.to_owned(), reason: error.to_string() }
    }

    pub(crate) fn version(tier: &'static str, path: &Path, found: &str, expected: &'static str) -> Self {
        Self::Version { tier, path: path.to_owned(), found: found.to_owned(), expected }
    }
}
