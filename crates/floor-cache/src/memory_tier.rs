//! The trait of a tier in this process's memory. The tier stack asks such tiers on the caller's stack.

use std::time::Duration;

use bytes::Bytes;

use crate::{
    hash::Hashed,
    key::Key,
    report::{RequestCounts, TierReport},
    sampler::{Draw, Sampler},
    served::Served,
    tier::Tier,
};

/// A tier that never waits and never fails.
pub(crate) trait MemoryTier: Tier {
    /// The value of `key`, counted as a hit or a miss and as a use.
    fn lookup(&self, key: &Hashed) -> Option<Bytes>;

    /// Appends the values of the leading `keys` to `served`, up to the first key that `sampler` picks or that this tier
    /// does not have. A lookup as [`lookup`](Self::lookup) for each, except for the picked key.
    fn leading_hits(&self, keys: &[Key], sampler: Sampler, served: &mut Vec<Served>) -> LeadingHits;

    /// The value of `key`, without counting the lookup or a use.
    fn peek(&self, key: &Hashed) -> Option<Bytes>;

    /// Whether the tier has `key`. Counts neither as a lookup nor as a use.
    fn holds(&self, key: &Hashed) -> bool;

    /// Stores `value`, unless it is larger than the tier permits.
    fn insert(&self, key: &Hashed, value: &Bytes);

    /// Removes the value of `key`.
    fn remove(&self, key: &Hashed);

    /// Hits and misses since the start.
    fn counts(&self) -> RequestCounts;

    /// Mean time of a miss, from samples.
    fn miss_cost(&self) -> Duration;

    /// Records the time of a sampled lookup.
    fn record_time(&self, hit: bool, took: Duration);

    /// Counts and costs since the start.
    fn report(&self) -> TierReport;
}

/// Why [`MemoryTier::leading_hits`] stopped.
#[derive(Debug, Clone, Copy)]
pub(crate) enum LeadingHits {
    /// Every key was found.
    All,
    /// The sampler picked the next key, which was not looked up.
    Sampled(Draw),
    /// The tier does not have the next key. The lookup is counted.
    Missed,
}
