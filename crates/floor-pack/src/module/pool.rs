//! The instances of all modules that wait for a floor to generate.

use std::{
    sync::{
        LazyLock, Mutex,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    thread,
};

use super::{guest::Instance, lock};

/// The instances of a module that wait for a call: one of its own, because a new one takes as long as several floors,
/// and those among the spare ones.
pub(super) struct Pool {
    id: u64,
    own: Mutex<Option<Instance>>,
}

/// Spare instances of all pools, each with the pool that it belongs to, those that waited longest first.
static SPARE: Mutex<Vec<(u64, Instance)>> = Mutex::new(Vec::new());

impl Pool {
    pub(super) fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self { id: NEXT.fetch_add(1, Relaxed), own: Mutex::new(None) }
    }

    pub(super) fn take(&self) -> Option<Instance> {
        let own = lock(&self.own).take();
        own.or_else(|| {
            let mut spare = lock(&SPARE);
            let place = spare.iter().rposition(|(pool, _)| *pool == self.id)?;
            Some(spare.remove(place).1)
        })
    }

    /// Keeps an instance. If there are as many spare ones as processors, the oldest is dropped.
    pub(super) fn put(&self, instance: Instance) {
        // Asking the system takes as long as a third of a floor.
        static MOST: LazyLock<usize> = LazyLock::new(|| thread::available_parallelism().map_or(1, usize::from));
        let mut own = lock(&self.own);
        let Some(kept) = own.replace(instance) else { return };
        drop(own);
        let mut spare = lock(&SPARE);
        let dropped = (spare.len() >= *MOST).then(|| spare.remove(0));
        spare.push((self.id, kept));
        drop(spare);
        drop(dropped);
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        let own = lock(&SPARE).extract_if(.., |(pool, _)| *pool == self.id).collect::<Vec<_>>();
        drop(own);
    }
}
