//! The calls in flight: counted from their headers until their response is sent, so that a drain can wait for them.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use bevy::prelude::*;
use tokio::sync::Notify;

/// Admits calls, and refuses new ones once closed.
#[derive(Resource, Debug, Clone, Default)]
pub struct InFlight(Arc<InFlightState>);

#[derive(Debug, Default)]
struct InFlightState {
    closed: AtomicBool,
    /// The number of guards.
    guards: AtomicUsize,
    /// The guards that are clones of another. Calls are not counted themselves: a hit has one guard and no clone.
    clones: AtomicUsize,
    idle: Notify,
}

impl InFlight {
    /// Admits a call, which is in flight until its guards are dropped. `None` once closed.
    #[must_use]
    pub fn try_begin(&self) -> Option<InFlightGuard> {
        // Increment before reading `closed`, so that `idle` cannot miss a call that was admitted.
        let guard = InFlightGuard::new(&self.0, false);
        (!self.0.closed.load(Ordering::SeqCst)).then_some(guard)
    }

    /// The calls in flight. A unary call counts until its response is sent, a stream until its last floor is taken.
    #[must_use]
    pub fn calls(&self) -> usize {
        let clones = self.0.clones.load(Ordering::SeqCst);
        self.0.guards.load(Ordering::SeqCst).saturating_sub(clones)
    }

    /// Refuses further calls.
    pub fn close(&self) {
        self.0.closed.store(true, Ordering::SeqCst);
    }

    /// Waits until no call is in flight. Call [`close`](Self::close) first.
    pub async fn idle(&self) {
        loop {
            let idle = self.0.idle.notified();
            if self.0.guards.load(Ordering::SeqCst) == 0 {
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
    state: Arc<InFlightState>,
    is_clone: bool,
}

impl InFlightGuard {
    fn new(state: &Arc<InFlightState>, is_clone: bool) -> Self {
        state.guards.fetch_add(1, Ordering::SeqCst);
        if is_clone {
            state.clones.fetch_add(1, Ordering::SeqCst);
        }
        Self { state: Arc::clone(state), is_clone }
    }
}

impl Clone for InFlightGuard {
    fn clone(&self) -> Self {
        Self::new(&self.state, true)
    }
}

impl Drop for InFlightGuard {
    fn drop(&mut self) {
        if self.is_clone {
            self.state.clones.fetch_sub(1, Ordering::SeqCst);
        }
        if self.state.guards.fetch_sub(1, Ordering::SeqCst) == 1 && self.state.closed.load(Ordering::SeqCst) {
            self.state.idle.notify_waiters();
        }
    }
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
        drop(first);
        assert_eq!(in_flight.calls(), 1, "only the second is left, and a part of the first");
        drop((part, second));
        assert_eq!(in_flight.calls(), 0);
        in_flight.close();
        assert!(in_flight.try_begin().is_none());
        assert_eq!(in_flight.calls(), 0, "a refused call is not in flight");
    }
}
