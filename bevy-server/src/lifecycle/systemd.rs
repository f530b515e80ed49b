//! Tells systemd when the server serves and when it drains, for units with `Type=notify`: the protocol of sd_notify(3).

use std::{
    env,
    ffi::OsStr,
    io,
    os::{
        linux::net::SocketAddrExt as _,
        unix::{
            ffi::OsStrExt as _,
            net::{SocketAddr, UnixDatagram},
        },
    },
};

/// Reports that calls are answered.
pub(super) fn report_serving() {
    report("READY=1");
}

/// Reports that the drain has begun.
pub(super) fn report_draining() {
    report("STOPPING=1");
}

/// Sends `state` to the socket in `NOTIFY_SOCKET`. Without that variable nothing waits for it.
fn report(state: &str) {
    let Some(socket) = env::var_os("NOTIFY_SOCKET") else { return };
    if let Err(error) = send(&socket, state) {
        tracing::warn!(state, socket = %socket.display(), %error, "systemd was not told the state of the server");
    }
}

fn send(socket: &OsStr, state: &str) -> io::Result<()> {
    let address = match socket.as_bytes() {
        // An address that is no file.
        [b'@', name @ ..] => SocketAddr::from_abstract_name(name)?,
        _ => SocketAddr::from_pathname(socket)?,
    };
    UnixDatagram::unbound()?.send_to_addr(state.as_bytes(), &address)?;
    Ok(())
}
