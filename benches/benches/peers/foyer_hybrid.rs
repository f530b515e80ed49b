//! Adapter of foyer's hybrid cache: memory over its block engine on files. Every put is written to the files.

use std::path::Path;

use benches::floors::Entries;
use bytes::Bytes;
use floor_cache::Key;
use foyer::{BlockEngineConfig, DeviceBuilder, FsDeviceBuilder, HybridCache, HybridCacheBuilder, HybridCachePolicy};

use crate::async_peers::{AsyncPeer, OVER_FILES};

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
