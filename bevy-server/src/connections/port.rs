//! A port between its binding, when the server starts, and its use, when all plugins are built.

use std::{
    net::SocketAddr,
    sync::{Mutex, PoisonError},
};

use tokio::{net::TcpListener, runtime::Handle};

use super::bound_socket;
use crate::start_error::StartError;

/// Connections that wait to be accepted. The system caps it, on Linux at `net.core.somaxconn`.
const BACKLOG: u32 = 1024;

/// A port that listens.
#[derive(Debug)]
pub(crate) struct BoundPort {
    address: SocketAddr,
    /// In a lock, because a plugin is shared: only who accepts may hold the listener, so that it can close it.
    listener: Mutex<Option<TcpListener>>,
}

impl BoundPort {
    /// Listens on `address` for `what`, as `key` of the configuration says. Port 0 selects a free port.
    pub(crate) fn bind(
        address: SocketAddr,
        what: &'static str,
        key: &'static str,
        runtime: &Handle,
    ) -> Result<Self, StartError> {
        // Listening registers with the runtime.
        let _entered = runtime.enter();
        let listener = bound_socket(address).and_then(|socket| socket.listen(BACKLOG));
        let bound = listener.and_then(|listener| Ok((listener.local_addr()?, listener)));
        let (address, listener) = bound.map_err(|cause| StartError::Bind { address, what, key, cause })?;
        Ok(Self { address, listener: Mutex::new(Some(listener)) })
    }

    /// The bound address.
    pub(crate) const fn address(&self) -> SocketAddr {
        self.address
    }

    /// The listener, for the plugin that bound it.
    pub(crate) fn take(&self) -> TcpListener {
        let listener = self.listener.lock().unwrap_or_else(PoisonError::into_inner).take();
        listener.expect("a plugin is finished once")
    }
}
