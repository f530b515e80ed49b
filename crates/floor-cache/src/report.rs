//! The reports of the tiers, for operators.

use std::{sync::Arc, time::Duration};

use crate::tier::{TierError, TierStats, UnknownStats};

/// Counts and costs of one tier since the start.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TierReport {
    /// The tier; `generated` for the source, which is last.
    pub name: &'static str,
    /// Values found; for the source, values generated.
    pub hits: u64,
    /// Values not found.
    pub misses: u64,
    /// Failures, including timeouts.
    pub errors: u64,
    /// Keys that bypassed it.
    pub bypasses: u64,
    /// Values in the tier.
    pub entries: u64,
    /// Bytes in the tier.
    pub bytes: u64,
    /// Which of the two it does not tell.
    pub unknown: UnknownStats,
    /// Mean time of a hit in microseconds; 0 if unknown.
    pub hit_cost_us: f64,
    /// Mean time of a miss in microseconds; 0 if unknown.
    pub miss_cost_us: f64,
    /// Recent share of queries that find a value; 1 if unknown.
    pub hit_ratio: f64,
    /// Recent response time of a query for one value, hit or miss, in microseconds; 0 if unknown.
    pub probe_cost_us: f64,
    /// Recent response time of generating one of the values that the tier may be asked for, queueing included, in
    /// microseconds; 0 if unknown.
    pub generation_cost_us: f64,
    /// Recent share of lookups that asked the tier, 0 to 1; 1 for memory and for the source.
    pub asked_ratio: f64,
    /// Why it is asked or bypassed: `learning`, `answers sooner`, `saves CPU`, `slower than generating`, `few hits`, `costs CPU`,
    /// `configured`, `breaker`.
    pub reason: &'static str,
    /// How the chain uses the tier: `probed`, `bypassed`, `bypassed in part`, `bypassed by configuration`; `open` or
    /// `half-open` by its breaker; `last` for the source.
    pub verdict: &'static str,
    /// Time since the verdict changed.
    pub since: Duration,
    /// Its last failure, whatever it was asked to do.
    pub last_error: Option<LastError>,
}

/// A failure of a tier.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastError {
    /// What was tried, and why it failed.
    pub message: Arc<str>,
    /// Time since then.
    pub ago: Duration,
}

/// The keys that a tier was asked for, by outcome.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RequestCounts {
    /// Values found.
    pub hits: u64,
    /// Values not found.
    pub misses: u64,
    /// Errors other than timeouts.
    pub errors: u64,
    /// Timeouts.
    pub timeouts: u64,
    /// Keys not asked for: bypassed by the policy, by an open breaker or by admission.
    pub bypasses: u64,
}

/// Size and write counts of one tier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Holdings {
    /// The tier.
    pub name: &'static str,
    /// Its size.
    pub stats: TierStats,
    /// Its writes by outcome; `None` for a leading memory tier, which is written directly.
    pub writes: Option<WriteCounts>,
}

/// Writes through the write-behind queue of a tier since the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WriteCounts {
    /// Stored by the tier.
    pub stored: u64,
    /// Failed in the tier.
    pub failed: u64,
    /// Dropped because the queue was full.
    pub dropped: u64,
    /// Not written because the tier was nearly full and the value was not asked for before.
    pub refused: u64,
    /// In the queue now.
    pub waiting: u64,
}

/// The result of a compaction of one tier.
#[derive(Debug)]
pub struct Compaction {
    /// The tier.
    pub tier: &'static str,
    /// Its size before.
    pub before: TierStats,
    /// Its size after.
    pub after: TierStats,
    /// `Ok` if the tier was compacted.
    pub result: Result<(), TierError>,
}

/// `duration` in microseconds.
pub(crate) fn micros(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}
