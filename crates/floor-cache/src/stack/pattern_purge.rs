//! Purges of every key that matches a pattern. They remove in batches, so that lookups and writes go on between them.

use std::time::Duration;

use futures_util::{
    FutureExt,
    future::{BoxFuture, join_all},
};
use tokio::{task::yield_now, time::Instant};

use super::{fill_permit::ActivePurge, tier_stack::TierStack};
use crate::{
    key::KeyPattern,
    single_flight::Flights,
    tier::{RemovedBatch, ScanPosition, TierError, TierErrorKind},
};

/// The result of a removal by pattern in one tier.
#[derive(Debug)]
pub struct PatternRemoval {
    /// The tier.
    pub tier: &'static str,
    /// Entries that were removed, also if the tier failed later.
    pub removed: u64,
    /// `Ok` if the tier has looked through all of its entries.
    pub result: Result<(), TierError>,
}

/// How long the removals of a purge may take.
const DEADLINE: Duration = Duration::from_secs(600);

/// How often a batch that failed is tried again, and when: after the first pause of a breaker.
const RETRIES: u32 = 2;
const PAUSE: Duration = Duration::from_secs(1);

impl TierStack {
    /// Removes every key that matches `pattern` from every tier and returns the result of each, in lookup order.
    ///
    /// As in [`purge`](Self::purge), no lookup fills a tier with a value it found while the purge is active.
    pub(crate) async fn purge_matching(&self, pattern: KeyPattern) -> Vec<PatternRemoval> {
        let _purge = PatternPurge { flights: self.flights.clone(), pattern, _active: self.purges.begin() };
        let deadline = Instant::now() + DEADLINE;
        let mut removals = Vec::new();
        for tier in &self.memory {
            let batch = |from: Option<ScanPosition>| {
                let tier = tier.clone();
                async move { tier.remove_matching(&pattern, from.as_ref()).await }.boxed()
            };
            removals.push(in_batches(tier.name(), deadline, batch).await);
        }
        let lower = self
            .lower
            .iter()
            .map(|lower| in_batches(lower.name(), deadline, move |from| lower.writes.remove_matching(pattern, from)));
        removals.extend(join_all(lower).await);
        removals
    }
}

/// An active purge. When it ends, a later call must not get a value found before it.
struct PatternPurge {
    flights: Flights,
    pattern: KeyPattern,
    /// Dropped after the flights are forgotten.
    _active: ActivePurge,
}

impl Drop for PatternPurge {
    fn drop(&mut self) {
        self.flights.forget_matching(&self.pattern);
    }
}

/// Removes batch after batch until the last, an error that persists, or `deadline`.
async fn in_batches<'a>(
    tier: &'static str,
    deadline: Instant,
    batch: impl Fn(Option<ScanPosition>) -> BoxFuture<'a, Result<RemovedBatch, TierError>>,
) -> PatternRemoval {
    let (mut removed, mut from, mut failures) = (0, None, 0);
    let result = loop {
        match tokio::time::timeout_at(deadline, batch(from.clone())).await {
            Err(_elapsed) => break Err(stopped()),
            Ok(Ok(RemovedBatch { entries, next })) => {
                removed += entries;
                failures = 0;
                match next {
                    None => break Ok(()),
                    Some(next) => from = Some(next),
                }
                yield_now().await;
            }
            Ok(Err(error)) if failures == RETRIES || error.kind() == TierErrorKind::Refused => break Err(error),
            Ok(Err(_)) => {
                failures += 1;
                tokio::time::sleep(PAUSE).await;
            }
        }
    };
    PatternRemoval { tier, removed, result }
}

fn stopped() -> TierError {
    let waited = format!("not done within {} s; purge again to go on", DEADLINE.as_secs());
    TierError::new(TierErrorKind::Timeout, "remove by pattern", waited)
}
