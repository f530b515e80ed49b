//! Removal that lasts: what is purged does not come back from a queue of writes, nor from a call that had just found it.

use std::time::Duration;

use futures_util::future::join_all;
use parking_lot::{RwLock, RwLockReadGuard};

use crate::{
    hash::Hashed,
    key::Key,
    links::Links,
    tier::{TierError, TierErrorKind},
};

/// Which purges there are and were. What a walk finds while there is one, it does not fill the tiers with.
#[derive(Debug, Default)]
pub(crate) struct Purges(RwLock<Log>);

#[derive(Debug, Default)]
struct Log {
    under_way: u32,
    /// Begun and ended, together.
    events: u64,
}

/// A moment in the log of the purges.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moment(u64);

/// Leave to fill tiers with what was found since a [`Moment`]. No purge begins while it is held.
pub(crate) struct Leave<'a>(#[expect(dead_code, reason = "held, not read")] RwLockReadGuard<'a, Log>);

impl Purges {
    pub(crate) fn now(&self) -> Moment {
        Moment(self.0.read().events)
    }

    /// `None` when a purge has begun or ended since `moment`, or is under way: of whichever keys, since purges are few and
    /// a value that is not kept can be found again.
    pub(crate) fn none_since(&self, moment: Moment) -> Option<Leave<'_>> {
        let log = self.0.read();
        (log.under_way == 0 && log.events == moment.0).then_some(Leave(log))
    }

    fn begin(&self) -> UnderWay<'_> {
        let mut log = self.0.write();
        log.under_way += 1;
        log.events += 1;
        UnderWay(self)
    }
}

/// A purge, until it is dropped.
struct UnderWay<'a>(&'a Purges);

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        let mut log = self.0.0.write();
        log.under_way -= 1;
        log.events += 1;
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

/// How long a removal waits before it gives up on one tier.
const DEADLINE: Duration = Duration::from_secs(5);

impl Links {
    /// Removes `keys` from every tier.
    ///
    /// From its beginning to its end no walk fills a tier with what it found, and one that was on its way at either does not
    /// do so after. So what a tier or its queue of writes holds is there before the removal, which stands behind it in the
    /// queue, and nothing comes after.
    pub(crate) async fn purge(&self, keys: &[Key]) -> Vec<Removal> {
        self.forget_all(keys);
        if self.lower.is_empty() {
            return Vec::new();
        }
        let _under_way = self.purges.begin();
        let results = self.remove_below(keys).await;
        // Nor is a call that comes after to be given what one had found before.
        keys.iter().for_each(|key| self.flights.leave_behind(&Hashed::new(key)));
        self.forget_all(keys);
        self.lower.iter().zip(results).map(|(link, result)| Removal { tier: link.name(), result }).collect()
    }

    pub(crate) fn forget_all(&self, keys: &[Key]) {
        keys.iter().for_each(|key| self.forget(&Hashed::new(key)));
    }

    async fn remove_below(&self, keys: &[Key]) -> Vec<Result<(), TierError>> {
        let late = |_| {
            let waited = format!("not done within {} s, and still to be", DEADLINE.as_secs());
            Err(TierError::new(TierErrorKind::Timeout, "remove", waited))
        };
        join_all(self.lower.iter().map(async |link| {
            let removal = link.writes.remove(keys.to_vec());
            tokio::time::timeout(DEADLINE, removal).await.unwrap_or_else(late)
        }))
        .await
    }
}
