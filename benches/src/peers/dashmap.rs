//! Adapter of DashMap: a concurrent map that never evicts, as a lower bound of the time of a lookup.

use bytes::Bytes;
use dashmap::DashMap;
use floor_cache::Key;

use super::Peer;

/// `dashmap::DashMap`.
#[derive(Debug)]
pub struct Dashmap(DashMap<Key, Bytes>);

impl Peer for Dashmap {
    const NAME: &'static str = "dashmap";

    fn new() -> Self {
        Self(DashMap::new())
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
