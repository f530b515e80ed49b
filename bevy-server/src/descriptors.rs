//! The file descriptors of the process: how many it may open, and how many of them connections may take.

/// Descriptors that are kept for stores, Redis, and the operations port, which has at most 64 connections. So metrics and
/// probes are answered while the gRPC port has as many connections as it may.
#[cfg(unix)]
const RESERVED: u64 = 128;
/// Those that are kept for the stores and the Redis connections of each tenant.
#[cfg(unix)]
const RESERVED_FOR_TENANT: u64 = 16;
/// Those that are kept for each core: four of its runtime, and a connection to Redis, of which each tenant has one more.
#[cfg(unix)]
const RESERVED_FOR_CORE: u64 = 5;
/// Connections that are always allowed.
#[cfg(unix)]
const MIN_CONNECTIONS: u64 = 16;
/// Connections where the system does not tell its limit.
#[cfg(not(unix))]
const DEFAULT_CONNECTIONS: usize = 10_000;

/// Raises the soft limit on descriptors to the hard limit.
#[cfg(unix)]
pub fn raise_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    if let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum }) {
        tracing::debug!(%error, "the limit on descriptors stays as it is");
    }
}

/// Does nothing: this system has no such limit.
#[cfg(not(unix))]
pub fn raise_limit() {}

/// The connections that the limit on descriptors allows a server with so many tenants on so many cores.
#[cfg(unix)]
#[must_use]
pub fn max_connections(tenants: usize, cores: usize) -> usize {
    use rustix::process::{Resource, getrlimit};
    let limit = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    let (tenants, cores) = (tenants as u64, cores as u64);
    let reserved = RESERVED + cores * RESERVED_FOR_CORE + tenants * (RESERVED_FOR_TENANT + cores);
    usize::try_from(limit.saturating_sub(reserved).max(MIN_CONNECTIONS)).unwrap_or(usize::MAX)
}

/// A number of connections that is safe on most systems.
#[cfg(not(unix))]
#[must_use]
pub const fn max_connections(_tenants: usize, _cores: usize) -> usize {
    DEFAULT_CONNECTIONS
}
