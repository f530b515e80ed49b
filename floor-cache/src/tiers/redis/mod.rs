//! The tier in a Redis server, shared by the servers that know it.

mod line;
mod tier;

pub use tier::RedisTier;
