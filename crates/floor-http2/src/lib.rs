//! The server's side of HTTP/2 (RFC 9113), for answers that are mostly ready at once. The gRPC port uses it.
//!
//! A connection parses everything that has arrived, gives all requests to its caller, and sends all that was written
//! meanwhile in one system call. A caller that answers at once does so on the task of the connection. Others answer
//! from tasks of their own. Each connection limits what its client can make it hold or do: its streams, windows, headers,
//! output, and the frames that lead to nothing.
//!
//! Decision 109 of the floor server (docs/decisions/0109-own-http2.md) says why this is not the `h2` crate.

mod error;
mod frame;
mod head;
mod hpack;
mod server;
mod state;

use std::{io, task::Context};

use tokio::io::AsyncRead;

pub use error::{ConnectionError, Reason, StreamEnded};
pub use server::{Accepted, Connection, RequestBody, Responder};
pub use state::bounds::{FRAMES_AT_ONCE, FRAMES_PER_SECOND, FrameBudget};

/// What a client sends first (RFC 9113, section 3.4).
pub const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// The limits of a connection.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Calls in flight.
    pub max_streams: u32,
    /// Bytes of a request's head: its fields with 32 bytes for each, as RFC 9113 counts them.
    pub max_header_bytes: u32,
    /// Bytes of one request that the caller has not read.
    pub stream_window: u32,
    /// Bytes of all requests that the caller has not read.
    pub connection_window: u32,
}

/// What carries a connection.
pub trait Transport: AsyncRead + Unpin {
    /// Takes all of `output`, leaves it empty, and sends what it can. Returns how many bytes it takes at the next call
    /// without holding more than it should; if it returns 0, wakes the task when it has sent some.
    ///
    /// # Errors
    /// Of the socket.
    fn poll_send(&mut self, cx: &mut Context<'_>, output: &mut Vec<u8>) -> io::Result<usize>;
}
