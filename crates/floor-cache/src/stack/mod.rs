//! The tier stack: promotion and removal of values in the memory tiers and the lower tiers. It does not know the source of
//! the values; the chain's lookups sit above both.

mod admission;
mod breaker_probe;
mod fill_permit;
mod local_query;
mod pattern_purge;
mod purge;
mod tier_stack;
mod write_behind;
mod write_failures;

pub(crate) use admission::WriteReason;
pub(crate) use breaker_probe::BreakerProbe;
pub(crate) use fill_permit::{PurgeEpoch, Purges};
pub(crate) use local_query::LocalQueries;
pub use pattern_purge::PatternRemoval;
pub use purge::Removal;
pub(crate) use tier_stack::{Answered, LowerTier, TierStack};
pub(crate) use write_behind::WriteBehind;
