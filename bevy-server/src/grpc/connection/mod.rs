//! Connections: accepting them within limits, sending what they write in few system calls, and closing them when the
//! server drains.

mod accept;
mod coalescing;
mod drain;
mod http2;
mod limits;

pub(super) use accept::{ConnectionDeps, serve};
pub(crate) use limits::ConnectionLimiter;
