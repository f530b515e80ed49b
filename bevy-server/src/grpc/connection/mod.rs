//! Connections: serving them, sending what they write in few system calls, and closing them when the server drains.

mod accept;
mod coalescing;
mod drain;
mod frame_budget;
mod http2;
mod tls;
mod transport;

pub(super) use accept::{ConnectionDeps, serve};
pub(super) use tls::Handshakes;
