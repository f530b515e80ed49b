//! The tier stack: promotion and removal of values in the memory tiers and the lower tiers. It does not know the source of
//! the values; the chain's lookups sit above both.

mod admission;
mod purge;
mod recheck;
mod tier_stack;
mod write_behind;
mod write_failures;

pub use purge::Removal;
pub(crate) use purge::{PurgeEpoch, Purges};
pub(crate) use recheck::{Recheck, RecheckKeys};
pub(crate) use tier_stack::{LowerTier, RequiredIn, TierStack, Values};
pub(crate) use write_behind::{WriteBehind, WriteMetrics};
