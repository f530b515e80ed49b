//! The tier stack: promotion and removal of values in the memory tiers and the lower tiers. It does not know the source of
//! the values; the chain's lookups sit above both.

mod admission;
mod probe;
mod purge;
mod tier_stack;
mod write_behind;
mod write_failures;

pub(crate) use probe::{Probe, ProbeKeys};
pub use purge::Removal;
pub(crate) use purge::{PurgeEpoch, Purges};
pub(crate) use tier_stack::{LowerTier, RequiredIn, TierStack, Values};
pub(crate) use write_behind::{WriteBehind, WriteMetrics};
