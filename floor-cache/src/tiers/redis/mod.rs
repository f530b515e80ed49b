//! The tier in a Redis server, shared by the servers that know it.

mod connection;
mod connector;
mod lease;
mod server_stats;
mod tier;

pub(crate) use lease::{Claim, RedisLeases, Token};
pub use tier::RedisTier;
