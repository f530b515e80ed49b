//! The tier in a Redis server, shared by the servers that know it.

mod dialer;
mod holdings;
mod lease;
mod line;
mod tier;

pub(crate) use lease::{Claim, RedisLeases, Token};
pub use tier::RedisTier;
