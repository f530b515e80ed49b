//! Adapter of multi-tier-cache: a chain of its moka layers, with strings as keys.

use std::{path::Path, sync::Arc};

use benches::floors::Entries;
use bytes::Bytes;
use floor_cache::Key;
use multi_tier_cache::{CacheManager, CacheStrategy, CacheTier, MokaCache, MokaCacheConfig};

use crate::async_peer::AsyncPeer;

/// `multi_tier_cache::CacheManager` over two layers with every entry.
pub(crate) struct MultiTier(CacheManager);

impl AsyncPeer for MultiTier {
    const NAME: &'static str = "multi-tier-cache";

    type Key = String;

    fn key(key: &Key) -> String {
        key.as_bytes().iter().map(|byte| format!("{byte:02x}")).collect()
    }

    async fn filled(entries: &Entries, _: &Path) -> Self {
        let layer = || Arc::new(MokaCache::new(MokaCacheConfig::default()).unwrap());
        // The second layer promotes every hit. Neither layer shortens the time to live.
        let layers = vec![CacheTier::new(layer(), 1, false, 1, 1.0), CacheTier::new(layer(), 2, true, 1, 1.0)];
        let cache = CacheManager::new_with_tiers(layers, None).unwrap();
        for (key, value) in entries.all() {
            cache.set_with_strategy(&Self::key(key), value.clone(), CacheStrategy::LongTerm).await.unwrap();
        }
        Self(cache)
    }

    async fn get(&self, key: &String) -> Option<Bytes> {
        self.0.get(key).await.unwrap()
    }
}
