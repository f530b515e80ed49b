//! Why the server did not start.

use std::{io, net::SocketAddr};

use crate::{config::ConfigError, traces::TraceError};

/// Why the server did not start: what could not be opened, and what to do about it.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The port is in use, or the address does not belong to this machine.
    #[error("cannot listen on {address} for {what}: {cause}; choose another address with {key}")]
    Bind {
        /// The address.
        address: SocketAddr,
        /// What was to be served there.
        what: &'static str,
        /// The configuration key of the address.
        key: &'static str,
        /// The system's error. Not named `source`: the message contains it, and an error chain would print it twice.
        cause: io::Error,
    },
    /// A tier could not be opened.
    #[error(transparent)]
    Cache(#[from] floor_cache::OpenError),
    /// What the configuration names cannot be used.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The threads of the runtimes could not be started.
    #[error("cannot start the threads of the server: {0}")]
    Runtime(io::Error),
    /// Traces cannot be exported.
    #[error(transparent)]
    Traces(#[from] TraceError),
    /// A metric name is registered twice.
    #[error("cannot register metrics: {0}")]
    Metrics(#[from] prometheus::Error),
}
