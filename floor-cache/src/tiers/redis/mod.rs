//! The tier in a Redis server, shared by the servers that know it.

mod dialer;
mod line;
mod tier;

pub use tier::RedisTier;
