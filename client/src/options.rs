//! What a caller may ask of every call.

use std::time::Duration;

/// In seconds. Clocks and what is sent to the server end somewhere; nobody waits as long as this.
const YEAR: u64 = 365 * 24 * 60 * 60;

/// Options of the calls made through one [`FloorClient`](crate::FloorClient) handle. The default asks for nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CallOptions {
    pub(crate) no_cache: bool,
    pub(crate) trace: bool,
    pub(crate) deadline: Option<Duration>,
    pub(crate) retries: usize,
}

impl CallOptions {
    /// Skips every tier's lookup: the floor is generated anew, and refreshes the chain.
    #[must_use]
    pub const fn no_cache(mut self, on: bool) -> Self {
        self.no_cache = on;
        self
    }

    /// Asks what each tier answered and cost: fills [`Served::trace`](crate::Served::trace) and
    /// [`Served::server_time`](crate::Served::server_time).
    #[must_use]
    pub const fn trace(mut self, on: bool) -> Self {
        self.trace = on;
        self
    }

    /// Gives the whole call this long: connecting, retries, the waits between them, and the answer to its last byte. For
    /// a stream that is until its last floor, the time that the reader takes over each included. More than a year is no
    /// deadline at all.
    #[must_use]
    pub const fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = if deadline.as_secs() > YEAR { None } else { Some(deadline) };
        self
    }

    /// Tries again, at most this many times, when the server is not there, is draining or has a full queue. Waits as
    /// long as the server says in `RetryInfo`, else 50 ms, doubling to 2 s at the most.
    #[must_use]
    pub const fn retries(mut self, times: usize) -> Self {
        self.retries = times;
        self
    }
}
