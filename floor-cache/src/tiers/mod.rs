//! The four tiers and what they share.

mod doorkeeper;
mod lmdb;
mod lru;
mod pending_deletes;
mod quarantine;
mod redis;
mod sieve;
mod sled;

pub use lmdb::LmdbTier;
pub use lru::LruTier;
pub use redis::RedisTier;
pub use sled::SledTier;
