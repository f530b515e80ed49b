//! A chain of cache tiers for immutable byte strings.
//!
//! ```text
//! Chain::get(Key) --> LRU --> [Redis | LMDB | sled] --> Source::generate
//! ```
//!
//! A value is a function of its [`Key`], so a stored value never becomes stale. A tier may lose a value, because the
//! source can generate it again. A tier must never return a wrong value.
//!
//! - [`assemble()`] builds a [`Chain`] from a [`ChainConfig`]. Callers use the [`Chain`].
//! - [`Tier`] is the trait of a store for values. [`tiers`] has the four implementations. [`envelope`] is the format
//!   of stored values. The wrappers [`timeout`], [`catch_panic`], [`breaker`] and [`metered`] each add one property to
//!   any tier.
//! - [`Source`] generates the values that no tier has.
#![deny(unsafe_code)]

pub mod assemble;
mod audit;
pub mod breaker;
pub mod builder;
pub mod catch_panic;
pub mod chain;
mod chain_inner;
mod collector;
pub mod config;
pub mod envelope;
mod ewma;
mod flight;
mod generation_cost;
mod generations;
mod hash;
mod hedge;
pub mod key;
mod lease;
mod load_monitor;
mod lower_tier;
pub mod metered;
mod miss_lookup;
mod open_error;
mod policy;
mod purge;
pub mod report;
mod sampler;
pub mod served;
pub mod source;
pub mod tier;
pub mod tiers;
pub mod timeout;
pub mod tls;
mod write_behind;

pub use assemble::{assemble, assemble_tuned};
pub use builder::ChainBuilder;
pub use chain::Chain;
pub use config::{
    Admit, Bypass, ChainConfig, ClassSet, Lease, LmdbConfig, LruConfig, RedisConfig, SledConfig, TierKind, Tuning,
};
pub use key::{Class, Key};
pub use open_error::OpenError;
pub use purge::Removal;
pub use report::{Compaction, Holdings, TierReport, WriteCounts};
pub use served::{Options, Outcome, Served, Step};
pub use source::{Made, Priority, Source, SourceError};
pub use tier::{Answer, Tier, TierError, TierErrorKind, TierStats};
