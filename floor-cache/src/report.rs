//! What the tiers have done and cost, for people.

use std::time::Duration;

use crate::tier::{TierError, TierStats};

/// One tier's figures since the start.
#[derive(Debug, Clone, PartialEq)]
pub struct TierReport {
    /// The tier; `generated` for the source, which stands last.
    pub name: &'static str,
    /// Values found; for the source, values made.
    pub hits: u64,
    /// Values not found.
    pub misses: u64,
    /// Failures, timeouts among them.
    pub errors: u64,
    /// Keys that it was not asked for.
    pub bypasses: u64,
    /// Values that it holds.
    pub entries: u64,
    /// Bytes that it holds.
    pub bytes: u64,
    /// What a hit costs, in microseconds; 0 while unknown.
    pub hit_cost_us: f64,
    /// What a miss costs, in microseconds; 0 while unknown.
    pub miss_cost_us: f64,
    /// The share of questions that find a value, of late; 1 while unknown.
    pub hit_ratio: f64,
    /// What a question for one value takes, hit or miss, of late, in microseconds of response time; 0 while unknown.
    pub probe_cost_us: f64,
    /// What generating one of the values takes that it may be asked for, of late, in microseconds of response time, the wait
    /// for a worker included; 0 while unknown.
    pub generation_cost_us: f64,
    /// The share of lookups that asked it, of late, 0 to 1; 1 for memory and for the source.
    pub asked_ratio: f64,
    /// Why it is asked or bypassed: `learning`, `answers sooner`, `saves CPU`, `slower than generating`, `few hits`, `costs CPU`,
    /// `configured`, `breaker`.
    pub reason: &'static str,
    /// What the chain makes of it: `probed`, `bypassed`, `bypassed in part`, `bypassed by configuration`; `open` or `half-open`
    /// while its breaker is; `last` for the source.
    pub verdict: &'static str,
    /// For how long that has been the verdict.
    pub since: Duration,
}

/// What one tier holds, and what it has taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Holdings {
    /// The tier.
    pub name: &'static str,
    /// What it holds.
    pub stats: TierStats,
    /// What became of the writes to it; `None` for memory in front, which takes them at once.
    pub writes: Option<WriteCounts>,
}

impl Holdings {
    pub(crate) const fn new(name: &'static str, stats: TierStats, writes: Option<WriteCounts>) -> Self {
        Self { name, stats, writes }
    }
}

/// Values written to a tier behind the response, since the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WriteCounts {
    /// Taken by the tier.
    pub stored: u64,
    /// Refused by the tier.
    pub failed: u64,
    /// Not given to the tier, since too many waited.
    pub dropped: u64,
    /// Waiting now.
    pub waiting: u64,
}

/// What became of a compaction in one tier.
#[derive(Debug)]
pub struct Compaction {
    /// The tier.
    pub tier: &'static str,
    /// What it held before.
    pub before: TierStats,
    /// What it holds now.
    pub after: TierStats,
    /// Whether it was done.
    pub result: Result<(), TierError>,
}

/// In microseconds.
pub(crate) fn micros(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}
