//! Invalid stored values that readers found. The next write of the tier removes them.

use std::{collections::BTreeSet, mem};

use crate::{envelope::StoredKey, sync::Mutex};

/// The keys of values that the next write removes.
#[derive(Debug, Default)]
pub(super) struct PendingDeletes(Mutex<BTreeSet<StoredKey>>);

/// The most keys remembered. Others are found again at their next read.
const MOST: usize = 1024;

impl PendingDeletes {
    pub(super) fn add(&self, key: StoredKey) {
        let mut keys = self.0.lock();
        if keys.len() < MOST {
            keys.insert(key);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.lock().is_empty()
    }

    /// Takes all keys for removal. If the result is dropped without [`removed`](Taken::removed), the keys are pending
    /// again.
    pub(super) fn take(&self) -> Taken<'_> {
        Taken { from: self, keys: mem::take(&mut self.0.lock()) }
    }
}

/// Keys whose removal is in progress.
pub(super) struct Taken<'a> {
    from: &'a PendingDeletes,
    keys: BTreeSet<StoredKey>,
}

impl Taken<'_> {
    pub(super) fn keys(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        self.keys.iter().map(StoredKey::as_bytes)
    }

    /// The removal succeeded.
    pub(super) fn removed(mut self) {
        self.keys.clear();
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        if !self.keys.is_empty() {
            self.from.0.lock().append(&mut self.keys);
        }
    }
}
