//! Removal that lasts: what is purged does not come back from a queue of writes, nor from a call that had just found it.

use std::{mem, sync::Arc, time::Duration};

use parking_lot::{RwLock, RwLockReadGuard};
use tokio::{runtime::Handle, time::Instant};
use tracing::warn;

use crate::{
    chain_inner::ChainInner,
    flight::Flights,
    hash::Hashed,
    key::Key,
    tier::{TierError, TierErrorKind},
    write_behind::Completion,
};

/// Which purges there are and were. What a walk finds while there is one, it does not fill the tiers with.
#[derive(Debug, Clone, Default)]
pub(crate) struct Purges(Arc<RwLock<State>>);

#[derive(Debug, Default)]
struct State {
    active: u32,
    /// Begun and ended, together.
    events: u64,
}

/// A moment in the log of the purges.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PurgeEpoch(u64);

/// Leave to fill tiers with what was found since a [`PurgeEpoch`]. No purge begins while it is held.
pub(crate) struct FillPermit<'a>(#[expect(dead_code, reason = "held, not read")] RwLockReadGuard<'a, State>);

impl Purges {
    pub(crate) fn epoch(&self) -> PurgeEpoch {
        PurgeEpoch(self.0.read().events)
    }

    /// `None` when a purge has begun or ended since `epoch`, or is under way: of whichever keys, since purges are few and
    /// a value that is not kept can be found again.
    pub(crate) fn fill_permit(&self, epoch: PurgeEpoch) -> Option<FillPermit<'_>> {
        let state = self.0.read();
        (state.active == 0 && state.events == epoch.0).then_some(FillPermit(state))
    }

    fn begin(&self) -> ActivePurge {
        let mut state = self.0.write();
        state.active += 1;
        state.events += 1;
        ActivePurge(self.clone())
    }

    /// A purge that is over before anything else can begin.
    fn run_sync(&self, remove: impl FnOnce()) {
        let mut state = self.0.write();
        state.events += 1;
        remove();
    }
}

/// A purge, until it is dropped.
struct ActivePurge(Purges);

impl Drop for ActivePurge {
    fn drop(&mut self) {
        let mut state = self.0.0.write();
        state.active -= 1;
        state.events += 1;
    }
}

/// What became of a removal in one tier.
#[derive(Debug)]
pub struct Removal {
    /// The tier.
    pub tier: &'static str,
    /// Whether everything that was to go is gone.
    pub result: Result<(), TierError>,
}

/// How long a caller waits for removals. They go on after.
const DEADLINE: Duration = Duration::from_secs(5);

impl ChainInner {
    /// Removes `keys` from every tier.
    ///
    /// From its beginning to its end no walk fills a tier with what it found, and one that was on its way at either does not
    /// do so after. So what a tier or its queue of writes holds is there before the removal, which stands behind it in the
    /// queue, and nothing comes after. The end is that of the last removal, even when the caller has long had its answer.
    pub(crate) async fn purge(&self, keys: &[Key]) -> Vec<Removal> {
        if self.lower.is_empty() {
            self.purge_memory(keys);
            return Vec::new();
        }
        let active = self.purges.begin();
        self.remove_all_from_memory(keys);
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

    /// The same where memory is all there is: nothing is waited for, and nothing allocated.
    pub(crate) fn purge_memory(&self, keys: &[Key]) {
        self.purges.run_sync(|| {
            for key in keys {
                let key = Hashed::new(key);
                self.flights.forget(&key);
                self.remove_from_memory(&key);
            }
        });
    }

    fn remove_all_from_memory(&self, keys: &[Key]) {
        keys.iter().for_each(|key| self.remove_from_memory(&Hashed::new(key)));
    }
}

/// A purge of which the tiers below memory have their orders. However its caller leaves, it ends when they were carried out.
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
    /// What became of each removal until `deadline`.
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
        // A call that comes after is not to be given what one had found before.
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
    let waited = format!("not done within {} s; it goes on behind the writes that wait", DEADLINE.as_secs());
    TierError::new(TierErrorKind::Timeout, "remove", waited)
}
