//! Adapter of the crate `lru` behind one lock: the simplest cache to write. Its default hasher is that of our LRU.
//!
//! It is in the bench because of the rule that no library but floor-cache depends on `lru`.

use std::sync::Mutex;

use benches::{
    floors::Entries,
    peers::{CAPACITY, Peer},
};
use bytes::Bytes;
use floor_cache::Key;
use lru::LruCache;

/// `lru::LruCache`, and the bytes of its values.
pub(crate) struct LruMutex(Mutex<(LruCache<Key, Bytes>, u64)>);

impl Peer for LruMutex {
    const NAME: &'static str = "lru-mutex";

    fn new(_: &Entries) -> Self {
        Self(Mutex::new((LruCache::unbounded(), 0)))
    }

    fn get(&self, key: &Key) -> Option<Bytes> {
        self.0.lock().unwrap().0.get(key).cloned()
    }

    fn put(&self, key: Key, value: Bytes) {
        let mut guard = self.0.lock().unwrap();
        let (entries, bytes) = &mut *guard;
        *bytes += value.len() as u64;
        if let Some(old) = entries.put(key, value) {
            *bytes -= old.len() as u64;
        }
        while *bytes > CAPACITY {
            let Some((_, oldest)) = entries.pop_lru() else { break };
            *bytes -= oldest.len() as u64;
        }
    }

    fn remove(&self, key: &Key) {
        let mut guard = self.0.lock().unwrap();
        if let Some(value) = guard.0.pop(key) {
            guard.1 -= value.len() as u64;
        }
    }
}
