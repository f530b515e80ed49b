//! The calls in flight: counted from their headers until their response is sent, so that a drain can wait for them.

use std::{
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Instant,
};

use bevy::prelude::*;
use tokio::{sync::Notify, task::AbortHandle};

/// Admits calls, and refuses new ones once closed.
#[derive(Resource, Debug, Clone, Default)]
pub struct InFlight(Arc<InFlightState>);

#[derive(Debug, Default)]
struct InFlightState {
    closed: AtomicBool,
    /// The number of guards that are neither dropped nor released.
    guards: AtomicUsize,
    idle: Notify,
}

impl InFlight {
    /// Admits a call, which is in flight until its guards are dropped. `None` once closed.
    #[must_use]
    pub fn try_begin(&self) -> Option<InFlightGuard> {
        // Increment before reading `closed`, so that `idle` cannot miss a call that was admitted.
        let guard = InFlightGuard(GuardKind::Counted(Counted::new(&self.0)));
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
#[derive(Debug, Clone)]
#[allow(dead_code, reason = "a guard is only held")]
pub struct InFlightGuard(GuardKind);

#[derive(Debug, Clone)]
#[allow(dead_code, reason = "a guard is only held")]
enum GuardKind {
    Counted(Counted),
    /// All clones share one count, which ends at the deadline.
    UntilDeadline(Arc<UntilDeadline>),
}

impl InFlightGuard {
    /// A guard that, with all its clones, is released at `deadline`, even if the transport still has parts of the
    /// response. Calls `on_deadline` before, unless all clones are dropped earlier. Needs a tokio runtime.
    #[must_use]
    pub fn release_at(self, deadline: Instant, on_deadline: impl FnOnce() + Send + 'static) -> Self {
        let shared = Arc::new(UntilDeadline { guard: Mutex::new(Some(self)), timer: OnceLock::new() });
        let weak = Arc::downgrade(&shared);
        let timer = tokio::spawn(async move {
            tokio::time::sleep_until(deadline.into()).await;
            on_deadline();
            if let Some(shared) = weak.upgrade() {
                *shared.guard.lock().unwrap_or_else(PoisonError::into_inner) = None;
            }
        });
        let _ = shared.timer.set(timer.abort_handle());
        Self(GuardKind::UntilDeadline(shared))
    }
}

#[derive(Debug)]
struct UntilDeadline {
    /// `None` after the deadline.
    guard: Mutex<Option<InFlightGuard>>,
    timer: OnceLock<AbortHandle>,
}

impl Drop for UntilDeadline {
    fn drop(&mut self) {
        if let Some(timer) = self.timer.get() {
            timer.abort();
        }
    }
}

/// One guard in the count.
#[derive(Debug)]
struct Counted(Arc<InFlightState>);

impl Counted {
    fn new(state: &Arc<InFlightState>) -> Self {
        state.guards.fetch_add(1, Ordering::SeqCst);
        Self(Arc::clone(state))
    }
}

impl Clone for Counted {
    fn clone(&self) -> Self {
        Self::new(&self.0)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        if self.0.guards.fetch_sub(1, Ordering::SeqCst) == 1 && self.0.closed.load(Ordering::SeqCst) {
            self.0.idle.notify_waiters();
        }
    }
}
