//! Adapter of mini-moka.

use bytes::Bytes;
use floor_cache::Key;
use mini_moka::sync::Cache;

use super::{CAPACITY, Peer};

/// `mini_moka::sync::Cache`.
pub struct MiniMoka(Cache<Key, Bytes>);

impl Peer for MiniMoka {
    const NAME: &'static str = "mini-moka";

    fn new() -> Self {
        let weight = |_: &Key, value: &Bytes| u32::try_from(value.len()).unwrap_or(u32::MAX);
        Self(Cache::builder().max_capacity(CAPACITY).weigher(weight).build())
    }

    fn get(&self, key: &Key) -> Option<Bytes> {
        self.0.get(key)
    }

    fn put(&self, key: Key, value: Bytes) {
        self.0.insert(key, value);
    }

    fn remove(&self, key: &Key) {
        self.0.invalidate(key);
    }
}

impl std::fmt::Debug for MiniMoka {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("MiniMoka").finish_non_exhaustive()
    }
}
