//! A key with its hash, computed once for all memory tiers.

use std::{
    hash::{BuildHasher, Hash, Hasher},
    sync::LazyLock,
};

use foldhash::fast::RandomState;

use crate::key::Key;

/// Seeded randomly once per process: callers choose the keys, and with a fixed hash they could choose collisions.
static SEEDS: LazyLock<RandomState> = LazyLock::new(RandomState::default);

/// A [`Key`] and its hash.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hashed {
    hash: u64,
    key: Key,
}

impl Hashed {
    #[inline]
    pub(crate) fn new(key: &Key) -> Self {
        Self { hash: SEEDS.hash_one(key), key: *key }
    }

    #[inline]
    pub(crate) const fn key(&self) -> &Key {
        &self.key
    }

    #[inline]
    pub(crate) const fn hash(&self) -> u64 {
        self.hash
    }

    /// The shard of the key among `count`, a power of two. From the middle of the hash, since the maps in the shards
    /// use both ends.
    #[inline]
    pub(crate) const fn shard(&self, count: usize) -> usize {
        (self.hash >> 24) as usize & (count - 1)
    }
}

impl PartialEq for Hashed {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl Eq for Hashed {}

impl Hash for Hashed {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

/// A hasher that returns the precomputed hash of a [`Hashed`].
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct IdentityHasher(u64);

impl BuildHasher for IdentityHasher {
    type Hasher = Self;

    #[inline]
    fn build_hasher(&self) -> Self {
        Self(0)
    }
}

impl Hasher for IdentityHasher {
    #[inline]
    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }

    /// For other types: folds the bytes into a hash.
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0.rotate_left(5) ^ u64::from(*byte)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        }
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }
}
