//! The tier stack: promotion and removal of values in the memory tiers and the lower tiers. It does not know the source of
//! the values; the chain's lookups sit above both.

mod lower_tier;
mod purge;
mod tier_stack;
mod write_behind;

pub(crate) use lower_tier::{LowerTier, Values};
pub use purge::Removal;
pub(crate) use purge::{PurgeEpoch, Purges};
pub(crate) use tier_stack::TierStack;
pub(crate) use write_behind::{WriteBehind, WriteMetrics};
