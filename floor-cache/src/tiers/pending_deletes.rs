//! Stored values that readers found wrong, until a write removes them.

use std::{collections::BTreeSet, mem};

use parking_lot::Mutex;

use crate::envelope::StoredKey;

/// The keys of values that the next write is to remove.
#[derive(Debug, Default)]
pub(super) struct PendingDeletes(Mutex<BTreeSet<StoredKey>>);

/// So many are remembered. Others are found wrong again when they are next read.
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

    /// Takes them all, to remove them. Those that were not [removed](Taken::removed) when this is dropped stay condemned.
    pub(super) fn take(&self) -> Taken<'_> {
        Taken { from: self, keys: mem::take(&mut self.0.lock()) }
    }
}

/// Keys that are being removed.
pub(super) struct Taken<'a> {
    from: &'a PendingDeletes,
    keys: BTreeSet<StoredKey>,
}

impl Taken<'_> {
    pub(super) fn keys(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        self.keys.iter().map(StoredKey::as_bytes)
    }

    /// They are gone for good.
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
