//! The tier in a Redis server or cluster, shared by several servers.

mod connection;
mod connector;
mod lease;
mod server_stats;
mod tier;

pub(crate) use lease::{Claim, RedisLeases, Token};
pub use tier::RedisTier;
