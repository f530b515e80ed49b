//! Purges: removals that no queued write and no concurrent lookup undoes.

use std::{mem, time::Duration};

use tokio::{runtime::Handle, time::Instant};
use tracing::warn;

use super::{fill_permit::ActivePurge, tier_stack::TierStack, write_behind::Completion};
use crate::{
    hash::Hashed,
    key::Key,
    single_flight::Flights,
    tier::{TierError, TierErrorKind},
};

/// The result of a removal in one tier.
#[derive(Debug)]
pub struct Removal {
    /// The tier.
    pub tier: &'static str,
    /// `Ok` if the tier removed every key.
    pub result: Result<(), TierError>,
}

/// How long a caller waits for the removals. They continue after it.
const DEADLINE: Duration = Duration::from_secs(5);

impl TierStack {
    /// Removes `keys` from every tier and returns the result of each lower tier.
    ///
    /// While the purge is active, no lookup fills a tier with a value it found, and neither does one that was running
    /// at its start or end. Everything in a tier or its queue is therefore older than the removal, which is queued
    /// behind it. The purge ends with its last removal, even if the caller has had its answer.
    pub(crate) async fn purge(&self, keys: &[Key]) -> Vec<Removal> {
        if self.lower.is_empty() {
            self.purge_memory(keys);
            return Vec::new();
        }
        let active = self.purges.begin();
        keys.iter().for_each(|key| self.remove_from_memory(&Hashed::new(key)));
        let removals = self.lower.iter().map(|lower| PendingRemoval {
            tier: lower.name(),
            work: lower.writes.remove(keys.to_vec()),
            is_done: false,
        });
        let mut purge = Purge {
            removals: removals.collect(),
            keys: keys.to_vec(),
            flights: self.flights.clone(),
            runtime: self.runtime.clone(),
            active: Some(active),
        };
        purge.wait(Instant::now() + DEADLINE).await
    }

    /// The purge of a chain without lower tiers. Neither waits nor allocates.
    pub(crate) fn purge_memory(&self, keys: &[Key]) {
        self.purges.run_sync(|| {
            for key in keys {
                let key = Hashed::new(key);
                self.flights.forget(&key);
                self.remove_from_memory(&key);
            }
        });
    }
}

/// A purge whose removals are queued in the lower tiers. It ends when all of them are done, even if the caller drops
/// it.
struct Purge {
    removals: Vec<PendingRemoval>,
    keys: Vec<Key>,
    flights: Flights,
    runtime: Handle,
    active: Option<ActivePurge>,
}

struct PendingRemoval {
    tier: &'static str,
    work: Completion,
    is_done: bool,
}

impl Purge {
    /// The result of each removal, or a timeout after `deadline`.
    async fn wait(&mut self, deadline: Instant) -> Vec<Removal> {
        let mut removed = Vec::with_capacity(self.removals.len());
        for pending in &mut self.removals {
            let result = tokio::time::timeout_at(deadline, &mut pending.work).await;
            pending.is_done = result.is_ok();
            let result = result.unwrap_or_else(|_| Err(timed_out()));
            removed.push(Removal { tier: pending.tier, result });
        }
        removed
    }
}

impl Drop for Purge {
    fn drop(&mut self) {
        let (keys, flights, active) = (mem::take(&mut self.keys), self.flights.clone(), self.active.take());
        // A later call must not get a value found before the purge.
        let end = move || {
            keys.iter().for_each(|key| flights.forget(&Hashed::new(key)));
            drop(active);
        };
        let late: Vec<PendingRemoval> = self.removals.drain(..).filter(|pending| !pending.is_done).collect();
        if late.is_empty() {
            return end();
        }
        self.runtime.spawn(async move {
            for PendingRemoval { tier, work, .. } in late {
                if let Err(error) = work.await {
                    warn!(tier, %error, "what was to be removed may still be there; purge it again");
                }
            }
            end();
        });
    }
}

fn timed_out() -> TierError {
    let waited = format!("not done within {} s; it continues behind the queued writes", DEADLINE.as_secs());
    TierError::new(TierErrorKind::Timeout, "remove", waited)
}
