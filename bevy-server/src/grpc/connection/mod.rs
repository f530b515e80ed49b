//! Connections: serving them, sending what they write in few system calls, and closing them when the server drains.

mod accept;
mod coalescing;
mod drain;
mod http2;

pub(super) use accept::{ConnectionDeps, serve};
