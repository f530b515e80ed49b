//! A port that is open before the app is wired, so that a taken one is a sentence and not a panic.

use std::{
    net::SocketAddr,
    sync::{Mutex, PoisonError},
};

use tokio::{net::TcpListener, runtime::Handle};

/// A listener on its way from [`app`](crate::app()) to the plugin that serves on it. Taken once, so that the port closes
/// with whoever took it.
#[derive(Debug)]
pub struct BoundListener {
    address: SocketAddr,
    listener: Mutex<Option<TcpListener>>,
}

impl BoundListener {
    /// Opens `address`; port 0 is any that is free.
    ///
    /// # Errors
    /// What the system says: the port is taken, or the address is not this machine's.
    pub fn bind(address: SocketAddr, runtime: &Handle) -> std::io::Result<Self> {
        let listener = runtime.block_on(TcpListener::bind(address))?;
        Ok(Self { address: listener.local_addr()?, listener: Mutex::new(Some(listener)) })
    }

    /// The address, its port resolved.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// The listener, the first time.
    pub fn take(&self) -> Option<TcpListener> {
        self.listener.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}
