//! The orders in which the loads of `ablation` request floors.

use std::{cell::RefCell, fmt, sync::Arc};

use benches::{floors::TOWER, load};
use bytes::Bytes;
use clap::ValueEnum;
use rand::{RngExt as _, SeedableRng as _, rngs::SmallRng};
use rand_distr::{Distribution as _, Zipf};

/// Distinct floors of a load: four times the capacity of a candidate's tier `lru`.
const FLOORS: u32 = 2000;

/// Players who climb at the same time, each in another tower.
const CLIMBERS: u64 = 40;

/// Popularity is proportional to 1/rank, as in web caches (Breslau et al., "Web Caching and Zipf-like Distributions",
/// INFOCOM 1999, finds exponents of 0.64 to 0.83; 1 is the customary round figure).
const EXPONENT: f64 = 1.0;

/// Calls a second of the paced loads, and the number of players who make them. Each climbs a floor in eight
/// milliseconds. Together they need a tenth of the generator's throughput, so these loads measure latency.
const PACED_CALLS_PER_SECOND: f64 = 500.0;
const PACED_CLIMBERS: u64 = 4;

/// A paced load makes one in this many of the calls, to take about as long as the others.
const PACED_DIVISOR: u64 = 2;

/// An order of calls, and their rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Workload {
    /// Floor `n` with a probability proportional to 1/`n`.
    #[value(name = "zipf")]
    Zipf,
    /// The same with prefetching, though there are no climbers.
    #[value(name = "zipf, prefetched")]
    PrefetchedZipf,
    /// Every floor with the same probability.
    #[value(name = "uniform")]
    Uniform,
    /// The same with prefetching, though there are no climbers.
    #[value(name = "uniform, prefetched")]
    PrefetchedUniform,
    /// Floors in order, repeated: the worst case of LRU eviction.
    #[value(name = "scan")]
    Scan,
    /// Players climb floor by floor; no floor is requested twice.
    #[value(name = "climb")]
    Climb,
    /// Few players climb far, at a fixed rate.
    #[value(name = "climb, paced")]
    PacedClimb,
    /// The same with prefetching.
    #[value(name = "climb, paced, prefetched")]
    PrefetchedClimb,
    /// The same a second time, when memory has every floor: the cost of hits at that rate.
    #[value(name = "climb, paced, again")]
    RepeatedClimb,
}

impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&crate::name_of(self))
    }
}

impl Workload {
    /// The rate, if the load is paced.
    pub(crate) fn calls_per_second(self) -> Option<f64> {
        matches!(self, Self::PacedClimb | Self::PrefetchedClimb | Self::RepeatedClimb).then_some(PACED_CALLS_PER_SECOND)
    }

    /// Whether it runs twice and only the second run is measured.
    pub(crate) fn is_repeated(self) -> bool {
        self == Self::RepeatedClimb
    }

    /// Whether chains are ranked under it: it is neither paced nor prefetched.
    pub(crate) fn is_compared(self) -> bool {
        self.calls_per_second().is_none() && self.ahead() == 0
    }

    /// Floors that the server prefetches for a climber.
    pub(crate) const fn ahead(self) -> u32 {
        match self {
            Self::PrefetchedZipf | Self::PrefetchedUniform | Self::PrefetchedClimb => 2,
            _ => 0,
        }
    }

    /// The framed requests of `calls` calls, the same for every chain.
    pub(crate) fn requests(self, calls: u64) -> Arc<[Bytes]> {
        let rng = RefCell::new(SmallRng::seed_from_u64(TOWER));
        let zipf = Zipf::new(f64::from(FLOORS), EXPONENT).expect("floors, and an exponent above 0");
        let spec = |call: u64| match self {
            Self::Zipf | Self::PrefetchedZipf => (TOWER, zipf.sample(&mut *rng.borrow_mut()) as u32),
            Self::Uniform | Self::PrefetchedUniform => (TOWER, rng.borrow_mut().random_range(1..=FLOORS)),
            Self::Scan => (TOWER, (call % u64::from(FLOORS)) as u32 + 1),
            Self::Climb => (TOWER + 1 + call % CLIMBERS, (call / CLIMBERS) as u32 + 1),
            Self::PacedClimb | Self::PrefetchedClimb | Self::RepeatedClimb => {
                (TOWER + 1 + call % PACED_CLIMBERS, (call / PACED_CLIMBERS) as u32 + 1)
            }
        };
        let calls = if self.calls_per_second().is_some() { calls / PACED_DIVISOR } else { calls };
        (0..calls).map(spec).map(|(seed, number)| load::floor_request(seed, number)).collect()
    }
}
