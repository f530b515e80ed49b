//! Judges how long queries to a tier in this process take, for its breaker. Such a query blocks its thread, so that one which
//! takes longer than generating is a failure of the tier. The time in which the thread waited for a core is none: on a
//! machine whose cores are busy everything takes longer.

use std::{
    fs,
    sync::atomic::{AtomicU32, Ordering::Relaxed},
    time::Duration,
};

/// For so many queries after a slow one the time that the thread waits for a core is measured, which takes some
/// microseconds.
const SUSPICIOUS: u32 = 100;

/// What is known of the queries to one tier.
#[derive(Debug, Default)]
pub(crate) struct LocalQueries {
    /// The next queries for which the wait for a core is measured.
    suspicious: AtomicU32,
}

/// How long the thread of a query had waited for a core before it; `None` if it is not measured.
#[derive(Debug, Clone, Copy)]
pub(super) struct WaitedBefore(Option<Duration>);

impl LocalQueries {
    /// Before a query on this thread.
    pub(super) fn begin(&self) -> WaitedBefore {
        let is_suspicious = self.suspicious.load(Relaxed) > 0;
        WaitedBefore(is_suspicious.then(waited_for_core).flatten())
    }

    /// How much of the time `took` a query on this thread did not wait for a core. `None` if it took longer than `limit` and
    /// the wait was not measured: that of the next queries will be.
    pub(super) fn end(&self, before: WaitedBefore, took: Duration, limit: Duration) -> Option<Duration> {
        if took <= limit {
            let _ = self.suspicious.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1));
            return Some(took);
        }
        self.suspicious.store(SUSPICIOUS, Relaxed);
        match (before.0, waited_for_core()) {
            (Some(before), Some(after)) => Some(took.saturating_sub(after.saturating_sub(before))),
            (None, Some(_)) => None,
            // The system does not tell.
            (_, None) => Some(took),
        }
    }
}

/// How long this thread has waited for a core since it began, although it had work; `None` if the system does not tell.
fn waited_for_core() -> Option<Duration> {
    // The time on a core, the time of waiting for one, and the number of times that it got one.
    let times = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    times.split(' ').nth(1)?.parse().ok().map(Duration::from_nanos)
}
