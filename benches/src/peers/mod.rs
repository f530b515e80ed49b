//! Peers for `peers` and `guard`: other caches with the same keys, bytes, capacity, hasher and number of shards as our
//! LRU; and other servers.

mod caches;
pub mod servers;

use bytes::Bytes;
use floor_cache::Key;

pub use caches::{Dashmap, Moka, OurChain, QuickCache};

use crate::floors::Entries;

/// Bytes of values that a cache may hold: the default of our LRU.
pub const CAPACITY: u64 = 256 << 20;

/// Shards of a cache: those of our LRU at this capacity, and of moka, where the number is fixed.
pub const SHARDS: usize = 64;

/// A cache in memory.
pub trait Peer: Send + Sync + 'static {
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
pub fn filled<P: Peer>(entries: &Entries) -> P {
    let peer = P::new(entries);
    for (key, value) in entries.all() {
        peer.put(*key, value.clone());
    }
    for (key, value) in entries.all() {
        assert_eq!(peer.get(key).as_ref(), Some(value), "{} gives back what was put", P::NAME);
    }
    peer
}
