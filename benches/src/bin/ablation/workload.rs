//! The ways that players ask for floors.

use std::{cell::RefCell, sync::Arc};

use benches::{floors::TOWER, load};
use bytes::Bytes;
use floor_proto::v1;
use rand::{RngExt as _, SeedableRng as _, rngs::SmallRng};
use rand_distr::{Distribution as _, Zipf};

/// Floors that are asked for: four times what the memory tier of a candidate may hold.
const FLOORS: u32 = 2000;

/// Players who climb at once, each in a tower of their own.
const CLIMBERS: u64 = 40;

/// Popularity falls as 1/rank: what web caches measure (Breslau et al., "Web Caching and Zipf-like Distributions",
/// INFOCOM 1999, finds exponents of 0.64 to 0.83; 1 is the customary round figure).
const EXPONENT: f64 = 1.0;

/// Calls a second of the paced loads, and players who make them: each goes up a floor in eight milliseconds, faster than any
/// player, and together they ask for a tenth of what generation alone can answer. So what is measured is how long a player
/// waits and not how much a machine can do.
const PACED_CALLS_PER_SECOND: f64 = 500.0;
const PACED_CLIMBERS: u64 = 4;

/// Of a paced load a part in so many is run, to take about as long as the others.
const PACED_DIVISOR: u64 = 2;

/// An order of calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Workload {
    /// Floor n in proportion to 1/n.
    Zipf,
    /// The same, while the server looks out for climbers, whom there are none of.
    PrefetchedZipf,
    /// Every floor as likely as any other.
    Uniform,
    /// The same, while the server looks out for climbers, whom there are none of.
    PrefetchedUniform,
    /// Floor after floor, and from the first again: what a tier that keeps the recently used is worst at.
    Scan,
    /// Players go up floor by floor; no floor is asked for twice.
    Climb,
    /// Few players go up far, at a pace that leaves the machine time.
    PacedClimb,
    /// The same, while the server makes the floors ahead of each climber.
    PrefetchedClimb,
    /// The same once more, when memory has all of it: what hits cost at that pace.
    RepeatedClimb,
}

impl Workload {
    pub(crate) const ALL: [Self; 9] = [
        Self::Zipf,
        Self::PrefetchedZipf,
        Self::Uniform,
        Self::PrefetchedUniform,
        Self::Scan,
        Self::Climb,
        Self::PacedClimb,
        Self::PrefetchedClimb,
        Self::RepeatedClimb,
    ];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Zipf => "zipf",
            Self::PrefetchedZipf => "zipf, prefetched",
            Self::Uniform => "uniform",
            Self::PrefetchedUniform => "uniform, prefetched",
            Self::Scan => "scan",
            Self::Climb => "climb",
            Self::PacedClimb => "climb, paced",
            Self::PrefetchedClimb => "climb, paced, prefetched",
            Self::RepeatedClimb => "climb, paced, again",
        }
    }

    /// Calls a second, if that is given.
    pub(crate) fn calls_per_second(self) -> Option<f64> {
        matches!(self, Self::PacedClimb | Self::PrefetchedClimb | Self::RepeatedClimb).then_some(PACED_CALLS_PER_SECOND)
    }

    /// Whether it is run twice and the second time measured.
    pub(crate) fn is_repeated(self) -> bool {
        self == Self::RepeatedClimb
    }

    /// Whether the chains are compared under it: as fast as the server answers, and nothing made ahead.
    pub(crate) fn is_compared(self) -> bool {
        self.calls_per_second().is_none() && self.ahead() == 0
    }

    /// Floors that the server makes ahead of a climber.
    pub(crate) const fn ahead(self) -> u32 {
        match self {
            Self::PrefetchedZipf | Self::PrefetchedUniform | Self::PrefetchedClimb => 2,
            _ => 0,
        }
    }

    /// The framed requests of `calls` calls: made before the clock runs, and the same for every chain.
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
        let request = |(seed, number)| {
            let spec = v1::FloorSpec { seed, number, ..v1::FloorSpec::default() };
            load::framed(&v1::GetFloorRequest { spec: Some(spec) })
        };
        let calls = if self.calls_per_second().is_some() { calls / PACED_DIVISOR } else { calls };
        (0..calls).map(spec).map(request).collect()
    }
}
