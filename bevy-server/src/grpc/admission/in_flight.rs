//! The calls of the floor service that are in flight, so that a drain can wait for them. Each core counts in a part of its
//! own: one count that all cores write would cost each of them more than all other counting.

use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
};

use bevy::prelude::*;
use tokio::sync::{Notify, watch};

/// Admits calls, and refuses new ones once closed. Cheap to clone.
#[derive(Resource, Debug, Clone)]
pub struct InFlight(Arc<InFlightPart>);

/// The part of a core.
#[derive(Debug)]
struct InFlightPart {
    counts: Arc<GuardCounts>,
    all: Arc<InFlightState>,
}

#[derive(Debug, Default)]
struct InFlightState {
    closed: AtomicBool,
    parts: Mutex<Vec<Arc<GuardCounts>>>,
    idle: Notify,
    /// Whether calls are cut off.
    cut_off: watch::Sender<bool>,
}

/// On cache lines of its own (two, since processors fetch pairs).
#[derive(Debug, Default)]
#[repr(align(128))]
struct GuardCounts {
    guards: AtomicUsize,
    /// The guards that are clones of another. Calls are not counted themselves: a hit has one guard and no clone.
    clones: AtomicUsize,
}

impl Default for InFlight {
    fn default() -> Self {
        Self::part_of(Arc::default())
    }
}

impl InFlight {
    fn part_of(all: Arc<InFlightState>) -> Self {
        let counts = Arc::<GuardCounts>::default();
        lock(&all.parts).push(Arc::clone(&counts));
        Self(Arc::new(InFlightPart { counts, all }))
    }

    /// The same, with a part of its own for another core.
    #[must_use]
    pub(crate) fn for_core(&self) -> Self {
        Self::part_of(Arc::clone(&self.0.all))
    }

    /// Admits a call, which is in flight until its guards are dropped. `None` once closed.
    #[must_use]
    pub fn try_begin(&self) -> Option<InFlightGuard> {
        // Increment before reading `closed`, so that `idle` cannot miss a call that was admitted.
        let guard = InFlightGuard::new(&self.0, false);
        (!self.0.all.closed.load(SeqCst)).then_some(guard)
    }

    /// The calls in flight. A unary call counts until its response is sent, a stream until its last floor is taken.
    #[must_use]
    pub fn calls(&self) -> usize {
        let parts = lock(&self.0.all.parts);
        let counts = parts.iter().map(|part| (part.clones.load(SeqCst), part.guards.load(SeqCst)));
        counts.map(|(clones, guards)| guards.saturating_sub(clones)).sum()
    }

    /// Refuses further calls.
    pub fn close(&self) {
        self.0.all.closed.store(true, SeqCst);
    }

    /// Cuts off the calls that are still in flight: streams end with `UNAVAILABLE` before their next floor, and responses
    /// that their callers do not take are reset.
    pub fn cut_off(&self) {
        self.0.all.cut_off.send_replace(true);
    }

    /// Whether calls are cut off.
    #[must_use]
    pub fn is_cut_off(&self) -> bool {
        *self.0.all.cut_off.borrow()
    }

    /// Waits until calls are cut off.
    pub async fn until_cut_off(&self) {
        // Fails only without a sender, and this is one.
        let _ = self.0.all.cut_off.subscribe().wait_for(|cut_off| *cut_off).await;
    }

    /// Waits until no call is in flight. Call [`close`](Self::close) first.
    pub async fn idle(&self) {
        loop {
            let idle = self.0.all.idle.notified();
            if lock(&self.0.all.parts).iter().all(|part| part.guards.load(SeqCst) == 0) {
                return;
            }
            idle.await;
        }
    }
}

/// Keeps a call in flight until it and its clones are dropped. Each part of a response that the transport may still
/// have to send holds a clone.
#[derive(Debug)]
pub struct InFlightGuard {
    part: Arc<InFlightPart>,
    is_clone: bool,
}

impl InFlightGuard {
    fn new(part: &Arc<InFlightPart>, is_clone: bool) -> Self {
        part.counts.guards.fetch_add(1, SeqCst);
        if is_clone {
            part.counts.clones.fetch_add(1, SeqCst);
        }
        Self { part: Arc::clone(part), is_clone }
    }
}

impl Clone for InFlightGuard {
    fn clone(&self) -> Self {
        Self::new(&self.part, true)
    }
}

impl Drop for InFlightGuard {
    fn drop(&mut self) {
        let InFlightPart { counts, all } = &*self.part;
        if self.is_clone {
            counts.clones.fetch_sub(1, SeqCst);
        }
        if counts.guards.fetch_sub(1, SeqCst) == 1 && all.closed.load(SeqCst) {
            all.idle.notify_waiters();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_counts_once_however_many_parts_of_its_response_hold_it() {
        let in_flight = InFlight::default();
        let first = in_flight.try_begin().unwrap();
        let second = in_flight.try_begin().unwrap();
        let part = first.clone();
        assert_eq!(in_flight.calls(), 2);
        let other_core = in_flight.for_core();
        let third = other_core.try_begin().unwrap();
        assert_eq!((in_flight.calls(), other_core.calls()), (3, 3));
        drop(third);
        drop(first);
        assert_eq!(in_flight.calls(), 1, "only the second is left, and a part of the first");
        drop((part, second));
        assert_eq!(in_flight.calls(), 0);
        in_flight.close();
        assert!(in_flight.try_begin().is_none());
        assert_eq!(in_flight.calls(), 0, "a refused call is not in flight");
    }
}
