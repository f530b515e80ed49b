//! Connections: serving them, sending what they write in few system calls, and closing them when the server drains.

mod accept;
mod coalescing;
mod drain;
mod http2;
mod tls;
mod transport;

pub(super) use accept::{ConnectionDeps, serve};
pub use http2::{http2_limits, run_call};
pub(super) use tls::Handshakes;
