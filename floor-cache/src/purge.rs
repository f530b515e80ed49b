//! Removal that lasts: what is purged does not come back from a queue of writes, nor from a call that had just found it.

use std::{mem, sync::Arc, time::Duration};

use parking_lot::{RwLock, RwLockReadGuard};
use tokio::{runtime::Handle, time::Instant};
use tracing::warn;

use crate::{
    flight::Flights,
    hash::Hashed,
    key::Key,
    links::Links,
    tier::{TierError, TierErrorKind},
    write_behind::Carried,
};

/// Which purges there are and were. What a walk finds while there is one, it does not fill the tiers with.
#[derive(Debug, Clone, Default)]
pub(crate) struct Purges(Arc<RwLock<Log>>);

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

    fn begin(&self) -> UnderWay {
        let mut log = self.0.write();
        log.under_way += 1;
        log.events += 1;
        UnderWay(self.clone())
    }

    /// A purge that is over before anything else can begin.
    fn at_once(&self, remove: impl FnOnce()) {
        let mut log = self.0.write();
        log.events += 1;
        remove();
    }
}

/// A purge, until it is dropped.
struct UnderWay(Purges);

impl Drop for UnderWay {
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

/// How long a caller waits for removals. They go on after.
const DEADLINE: Duration = Duration::from_secs(5);

impl Links {
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
        let under_way = self.purges.begin();
        self.forget_all(keys);
        let removals = self.lower.iter().map(|link| Removing {
            tier: link.name(),
            work: link.writes.remove(keys.to_vec()),
            is_over: false,
        });
        let mut purge = Purge {
            removals: removals.collect(),
            keys: keys.to_vec(),
            flights: self.flights.clone(),
            runtime: self.runtime.clone(),
            under_way: Some(under_way),
        };
        purge.removed(Instant::now() + DEADLINE).await
    }

    /// The same where memory is all there is: nothing is waited for, and nothing allocated.
    pub(crate) fn purge_memory(&self, keys: &[Key]) {
        self.purges.at_once(|| {
            for key in keys {
                let key = Hashed::new(key);
                self.flights.leave_behind(&key);
                self.forget(&key);
            }
        });
    }

    fn forget_all(&self, keys: &[Key]) {
        keys.iter().for_each(|key| self.forget(&Hashed::new(key)));
    }
}

/// A purge of which the tiers below memory have their orders. However its caller leaves, it ends when they were carried out.
struct Purge {
    removals: Vec<Removing>,
    keys: Vec<Key>,
    flights: Flights,
    runtime: Handle,
    under_way: Option<UnderWay>,
}

struct Removing {
    tier: &'static str,
    work: Carried,
    is_over: bool,
}

impl Purge {
    /// What became of each removal until `deadline`.
    async fn removed(&mut self, deadline: Instant) -> Vec<Removal> {
        let mut removed = Vec::with_capacity(self.removals.len());
        for removing in &mut self.removals {
            let result = tokio::time::timeout_at(deadline, &mut removing.work).await;
            removing.is_over = result.is_ok();
            let result = result.unwrap_or_else(|_| Err(late()));
            removed.push(Removal { tier: removing.tier, result });
        }
        removed
    }
}

impl Drop for Purge {
    fn drop(&mut self) {
        let (keys, flights, under_way) = (mem::take(&mut self.keys), self.flights.clone(), self.under_way.take());
        // A call that comes after is not to be given what one had found before.
        let end = move || {
            keys.iter().for_each(|key| flights.leave_behind(&Hashed::new(key)));
            drop(under_way);
        };
        let late: Vec<Removing> = self.removals.drain(..).filter(|removing| !removing.is_over).collect();
        if late.is_empty() {
            return end();
        }
        self.runtime.spawn(async move {
            for Removing { tier, work, .. } in late {
                if let Err(error) = work.await {
                    warn!(tier, %error, "what was to be removed may still be there; purge it again");
                }
            }
            end();
        });
    }
}

fn late() -> TierError {
    let waited = format!("not done within {} s; it goes on behind the writes that wait", DEADLINE.as_secs());
    TierError::new(TierErrorKind::Timeout, "remove", waited)
}
