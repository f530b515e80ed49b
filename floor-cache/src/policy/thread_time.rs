//! Whether the queries of a local tier keep threads for longer than generating would: a store that is larger than memory,
//! on a slow disk.
//!
//! The caller's thread waits in such a query, and with it every call of its connections. They also wait for generated
//! values, which the same threads receive, so the measured response time of generation contains the waits in the tier.
//! A comparison of response times would therefore justify a tier that blocks. This one compares what neither waits nor
//! queues change: the time that threads spend in queries, and the time that workers would take for the same values.

use std::time::{Duration, Instant};

/// The time that threads spend in the queries of a local tier, and whether callers' threads may ask it.
#[derive(Debug)]
pub(super) struct ThreadTime {
    /// Sums over recent queries: the seconds that they took and were allowed to take, their number, and that of their keys.
    spent: f64,
    allowed: f64,
    queries: f64,
    keys: f64,
    /// When the last query began.
    begun: Option<Instant>,
    /// When the tier was admitted again.
    admitted: Option<Instant>,
    /// While callers' threads may not ask: when the next recheck may start.
    next_recheck: Option<Instant>,
    /// The least time from an exclusion to the first recheck.
    hold: Duration,
}

/// Whether callers' threads may ask a local tier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    Admitted,
    Excluded,
    /// Excluded, and keys are wanted for a recheck on a thread that may block.
    RecheckDue,
}

/// The time that queries may take, relative to the run time of the generation that they save. It is more than 1 because a
/// thread that waits leaves its core to others, while generating also takes CPU time before and after the run.
const ALLOWANCE: f64 = 2.0;

/// A recheck admits the tier again if it takes less than this part of what is allowed: less than generating. The gap
/// prevents flicker.
const PASS: f64 = 0.5;

/// The memory of the sums: so many seconds, and at least so many queries.
const MEMORY: f64 = 1.0;
const MEMORY_QUERIES: f64 = 32.0;

/// Queries needed to exclude the tier.
const MIN_QUERIES: f64 = 16.0;

/// A query counts as at most this part of what is allowed to all recent ones, so that no single stall excludes a tier: the
/// thread or the machine may have been suspended.
const MAX_PART: f64 = 0.25;

/// Bounds of the hold. It doubles if the tier is excluded soon after it was admitted.
const MIN_HOLD: Duration = Duration::from_millis(500);
const MAX_HOLD: Duration = Duration::from_secs(16);

/// An exclusion is soon if it follows the admission within so many holds.
const SOON: u32 = 10;

/// The pause after a recheck that failed, relative to its duration: rechecks take a tenth of the time of a disk at most.
const RECHECK_PAUSE: u32 = 10;

/// The longest pause. A disk that hung, or a machine that was suspended, during a recheck is asked again after it.
const MAX_PAUSE: Duration = Duration::from_secs(60);

impl ThreadTime {
    pub(super) const fn new() -> Self {
        let (spent, allowed, queries, keys) = (0.0, 0.0, 0.0, 0.0);
        Self { spent, allowed, queries, keys, begun: None, admitted: None, next_recheck: None, hold: MIN_HOLD }
    }

    /// The seconds that a query may take if it can save `work` seconds of generation.
    pub(super) fn allowance(work: f64) -> f64 {
        ALLOWANCE * work
    }

    pub(super) fn access(&self, now: Instant) -> Access {
        match self.next_recheck {
            None => Access::Admitted,
            Some(at) if now < at => Access::Excluded,
            Some(_) => Access::RecheckDue,
        }
    }

    /// Records the start of a query for `keys` keys on a caller's thread that may take `allowance` seconds. If that is
    /// unknown, it may take what recent queries may take for as many keys: its time counts too.
    pub(super) fn begin(&mut self, now: Instant, keys: usize, allowance: Option<f64>) {
        let keys = keys as f64;
        let usual = (self.keys > 0.0).then(|| self.allowed / self.keys * keys);
        let Some(allowance) = allowance.or(usual) else { return };
        let gap = self.begun.map_or(0.0, |begun| now.saturating_duration_since(begun).as_secs_f64());
        self.begun = Some(now);
        let kept = 1.0 - (gap / MEMORY).min(1.0 / MEMORY_QUERIES);
        self.spent *= kept;
        self.allowed = self.allowed * kept + allowance;
        self.queries = self.queries * kept + 1.0;
        self.keys = self.keys * kept + keys;
    }

    /// Records that a query on a caller's thread took `seconds`. Excludes the tier if the recent ones took too long.
    pub(super) fn end(&mut self, now: Instant, seconds: f64) {
        self.spent += seconds.min(MAX_PART * self.allowed);
        if self.next_recheck.is_none() && self.queries >= MIN_QUERIES && self.spent > self.allowed {
            let is_soon = self.admitted.is_some_and(|at| now.saturating_duration_since(at) < SOON * self.hold);
            self.hold = if is_soon { (2 * self.hold).min(MAX_HOLD) } else { MIN_HOLD };
            self.next_recheck = Some(now + self.hold);
        }
    }

    /// Records the end of a recheck that took `took` and was allowed `allowed` seconds, 0 if it measured nothing. Admits the
    /// tier, or decides when the next recheck may start.
    pub(super) fn end_recheck(&mut self, now: Instant, took: Duration, allowed: f64) {
        if took.as_secs_f64() < PASS * allowed {
            *self = Self { admitted: Some(now), hold: self.hold, ..Self::new() };
        } else {
            let pause = took.saturating_mul(RECHECK_PAUSE).min(MAX_PAUSE);
            self.next_recheck = Some(now + self.hold.max(pause));
        }
    }
}
