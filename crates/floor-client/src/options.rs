//! The options of calls.

use std::time::Duration;

/// In seconds. Longer deadlines are ignored, since `Instant` and the `grpc-timeout` header could overflow.
const YEAR: u64 = 365 * 24 * 60 * 60;

/// Options of the calls made through one [`FloorClient`](crate::FloorClient) handle: by default a deadline of 10 s, four
/// retries, and nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallOptions {
    pub(crate) no_cache: bool,
    pub(crate) trace: bool,
    pub(crate) generator_version: Option<u32>,
    pub(crate) deadline: Option<Duration>,
    pub(crate) retries: usize,
}

impl Default for CallOptions {
    fn default() -> Self {
        Self {
            no_cache: false,
            trace: false,
            generator_version: None,
            deadline: Some(Self::DEFAULT_DEADLINE),
            retries: Self::DEFAULT_RETRIES,
        }
    }
}

impl CallOptions {
    /// The deadline of a call whose options have no other.
    pub const DEFAULT_DEADLINE: Duration = Duration::from_secs(10);
    /// The retries of a call whose options have no other number.
    pub const DEFAULT_RETRIES: usize = 4;

    /// Skips the lookup in every tier. The server generates the floor again and stores it in the tiers. By default, a
    /// server allows that to callers on its own machine only, and answers others with `PERMISSION_DENIED`.
    #[must_use]
    pub const fn no_cache(mut self, on: bool) -> Self {
        self.no_cache = on;
        self
    }

    /// Requests the result and time of each tier: fills [`Served::trace`](crate::Served::trace) and
    /// [`Served::server_time`](crate::Served::server_time).
    #[must_use]
    pub const fn trace(mut self, on: bool) -> Self {
        self.trace = on;
        self
    }

    /// Accepts floors of this generator version only. A server of another version answers with `FAILED_PRECONDITION`,
    /// and a balancer can route by the header `floor-generator-version`. For games whose towers must not change.
    #[must_use]
    pub const fn generator_version(mut self, version: u32) -> Self {
        self.generator_version = Some(version);
        self
    }

    /// Limits the time of the whole call: connecting, all attempts, the waits between them and the whole response. For a
    /// stream, limits the wait for its first floor, and then for each floor in each attempt; what the caller does between
    /// two floors does not count. More than a year means no deadline.
    #[must_use]
    pub const fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = if deadline.as_secs() > YEAR { None } else { Some(deadline) };
        self
    }

    /// Retries at most this many times if the call [may be repeated](crate::ClientError::is_transient). Waits as long as
    /// the server says in `RetryInfo`; otherwise a random time up to 100 ms, doubled after each attempt up to 2 s. An attempt
    /// that no server accepts does not count for 10 s: a server that restarts is awaited. A stream that breaks off is
    /// resumed after its last floor, with as many retries for each break. 0 switches all of this off.
    #[must_use]
    pub const fn retries(mut self, times: usize) -> Self {
        self.retries = times;
        self
    }
}
