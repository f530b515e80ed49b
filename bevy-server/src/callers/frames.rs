//! The budgets of callers for HTTP/2 frames that cost work and lead to nothing, such as resets. A caller has one for all
//! its connections, and reconnecting does not renew it.

use std::{
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::{Duration, Instant},
};

use floor_cache::CallerId;
use floor_http2::{FRAMES_AT_ONCE, FRAMES_PER_SECOND};

use super::{Quotas, quota::Quota};

/// The budgets of all callers. Calls do not lock them while no caller is beyond its budget.
#[derive(Debug)]
pub(super) struct FrameBudgets {
    started: Instant,
    quotas: Quotas,
    /// Until when a caller is beyond its budget, in nanoseconds since the start. 0 if none is.
    beyond_until: AtomicU64,
}

impl FrameBudgets {
    pub(super) fn new() -> Self {
        let quota = Quota { cells_per_second: Some(FRAMES_PER_SECOND.into()), burst_cells: FRAMES_AT_ONCE.into() };
        Self { started: Instant::now(), quotas: Quotas::new(quota), beyond_until: AtomicU64::new(0) }
    }

    /// Takes a frame of `caller`. False if it has none left.
    pub(super) fn take(&self, caller: CallerId) -> bool {
        self.quotas.charge(caller, 1).is_ok()
    }

    /// Charges `caller` for a frame, also if it has none left.
    pub(super) fn charge(&self, caller: CallerId) {
        if let Some(wait) = self.quotas.charge_beyond(caller, 1) {
            self.beyond_until.fetch_max(self.now().saturating_add(nanoseconds(wait)), Relaxed);
        }
    }

    /// Whether any caller may be beyond its budget.
    pub(super) fn may_be_exceeded(&self) -> bool {
        let until = self.beyond_until.load(Relaxed);
        if until == 0 {
            return false;
        }
        let is_over = self.now() > until;
        // Fails if another caller is beyond its budget meanwhile.
        !is_over || self.beyond_until.compare_exchange(until, 0, Relaxed, Relaxed).is_err()
    }

    /// How long `caller` is beyond its budget.
    pub(super) fn beyond(&self, caller: CallerId) -> Option<Duration> {
        self.quotas.beyond(caller)
    }

    fn now(&self) -> u64 {
        nanoseconds(self.started.elapsed())
    }
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_beyond_its_budget_is_known_until_it_has_paid() {
        let (budgets, caller) = (FrameBudgets::new(), CallerId(1));
        assert!((0..FRAMES_AT_ONCE).all(|_| budgets.take(caller)));
        assert!(!budgets.may_be_exceeded());
        for _ in 0..FRAMES_AT_ONCE {
            budgets.charge(caller);
        }
        assert!(budgets.may_be_exceeded() && budgets.beyond(caller).is_some());
        assert!(!budgets.take(caller) && budgets.beyond(CallerId(2)).is_none());
        budgets.beyond_until.store(1, Relaxed);
        assert!(!budgets.may_be_exceeded());
        assert_eq!(budgets.beyond_until.load(Relaxed), 0);
    }
}
