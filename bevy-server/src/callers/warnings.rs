//! At most one warning a second about callers, however many of them cause it.

use std::time::{Duration, Instant};

/// The least time between two warnings.
const INTERVAL: Duration = Duration::from_secs(1);

/// Decides whether a warning is logged, and counts those that are not.
#[derive(Debug, Default)]
pub(crate) struct WarningLimiter {
    last: Option<Instant>,
    suppressed: u64,
}

impl WarningLimiter {
    /// The number of warnings suppressed since the last logged one. `None`: the caller does not log this one.
    pub(crate) fn admit(&mut self) -> Option<u64> {
        let now = Instant::now();
        if self.last.is_some_and(|last| now.duration_since(last) < INTERVAL) {
            self.suppressed += 1;
            return None;
        }
        self.last = Some(now);
        Some(std::mem::take(&mut self.suppressed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_one_warning() {
        let mut limiter = WarningLimiter::default();
        assert_eq!(limiter.admit(), Some(0));
        assert!((0..100).all(|_| limiter.admit().is_none()));
        limiter.last = Instant::now().checked_sub(INTERVAL);
        assert_eq!(limiter.admit(), Some(100));
    }
}
