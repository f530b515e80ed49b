//! Other caches on our work: the same keys, the same bytes, the same bound, one small adapter each.
//!
//! Each peer is set up as its documentation's first example for a cache bounded by weight has it, with its own default
//! hasher: what a team would have that took it from the shelf.

mod dashmap;
mod foyer;
mod mini_moka;
mod moka;
mod quick_cache;
pub mod servers;

use bytes::Bytes;
use floor_cache::Key;

pub use dashmap::Dashmap;
pub use foyer::Foyer;
pub use mini_moka::MiniMoka;
pub use moka::Moka;
pub use quick_cache::QuickCache;

use crate::floors::Entries;

/// Bytes of values that a cache may hold: our LRU's default.
pub const CAPACITY: u64 = 256 << 20;

/// A cache in memory.
pub trait Peer: Send + Sync + 'static {
    /// Its name in a bench.
    const NAME: &'static str;

    /// An empty one that holds at most [`CAPACITY`].
    fn new() -> Self;

    /// The value, counted as a use.
    fn get(&self, key: &Key) -> Option<Bytes>;

    /// Keeps `value`.
    fn put(&self, key: Key, value: Bytes);

    /// Forgets `key`.
    fn remove(&self, key: &Key);
}

/// A peer that holds `entries`, each read back and compared.
///
/// # Panics
/// When one does not come back as it was put.
#[must_use]
pub fn filled<P: Peer>(entries: &Entries) -> P {
    let peer = P::new();
    for (key, value) in entries.all() {
        peer.put(*key, value.clone());
    }
    for (key, value) in entries.all() {
        assert_eq!(peer.get(key).as_ref(), Some(value), "{} gives back what was put", P::NAME);
    }
    peer
}
