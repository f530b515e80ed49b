//! A socket that has an address, for a start and for the check of a configuration.

use std::{io, net::SocketAddr};

use tokio::net::TcpSocket;

/// A socket with that address, which does not listen yet.
pub(crate) fn bound_socket(address: SocketAddr) -> io::Result<TcpSocket> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    // As `TcpListener::bind` does on Unix, so that a restarted server gets its port at once.
    #[cfg(unix)]
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    Ok(socket)
}
