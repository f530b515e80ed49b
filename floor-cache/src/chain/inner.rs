//! The state that all clones of a chain share.

use std::sync::Arc;

use prometheus::IntCounter;

use super::{audit::Auditor, lease::Leases};
use crate::{producer::Producer, sampler::Sampler, stack::TierStack};

/// The tiers, the producer, and what combines the two.
#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) stack: Arc<TierStack>,
    pub(crate) producer: Arc<Producer>,
    pub(crate) auditor: Arc<Auditor>,
    pub(crate) leases: Option<Leases>,
    pub(crate) coalesced: IntCounter,
    /// Picks the lookups in memory that are timed or audited.
    pub(crate) sampler: Sampler,
    /// Whether slow queries are hedged.
    pub(crate) hedge: bool,
}
