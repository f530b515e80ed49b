//! The budgets of clients for HTTP/2 frames that cost work and lead to nothing, such as resets. A client has one for all
//! its connections, and reconnecting does not renew it.

use std::{
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::{Duration, Instant},
};

use floor_cache::ClientId;
use floor_http2::{FRAMES_AT_ONCE, FRAMES_PER_SECOND};

use super::Quotas;
use crate::config::Quota;

/// The budgets of all clients. Calls do not lock them while no client is beyond its budget.
#[derive(Debug)]
pub(super) struct FrameBudgets {
    started: Instant,
    quotas: Quotas,
    /// Until when a client is beyond its budget, in nanoseconds since the start. 0 if none is.
    beyond_until: AtomicU64,
}

impl FrameBudgets {
    pub(super) fn new() -> Self {
        let quota = Quota { cells_per_second: Some(FRAMES_PER_SECOND.into()), burst_cells: FRAMES_AT_ONCE.into() };
        Self { started: Instant::now(), quotas: Quotas::new(quota), beyond_until: AtomicU64::new(0) }
    }

    /// Takes a frame of `client`. False if it has none left.
    pub(super) fn take(&self, client: ClientId) -> bool {
        self.quotas.charge(client, 1).is_ok()
    }

    /// Charges `client` for a frame, also if it has none left.
    pub(super) fn charge(&self, client: ClientId) {
        if let Some(wait) = self.quotas.charge_beyond(client, 1) {
            self.beyond_until.fetch_max(self.now().saturating_add(nanoseconds(wait)), Relaxed);
        }
    }

    /// Whether any client may be beyond its budget.
    pub(super) fn may_be_exceeded(&self) -> bool {
        let until = self.beyond_until.load(Relaxed);
        if until == 0 {
            return false;
        }
        let is_over = self.now() > until;
        // Fails if another client is beyond its budget meanwhile.
        !is_over || self.beyond_until.compare_exchange(until, 0, Relaxed, Relaxed).is_err()
    }

    /// How long `client` is beyond its budget.
    pub(super) fn beyond(&self, client: ClientId) -> Option<Duration> {
        self.quotas.beyond(client)
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
        let (budgets, client) = (FrameBudgets::new(), ClientId(1));
        assert!((0..FRAMES_AT_ONCE).all(|_| budgets.take(client)));
        assert!(!budgets.may_be_exceeded());
        for _ in 0..FRAMES_AT_ONCE {
            budgets.charge(client);
        }
        assert!(budgets.may_be_exceeded() && budgets.beyond(client).is_some());
        assert!(!budgets.take(client) && budgets.beyond(ClientId(2)).is_none());
        budgets.beyond_until.store(1, Relaxed);
        assert!(!budgets.may_be_exceeded());
        assert_eq!(budgets.beyond_until.load(Relaxed), 0);
    }
}
