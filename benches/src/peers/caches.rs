//! Adapters of other caches. Each is set up as in its documentation's first example of a cache bounded by weight, with
//! its default hasher.

use bytes::Bytes;
use floor_cache::Key;
use quick_cache::Weighter;

use super::{CAPACITY, Peer};

/// moka: TinyLFU admission.
#[derive(Debug)]
pub struct Moka(moka::sync::Cache<Key, Bytes>);

impl Peer for Moka {
    const NAME: &'static str = "moka";

    fn new() -> Self {
        let weight = |_: &Key, value: &Bytes| u32::try_from(value.len()).unwrap_or(u32::MAX);
        Self(moka::sync::Cache::builder().max_capacity(CAPACITY).weigher(weight).build())
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

/// quick_cache: CLOCK-Pro, the fastest bounded peer.
#[derive(Debug)]
pub struct QuickCache(quick_cache::sync::Cache<Key, Bytes, Length>);

/// Weighs a value by its length.
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
        Self(quick_cache::sync::Cache::with_weighter(ESTIMATED_ITEMS, CAPACITY, Length))
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

/// DashMap: a concurrent map that never evicts, as a lower bound of the time of a lookup.
#[derive(Debug)]
pub struct Dashmap(dashmap::DashMap<Key, Bytes>);

impl Peer for Dashmap {
    const NAME: &'static str = "dashmap";

    fn new() -> Self {
        Self(dashmap::DashMap::new())
    }

    fn get(&self, key: &Key) -> Option<Bytes> {
        self.0.get(key).map(|value| value.clone())
    }

    fn put(&self, key: Key, value: Bytes) {
        self.0.insert(key, value);
    }

    fn remove(&self, key: &Key) {
        self.0.remove(key);
    }
}
