//! Adapters of foyer: its memory cache, and its hybrid cache, which writes every put to its block engine on files.

use std::path::Path;

use benches::{
    floors::Entries,
    peers::{CAPACITY, Peer},
};
use bytes::Bytes;
use floor_cache::Key;
use foyer::{
    BlockEngineConfig, Cache, CacheBuilder, DeviceBuilder, FsDeviceBuilder, HybridCache, HybridCacheBuilder,
    HybridCachePolicy,
};

use crate::async_peers::{AsyncPeer, OVER_FILES};

/// foyer's memory cache.
pub(crate) struct Foyer(Cache<Key, Bytes>);

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

/// Bytes of the files: many times those of the floors.
const FILES: usize = 256 << 20;

/// `foyer::HybridCache`.
pub(crate) struct FoyerHybrid(HybridCache<Vec<u8>, Bytes>);

impl AsyncPeer for FoyerHybrid {
    const NAME: &'static str = "foyer-hybrid";

    type Key = Vec<u8>;

    fn key(key: &Key) -> Vec<u8> {
        key.as_bytes().to_vec()
    }

    async fn filled(entries: &Entries, directory: &Path) -> Self {
        let device = FsDeviceBuilder::new(directory).with_capacity(FILES).build().unwrap();
        let cache = HybridCacheBuilder::new()
            .with_policy(HybridCachePolicy::WriteOnInsertion)
            .memory(OVER_FILES)
            .with_weighter(|_: &Vec<u8>, value: &Bytes| value.len())
            .storage()
            .with_engine_config(BlockEngineConfig::new(device))
            .build()
            .await
            .unwrap();
        for (key, value) in entries.all() {
            cache.insert(Self::key(key), value.clone());
        }
        cache.storage().wait().await;
        Self(cache)
    }

    async fn get(&self, key: &Vec<u8>) -> Option<Bytes> {
        self.0.get(key).await.unwrap().map(|entry| entry.value().clone())
    }
}
