//! Adapter of foyer's memory cache.

use bytes::Bytes;
use floor_cache::Key;
use foyer::{Cache, CacheBuilder};

use super::{CAPACITY, Peer};

/// `foyer::Cache`.
pub struct Foyer(Cache<Key, Bytes>);

impl Peer for Foyer {
    const NAME: &'static str = "foyer";

    fn new() -> Self {
        let capacity = usize::try_from(CAPACITY).unwrap_or(usize::MAX);
        Self(CacheBuilder::new(capacity).with_weighter(|_: &Key, value: &Bytes| value.len()).build())
    }

    fn get(&self, key: &Key) -> Option<Bytes> {
        self.0.get(key).map(|entry| entry.value().clone())
    }

    fn put(&self, key: Key, value: Bytes) {
        self.0.insert(key, value);
    }

    fn remove(&self, key: &Key) {
        self.0.remove(key);
    }
}

impl std::fmt::Debug for Foyer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Foyer").finish_non_exhaustive()
    }
}
