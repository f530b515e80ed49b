//! Permits to fill tiers with found values. A lookup that a purge overlapped fills no tier.

use std::sync::{Arc, RwLockReadGuard};

use crate::sync::RwLock;

/// The state of all purges of a chain. A lookup fills tiers only if no purge ran during it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Purges(Arc<RwLock<State>>);

#[derive(Debug, Default)]
struct State {
    active: u32,
    /// Starts and ends of purges, counted together.
    events: u64,
}

/// The number of purge events at the start of a lookup.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PurgeEpoch(u64);

/// Permission to fill tiers with values found since a [`PurgeEpoch`]. No purge starts while it is held.
pub(crate) struct FillPermit<'a>(#[expect(dead_code, reason = "held, not read")] RwLockReadGuard<'a, State>);

impl Purges {
    pub(crate) fn epoch(&self) -> PurgeEpoch {
        PurgeEpoch(self.0.read().events)
    }

    /// A permit, or `None` if a purge of any key is active or has started or ended since `epoch`. Purges are rare, and
    /// a value that is not stored can be found again.
    pub(crate) fn fill_permit(&self, epoch: PurgeEpoch) -> Option<FillPermit<'_>> {
        let state = self.0.read();
        (state.active == 0 && state.events == epoch.0).then_some(FillPermit(state))
    }

    pub(super) fn begin(&self) -> ActivePurge {
        let mut state = self.0.write();
        state.active += 1;
        state.events += 1;
        ActivePurge(self.clone())
    }

    /// Runs `remove` as a purge under the write lock.
    pub(super) fn run_sync(&self, remove: impl FnOnce()) {
        let mut state = self.0.write();
        state.events += 1;
        remove();
    }
}

/// An active purge; it ends when this is dropped.
pub(super) struct ActivePurge(Purges);

impl Drop for ActivePurge {
    fn drop(&mut self) {
        let mut state = self.0.0.write();
        state.active -= 1;
        state.events += 1;
    }
}
