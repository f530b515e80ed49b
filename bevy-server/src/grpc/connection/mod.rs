//! Connections: accepting them, sending what they write in few system calls, and closing them when the server drains.

mod accept;
pub mod coalescing;
mod drain;

pub(super) use accept::serve;
pub use coalescing::PollBeforeSpawn;
