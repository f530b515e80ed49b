//! Adapter of foyer's memory cache.

use benches::{
    floors::Entries,
    peers::{CAPACITY, Peer, SHARDS},
};
use bytes::Bytes;
use floor_cache::Key;
use foldhash::fast::RandomState;
use foyer::{Cache, CacheBuilder};

/// foyer's memory cache.
pub(crate) struct Foyer(Cache<Key, Bytes, RandomState>);

impl Peer for Foyer {
    const NAME: &'static str = "foyer";

    fn new(_: &Entries) -> Self {
        let capacity = usize::try_from(CAPACITY).unwrap_or(usize::MAX);
        let builder = CacheBuilder::new(capacity).with_shards(SHARDS).with_hash_builder(RandomState::default());
        Self(builder.with_weighter(|_: &Key, value: &Bytes| value.len()).build())
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
