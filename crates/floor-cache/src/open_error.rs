//! The errors of building a chain.

use std::{
    fmt, io,
    path::{Path, PathBuf},
};

use crate::{config::TierKind, envelope::Namespace};

/// Why a chain could not be built. Each message names the cause, the path, and what to do about it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The configuration names a tier twice.
    #[error("cache.chain names {0} twice; name each tier once")]
    DuplicateTier(TierKind),
    /// The configuration names a tier that is behind a cargo feature that this build does not have.
    #[error(
        "cache.chain names {0}, which this build lacks; use a build with the cargo feature {0}, or remove it from cache.chain"
    )]
    MissingTier(TierKind),
    /// There is no tokio runtime for the tasks of the cache.
    #[error("there is no tokio runtime here; build the cache in an async function that tokio runs")]
    NoRuntime,
    /// The namespace cannot be part of a key.
    #[error("cache.namespace {0:?} is not 1 to {max} printable ASCII characters without spaces and colons", max = Namespace::MAX)]
    Namespace(String),
    /// A directory cannot be used.
    #[error("the {tier} directory {} cannot be used ({reason}); make it writable for this user, or set cache.{tier}.path to one that is", path.display())]
    Directory {
        /// The name of the tier.
        tier: &'static str,
        /// The directory.
        path: PathBuf,
        /// The error of the system.
        reason: String,
    },
    /// The map of LMDB takes more address space than the process may have. Bytes are shown in MiB.
    #[error("cache.lmdb.map_size is {}MiB, more address space than this process may have ({reason}); write a smaller size, or raise the limit (ulimit -v, LimitAS)", bytes >> 20)]
    MapSize {
        /// The size of the map in bytes.
        bytes: u64,
        /// The limit, or the error of the system.
        reason: String,
    },
    /// The disk has no space for the files written at startup. Stored values are not affected.
    #[error("no space left on the disk for the {tier} store in {} ({reason}); free 1 MiB or more there, or set cache.{tier}.path to a directory on another disk", path.display())]
    NoSpace {
        /// The name of the tier.
        tier: &'static str,
        /// The directory.
        path: PathBuf,
        /// The error of the system.
        reason: String,
    },
    /// Another process or chain has the store open.
    #[error("the {tier} store in {} is in use by another process; stop that one, or set cache.{tier}.path to another directory", path.display())]
    Locked {
        /// The name of the tier.
        tier: &'static str,
        /// The directory.
        path: PathBuf,
    },
    /// Another process that has the store open has the same process id, as where each is the first of its container.
    #[error("the {tier} store in {} is in use by another server with the process id {process}, as in another container, and servers on one store need different ones; set cache.{tier}.path to another directory, or let the servers share a namespace of process ids", path.display())]
    SameProcessId {
        /// The name of the tier.
        tier: &'static str,
        /// The directory.
        path: PathBuf,
        /// The process id.
        process: u32,
    },
    /// The store has another format version.
    #[error("the {tier} store in {} was made by another version (found: {found}; this one reads: {expected}); move the directory away, or set cache.{tier}.path to another", path.display())]
    Version {
        /// The name of the tier.
        tier: &'static str,
        /// The directory.
        path: PathBuf,
        /// The version of the store.
        found: String,
        /// The version that this build reads.
        expected: &'static str,
    },
    /// The store is damaged or is not a store.
    #[error("the {tier} store in {} cannot be opened ({reason}); move the directory away, or set cache.{tier}.path to another", path.display())]
    Store {
        /// The name of the tier.
        tier: &'static str,
        /// The directory.
        path: PathBuf,
        /// The error of the library.
        reason: String,
    },
    /// The URL of the Redis server is invalid.
    #[error("cache.redis.url {url:?} {reason}")]
    RedisUrl {
        /// The URL without its secrets.
        url: String,
        /// The reason, and what to write.
        reason: String,
    },
    /// The TLS options are inconsistent with each other or with the URL.
    #[error("cache.redis.ca, cert and key cannot be used: {0}")]
    RedisTls(String),
    /// The writer thread of a tier could not be started.
    #[error("no thread could be started for the cache ({0}); raise the limit on threads of this user")]
    Thread(#[source] io::Error),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tier_that_the_build_lacks_is_named() {
        let problem = OpenError::MissingTier(TierKind::Sled).to_string();
        assert!(problem.starts_with("cache.chain names sled, which this build lacks"), "{problem}");
    }
}
