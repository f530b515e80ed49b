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
    idle: Notify,
}

impl InFlight {
    /// Admits a call, which is in flight until its guards are dropped. `None` once closed.
    #[must_use]
    pub fn try_begin(&self) -> Option<InFlightGuard> {
        // Increment before reading `closed`, so that `idle` cannot miss a call that was admitted.
        let guard = InFlightGuard::new(&self.0);
        (!self.0.closed.load(Ordering::SeqCst)).then_some(guard)
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
pub struct InFlightGuard(Arc<InFlightState>);

impl InFlightGuard {
    fn new(state: &Arc<InFlightState>) -> Self {
        state.guards.fetch_add(1, Ordering::SeqCst);
        Self(Arc::clone(state))
    }
}

impl Clone for InFlightGuard {
    fn clone(&self) -> Self {
        Self::new(&self.0)
    }
}

impl Drop for InFlightGuard {
    fn drop(&mut self) {
        if self.0.guards.fetch_sub(1, Ordering::SeqCst) == 1 && self.0.closed.load(Ordering::SeqCst) {
            self.0.idle.notify_waiters();
        }
    }
}
