//! Adapter of quick_cache: CLOCK-Pro, the fastest bounded peer.

use bytes::Bytes;
use floor_cache::Key;
use quick_cache::{Weighter, sync::Cache};

use super::{CAPACITY, Peer};

/// `quick_cache::sync::Cache`.
#[derive(Debug)]
pub struct QuickCache(Cache<Key, Bytes, Length>);

#[derive(Debug, Clone)]
struct Length;

impl Weighter<Key, Bytes> for Length {
    fn weight(&self, _: &Key, value: &Bytes) -> u64 {
        value.len() as u64
    }
}

/// The expected number of entries: the capacity in floors of 4 KiB.
const ESTIMATED_ITEMS: usize = (CAPACITY / 4096) as usize;

impl Peer for QuickCache {
    const NAME: &'static str = "quick_cache";

    fn new() -> Self {
        Self(Cache::with_weighter(ESTIMATED_ITEMS, CAPACITY, Length))
    }

    fn get(&self, key: &Key) -> Option<Bytes> {
        self.0.get(key)
    }

    fn put(&self, key: Key, value: Bytes) {
        self.0.insert(key, value);
    }

    fn remove(&self, key: &Key) {
        self.0.remove(key);
    }
}
