//! A cache of immutable byte strings in several tiers. [`Cache`] is for functions that compute a value; the rest of the
//! crate is what it is made of.
//!
//! ```text
//! Chain::get(Key) --> LRU --> [Redis | LMDB | sled] --> Source::generate
//! ```
//!
//! A value is a function of its [`Key`], so a stored value never becomes stale. A tier may lose a value, because the
//! source can generate it again. A tier must never return a wrong value.
//!
//! - [`Cache`] caches what a function computes, over the tiers that its [`CacheBuilder`] names.
//! - [`assemble()`] builds a [`Chain`] from a [`ChainConfig`]. Callers use the [`Chain`].
//! - [`Tier`] is the trait of a store for values. [`tiers`] has the four implementations. [`envelope`] is the format
//!   of stored values. Each of the [`layers`] adds one property to any tier.
//! - [`Source`] generates the values that no tier has.
#![deny(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(
    not(all(feature = "lmdb", feature = "redis", feature = "sled")),
    allow(dead_code, reason = "the tiers that a build lacks use more of what they share")
)]

mod admit;
mod cache;
mod chain;
pub mod config;
pub mod core_thread;
mod counted_source;
mod doorkeeper;
pub mod envelope;
mod ewma;
mod hash;
mod histogram;
pub mod key;
pub mod layers;
mod memory_tier;
pub mod metrics;
mod names;
mod open_error;
mod policy;
#[cfg(feature = "redis")]
mod redis_config;
#[cfg(feature = "redis")]
mod redis_url;
pub mod report;
mod sampler;
pub mod served;
mod single_flight;
pub mod source;
mod stack;
mod sync;
pub mod tier;
pub mod tiers;
#[cfg(feature = "redis")]
pub mod tls;

pub use cache::{Cache, CacheBuilder, ComputeError};
pub use chain::{Chain, ChainBuilder, assemble, assemble_beside, assemble_tuned, check};
pub use config::*;
pub use key::{Class, Key, KeyPattern};
pub use metrics::ChainMetrics;
pub use open_error::OpenError;
pub use report::{Compaction, Holdings, LastError, TierReport, WriteCounts};
pub use sampler::{Draw, Sampler};
pub use served::{Options, Outcome, Served, Step};
pub use source::{CallerId, Demand, DemandObserver, Forecast, GenerationRequest, Made, Priority, Source, SourceError};
pub use stack::{PatternRemoval, Removal};
pub use tier::{
    Answer, Backup, RemovedBatch, ScanPosition, Tier, TierAdmin, TierError, TierErrorKind, TierStats, UnknownStats,
};

/// The examples of the README are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
