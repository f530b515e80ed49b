//! Adapters of foyer: its memory cache, and its hybrid cache, which writes every put to its block engine on files.
//!
//! The hybrid cache has the settings of "Fully Configured Hybrid Cache" in foyer's README, without those that slow it
//! down here: the throttle, the compression, and recovery from a directory that is new. Its memory is so small that it
//! has one shard.

use std::path::Path;

use benches::{
    floors::Entries,
    peers::{CAPACITY, Peer, SHARDS},
};
use bytes::Bytes;
use floor_cache::Key;
use foldhash::fast::RandomState;
use foyer::{
    BlockEngineConfig, Cache, CacheBuilder, DeviceBuilder, FifoPicker, FsDeviceBuilder, HybridCache,
    HybridCacheBuilder, HybridCachePolicy, PsyncIoEngineConfig, RecoverMode,
};

use crate::async_peer::{AsyncPeer, OVER_FILES};

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

/// Bytes of the files: many times those of the floors.
const FILES: usize = 256 << 20;

/// `foyer::HybridCache`.
pub(crate) struct FoyerHybrid(HybridCache<Vec<u8>, Bytes, RandomState>);

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
            .with_shards(1)
            .with_hash_builder(RandomState::default())
            .with_weighter(|_: &Vec<u8>, value: &Bytes| value.len())
            .storage()
            .with_io_engine_config(PsyncIoEngineConfig::new())
            .with_engine_config(
                BlockEngineConfig::new(device)
                    .with_flushers(2)
                    .with_reclaimers(2)
                    .with_buffer_pool_size(256 << 20)
                    .with_clean_block_threshold(4)
                    .with_eviction_pickers(vec![Box::<FifoPicker>::default()]),
            )
            .with_recover_mode(RecoverMode::None)
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
