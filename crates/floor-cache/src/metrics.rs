//! What a chain has counted and timed, as plain structs for a monitoring system. [`Chain::metrics`](crate::Chain::metrics)
//! reads them.

pub use crate::{histogram::Times, report::RequestCounts};
use crate::{
    layers::CircuitState,
    report::WriteCounts,
    tier::{Tier, TierStats},
    tiers::{Space, directory},
};

/// The counts and times of a chain since it was built. Counts only grow.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ChainMetrics {
    /// The tiers, in lookup order.
    pub tiers: Vec<TierMetrics>,
    /// What the source generated, by the name of the class. Includes the chains that were built beside this one.
    pub generations: Vec<GenerationMetrics>,
    /// Values that a call got from another call's lookup. Includes the chains that were built beside this one.
    pub coalesced: u64,
    /// The utilisation of the CPU, 0 to 1, at the last measurement by a lookup below memory.
    pub cpu_utilisation: f64,
    /// Seconds of response time that one second of CPU costs the other calls in flight: 0 if cores are idle.
    pub cpu_price: f64,
}

/// The counts and times of one tier.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct TierMetrics {
    /// The tier.
    pub name: &'static str,
    /// What it was asked for.
    pub requests: RequestCounts,
    /// Its size.
    pub stats: TierStats,
    /// Whether it has files on this machine.
    pub has_directory: bool,
    /// The disk of its files; `None` without files, or if the system does not tell.
    pub space: Option<Space>,
    /// Bytes on the disk of stores that were put aside; `None` for a tier without files.
    pub aside_bytes: Option<u64>,
    /// What only a tier below memory has.
    pub lower: Option<LowerTierMetrics>,
}

impl TierMetrics {
    /// Of a tier in memory.
    pub(crate) fn new(tier: &dyn Tier, requests: RequestCounts) -> Self {
        let space = tier.directory().and_then(|directory| directory::space(directory).ok());
        let has_directory = tier.directory().is_some();
        let (stats, aside_bytes) = (tier.stats(), tier.aside_bytes());
        Self { name: tier.name(), requests, stats, has_directory, space, aside_bytes, lower: None }
    }
}

/// How the chain uses a tier below memory, and how long its operations took.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct LowerTierMetrics {
    /// Its breaker.
    pub breaker: CircuitState,
    /// Recent share of lookups that asked it, 0 to 1.
    pub asked_ratio: f64,
    /// Its writes in the background.
    pub writes: WriteCounts,
    /// The times of its operations: `get`, `get_many`, `put_many`, `remove_many`.
    pub times: [(&'static str, Times); 4],
}

/// The values generated of one class.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct GenerationMetrics {
    /// The name of the class.
    pub class: &'static str,
    /// How long each value took, without queueing.
    pub times: Times,
}
