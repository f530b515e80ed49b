//! Flow-control windows, and the budget for frames that lead to nothing.

use std::{fmt, time::Instant};

use http::HeaderMap;

/// Frames without effect and resets that a client may send at once.
pub const FRAMES_AT_ONCE: u32 = 2000;
/// As [`FRAMES_AT_ONCE`], for each second.
pub const FRAMES_PER_SECOND: u32 = 1000;

/// What the client may send.
#[derive(Debug)]
pub(super) struct Window {
    size: u32,
    /// What it may send now.
    pub(super) open: i64,
    /// What was read and not given back.
    pub(super) read: u32,
}

impl Window {
    pub(super) const fn new(size: u32) -> Self {
        Self { size, open: size as i64, read: 0 }
    }

    /// Gives back `count` bytes. Returns the increment to tell the client, if it is time to.
    pub(super) fn give_back(&mut self, count: usize) -> Option<u32> {
        self.read += count as u32;
        if self.read < (self.size / 2).max(1) {
            return None;
        }
        self.open += i64::from(self.read);
        Some(std::mem::take(&mut self.read))
    }
}

/// The frames of a client that cost work and lead to nothing: resets, requests that must be reset, pings, settings,
/// empty frames. Limited, or a client could keep a core busy with them.
pub trait FrameBudget: fmt::Debug + Send {
    /// Takes one: of a request of `payer`, or of the connection if there is none. False if it is one too many; the
    /// connection then ends.
    fn take(&mut self, payer: Option<u64>) -> bool;

    /// Who pays for what is done to a request with these headers. `None`: the connection.
    fn payer(&self, headers: &HeaderMap) -> Option<u64> {
        let _ = headers;
        None
    }

    /// Whether a proxy sends calls of several clients over the connection. A reset of a stream that is not open then does
    /// not end it: HAProxy 2.6 sends one for a call that its client has given up before the call was sent.
    fn is_shared(&self) -> bool {
        false
    }
}

/// The budget of one connection.
#[derive(Debug)]
pub(crate) struct ConnectionBudget {
    left: u32,
    refilled_at: Instant,
}

impl ConnectionBudget {
    pub(crate) fn new() -> Self {
        Self { left: FRAMES_AT_ONCE, refilled_at: Instant::now() }
    }
}

impl FrameBudget for ConnectionBudget {
    fn take(&mut self, _: Option<u64>) -> bool {
        if self.left == 0 {
            let now = Instant::now();
            let earned = now.duration_since(self.refilled_at).as_secs_f64() * f64::from(FRAMES_PER_SECOND);
            self.left = earned.min(f64::from(FRAMES_AT_ONCE)) as u32;
            self.refilled_at = now;
        }
        let left = self.left.checked_sub(1);
        self.left = left.unwrap_or_default();
        left.is_some()
    }
}
