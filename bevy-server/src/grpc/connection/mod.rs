//! Connections: `serve` tells their story, from accepting them to closing them when the server drains.

mod coalescing;
mod frame_budget;
mod http2;
mod serve;
mod tls;
mod transport;

pub(super) use serve::{ConnectionDeps, serve};
pub(super) use tls::Handshakes;
