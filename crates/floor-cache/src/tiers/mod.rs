//! The four tiers and what they share.

pub(crate) mod directory;
#[cfg(feature = "lmdb")]
mod lmdb;
mod lru;
#[cfg(any(feature = "lmdb", feature = "redis"))]
mod pending_deletes;
#[cfg(any(feature = "lmdb", feature = "sled"))]
mod quarantine;
#[cfg(feature = "redis")]
mod redis;
#[cfg(any(feature = "lmdb", feature = "sled"))]
mod sieve;
#[cfg(feature = "sled")]
mod sled;

pub use directory::{Space, disk_size};
#[cfg(feature = "lmdb")]
pub use lmdb::LmdbTier;
pub use lru::LruTier;
#[cfg(feature = "redis")]
pub use redis::RedisTier;
#[cfg(feature = "sled")]
pub use sled::SledTier;
