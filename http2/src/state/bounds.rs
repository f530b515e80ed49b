//! Flow-control windows, and the budget for frames that lead to nothing.

use std::time::Instant;

use crate::error::{ConnectionError, Reason};

/// Frames without effect and resets that a client may send at once.
pub(super) const FRAME_BUDGET: u32 = 2000;
/// As [`FRAME_BUDGET`], for each second.
const BUDGET_PER_SECOND: f64 = 1000.0;

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

/// The frames of a client that cost work and lead to nothing. Limited, or a client could keep a core busy with them.
#[derive(Debug)]
pub(super) struct FrameBudget {
    left: u32,
    refilled_at: Instant,
}

impl FrameBudget {
    pub(super) fn new() -> Self {
        Self { left: FRAME_BUDGET, refilled_at: Instant::now() }
    }

    pub(super) fn take(&mut self) -> Result<(), ConnectionError> {
        if self.left == 0 {
            let now = Instant::now();
            let earned = now.duration_since(self.refilled_at).as_secs_f64() * BUDGET_PER_SECOND;
            self.left = earned.min(f64::from(FRAME_BUDGET)) as u32;
            self.refilled_at = now;
        }
        self.left = self
            .left
            .checked_sub(1)
            .ok_or(ConnectionError::new(Reason::EnhanceYourCalm, "too many resets, or frames without effect"))?;
        Ok(())
    }
}
