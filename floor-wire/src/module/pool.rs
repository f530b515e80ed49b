//! The instances of all modules that wait for a call.

use std::{
    sync::{
        LazyLock, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    thread,
};

use super::guest::Instance;

/// The instances of a module that wait for a call. All pools of the process share one bound.
pub(super) struct Pool(u64);

/// Instances, each with the pool that it belongs to, those that waited longest first.
static WAITING: Mutex<Vec<(u64, Instance)>> = Mutex::new(Vec::new());

impl Pool {
    pub(super) fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self(NEXT.fetch_add(1, Relaxed))
    }

    pub(super) fn take(&self) -> Option<Instance> {
        let mut waiting = waiting();
        let place = waiting.iter().rposition(|(pool, _)| *pool == self.0)?;
        Some(waiting.remove(place).1)
    }

    /// Keeps an instance. If as many wait as two modules of this machine use at once, the oldest is dropped.
    pub(super) fn put(&self, instance: Instance) {
        // Asking the system takes as long as a third of a floor.
        static MOST: LazyLock<usize> = LazyLock::new(|| 2 * thread::available_parallelism().map_or(1, usize::from));
        let mut waiting = waiting();
        let dropped = (waiting.len() >= *MOST).then(|| waiting.remove(0));
        waiting.push((self.0, instance));
        drop(waiting);
        drop(dropped);
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        waiting().retain(|(pool, _)| *pool != self.0);
    }
}

fn waiting() -> MutexGuard<'static, Vec<(u64, Instance)>> {
    WAITING.lock().unwrap_or_else(PoisonError::into_inner)
}
