//! A TCP listener that is bound before the app is wired, so that a port in use is an error and not a panic.

use std::{
    net::SocketAddr,
    sync::{Mutex, PoisonError},
};

use tokio::{net::TcpListener, runtime::Handle};

/// Carries a bound listener from [`app`](crate::app()) to the plugin that serves on it. The plugin takes it, so the
/// port closes when the plugin's server ends.
#[derive(Debug)]
pub struct BoundListener {
    address: SocketAddr,
    listener: Mutex<Option<TcpListener>>,
}

impl BoundListener {
    /// Binds `address`. Port 0 selects a free port.
    ///
    /// # Errors
    /// The system's error: the port is in use, or the address does not belong to this machine.
    pub fn bind(address: SocketAddr, runtime: &Handle) -> std::io::Result<Self> {
        let listener = runtime.block_on(TcpListener::bind(address))?;
        Ok(Self { address: listener.local_addr()?, listener: Mutex::new(Some(listener)) })
    }

    /// The bound address, with the selected port.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// The listener. `None` after the first call.
    pub fn take(&self) -> Option<TcpListener> {
        self.listener.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}
