//! The tier in a Redis server or cluster, shared by several servers.

mod connection;
mod connector;
mod error;
mod scan;
mod server_stats;
mod tier;

pub use tier::RedisTier;

const NAME: &str = crate::TierKind::Redis.name();
