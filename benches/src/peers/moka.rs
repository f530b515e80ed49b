//! Adapter of moka: TinyLFU admission.

use bytes::Bytes;
use floor_cache::Key;
use moka::sync::Cache;

use super::{CAPACITY, Peer};

/// `moka::sync::Cache`.
#[derive(Debug)]
pub struct Moka(Cache<Key, Bytes>);

impl Peer for Moka {
    const NAME: &'static str = "moka";

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
