//! The four tiers and what they share.

pub(crate) mod directory;
mod lmdb;
mod lru;
mod pending_deletes;
mod quarantine;
mod redis;
mod sieve;
#[cfg(feature = "sled")]
mod sled;

pub use directory::disk_size;
pub use lmdb::LmdbTier;
pub use lru::LruTier;
pub use redis::RedisTier;
#[cfg(feature = "sled")]
pub use sled::SledTier;
