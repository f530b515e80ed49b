//! The caches: our chain and our tier, and others with the same keys, bytes, capacity, hasher and number of shards. Each is
//! set up as in its documentation's first example of a cache bounded by weight.

use std::{
    slice,
    sync::{Arc, Mutex},
};

use benches::{floors::Entries, pregenerated::layers_in_memory, stores};
use bytes::Bytes;
use floor_cache::{Chain, Key, LruConfig, Tier, Tuning, tier::Answer, tiers::LruTier};
use foldhash::fast::RandomState;
use lru::LruCache;
use quick_cache::{OptionsBuilder, Weighter, sync::DefaultLifecycle};
use tokio::runtime::Runtime;

/// Bytes of values that a cache may hold: the default of our LRU.
const CAPACITY: u64 = 256 << 20;

/// Shards of a cache: those of our LRU at this capacity, and of moka, where the number is fixed.
const SHARDS: usize = 64;

/// A cache in memory.
pub(crate) trait Peer: Send + Sync + 'static {
    /// The name in benches.
    const NAME: &'static str;

    /// An empty cache of [`CAPACITY`] with [`SHARDS`] shards, for `entries`.
    fn new(entries: &Entries) -> Self;

    /// The value of `key`. Counts as a use.
    fn get(&self, key: &Key) -> Option<Bytes>;

    /// Stores `value` under `key`.
    fn put(&self, key: Key, value: Bytes);

    /// Removes `key`.
    fn remove(&self, key: &Key);
}

/// A peer that holds `entries`. Each is read back and compared.
pub(crate) fn filled<P: Peer>(entries: &Entries) -> P {
    let peer = P::new(entries);
    for (key, value) in entries.all() {
        peer.put(*key, value.clone());
    }
    for (key, value) in entries.all() {
        assert_eq!(peer.get(key).as_ref(), Some(value), "{} gives back what was put", P::NAME);
    }
    peer
}

/// Our chain with memory as its only tier. Unlike the others it counts its hits and names the tier.
pub(crate) struct OurChain {
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
pub(crate) struct Moka(moka::sync::Cache<Key, Bytes, RandomState>);

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
pub(crate) struct QuickCache(quick_cache::sync::Cache<Key, Bytes, Length, RandomState>);

/// Weighs a value by its length.
#[derive(Clone)]
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
pub(crate) struct Dashmap(dashmap::DashMap<Key, Bytes, RandomState>);

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

/// `lru::LruCache` behind one lock, and the bytes of its values: the simplest cache to write. Its default hasher is that
/// of our LRU.
pub(crate) struct LruMutex(Mutex<(LruCache<Key, Bytes>, u64)>);

impl Peer for LruMutex {
    const NAME: &'static str = "lru-mutex";

    fn new(_: &Entries) -> Self {
        Self(Mutex::new((LruCache::unbounded(), 0)))
    }

    fn get(&self, key: &Key) -> Option<Bytes> {
        self.0.lock().unwrap().0.get(key).cloned()
    }

    fn put(&self, key: Key, value: Bytes) {
        let mut guard = self.0.lock().unwrap();
        let (entries, bytes) = &mut *guard;
        *bytes += value.len() as u64;
        if let Some(old) = entries.put(key, value) {
            *bytes -= old.len() as u64;
        }
        while *bytes > CAPACITY {
            let Some((_, oldest)) = entries.pop_lru() else { break };
            *bytes -= oldest.len() as u64;
        }
    }

    fn remove(&self, key: &Key) {
        let mut guard = self.0.lock().unwrap();
        if let Some(value) = guard.0.pop(key) {
            guard.1 -= value.len() as u64;
        }
    }
}

/// Our tier, called through its trait.
pub(crate) struct OurLru(Arc<dyn Tier>);

impl Peer for OurLru {
    const NAME: &'static str = "floor-cache";

    fn new(_: &Entries) -> Self {
        Self(Arc::new(LruTier::new(&LruConfig { capacity: CAPACITY, ttl: None })))
    }

    fn get(&self, key: &Key) -> Option<Bytes> {
        match self.0.get(key) {
            Answer::Now(answer) => answer.unwrap(),
            Answer::Later(_) => unreachable!("memory answers at once"),
        }
    }

    fn put(&self, key: Key, value: Bytes) {
        drop(self.0.put_many(&[(key, value)]));
    }

    fn remove(&self, key: &Key) {
        drop(self.0.remove_many(slice::from_ref(key)));
    }
}
