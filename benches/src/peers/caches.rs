//! Adapters of other caches. Each is set up as in its documentation's first example of a cache bounded by weight, but
//! with the hasher and the number of shards of our LRU. And our chain, for the same loops.

use std::slice;

use bytes::Bytes;
use floor_cache::{Chain, Key, LruConfig, Tuning};
use foldhash::fast::RandomState;
use quick_cache::{OptionsBuilder, Weighter, sync::DefaultLifecycle};
use tokio::runtime::Runtime;

use super::{CAPACITY, Peer, SHARDS};
use crate::{floors::Entries, pregenerated::layers_in_memory, stores};

/// Our chain with memory as its only tier. Unlike the others it counts its hits and names the tier.
#[derive(Debug)]
pub struct OurChain {
    chain: Chain,
    runtime: Runtime,
}

impl Peer for OurChain {
    const NAME: &'static str = "floor-cache-chain";

    fn new(entries: &Entries) -> Self {
        let (runtime, memory) = (stores::runtime(), LruConfig { capacity: CAPACITY, ttl: None });
        Self { chain: layers_in_memory(&[memory], &Tuning::default(), entries, runtime.handle()), runtime }
    }

    fn get(&self, key: &Key) -> Option<Bytes> {
        self.chain.get_now(key).map(|served| served.value)
    }

    fn put(&self, key: Key, value: Bytes) {
        self.chain.put(key, &value);
    }

    fn remove(&self, key: &Key) {
        self.runtime.block_on(self.chain.remove_many(slice::from_ref(key)));
    }
}

/// The writes of a cache that has `insert`, by the name of the method that removes.
macro_rules! writes {
    ($remove:ident) => {
        fn put(&self, key: Key, value: Bytes) {
            self.0.insert(key, value);
        }

        fn remove(&self, key: &Key) {
            self.0.$remove(key);
        }
    };
}

/// moka: TinyLFU admission.
#[derive(Debug)]
pub struct Moka(moka::sync::Cache<Key, Bytes, RandomState>);

impl Peer for Moka {
    const NAME: &'static str = "moka";

    fn new(_: &Entries) -> Self {
        let weight = |_: &Key, value: &Bytes| u32::try_from(value.len()).unwrap_or(u32::MAX);
        let builder = moka::sync::Cache::builder().max_capacity(CAPACITY).weigher(weight);
        Self(builder.build_with_hasher(RandomState::default()))
    }

    fn get(&self, key: &Key) -> Option<Bytes> {
        self.0.get(key)
    }

    writes!(invalidate);
}

/// quick_cache: CLOCK-Pro, the fastest bounded peer.
#[derive(Debug)]
pub struct QuickCache(quick_cache::sync::Cache<Key, Bytes, Length, RandomState>);

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

    fn new(_: &Entries) -> Self {
        let mut options = OptionsBuilder::new();
        options.estimated_items_capacity(ESTIMATED_ITEMS).weight_capacity(CAPACITY).shards(SHARDS);
        let (options, lifecycle) = (options.build().expect("both capacities are given"), DefaultLifecycle::default());
        Self(quick_cache::sync::Cache::with_options(options, Length, RandomState::default(), lifecycle))
    }

    fn get(&self, key: &Key) -> Option<Bytes> {
        self.0.get(key)
    }

    writes!(remove);
}

/// DashMap: a concurrent map that never evicts, as a lower bound of the time of a lookup.
#[derive(Debug)]
pub struct Dashmap(dashmap::DashMap<Key, Bytes, RandomState>);

impl Peer for Dashmap {
    const NAME: &'static str = "dashmap";

    fn new(_: &Entries) -> Self {
        Self(dashmap::DashMap::with_hasher_and_shard_amount(RandomState::default(), SHARDS))
    }

    fn get(&self, key: &Key) -> Option<Bytes> {
        self.0.get(key).map(|value| value.clone())
    }

    writes!(remove);
}
