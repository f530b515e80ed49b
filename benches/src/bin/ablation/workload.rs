//! The loads of `ablation`, and a cold and a warm run of a chain under one.

use std::fmt;

use anyhow::{Context, ensure};
use benches::{
    chains::{Candidate, Replay, Stores, name_of},
    floors::TOWER,
    load,
    open_loop::Pace,
    regret::Keys,
    sample::Sample,
    server::Setup,
};
use clap::ValueEnum;

/// Distinct floors of a load.
const FLOORS: u32 = 2000;

/// Capacity of the tier `lru`: a quarter of the floors, so that the lower tiers matter.
const LRU_CAPACITY: &str = "2MiB";

/// The same for paced loads: a whole climb fits, so that repeating it shows the cost of hits.
const FULL_CAPACITY: &str = "256MiB";

/// Players who climb at the same time, each in another tower.
const CLIMBERS: u64 = 40;

/// Popularity is proportional to 1/rank, as in web caches (Breslau et al., "Web Caching and Zipf-like Distributions",
/// INFOCOM 1999, finds exponents of 0.64 to 0.83; 1 is the customary round figure).
pub(crate) const ZIPF: Keys = Keys::Zipf { tenths: 10 };

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
        f.write_str(&name_of(self))
    }
}

impl Workload {
    const fn is_paced(self) -> bool {
        matches!(self, Self::PacedClimb | Self::PrefetchedClimb | Self::RepeatedClimb)
    }

    /// Whether `candidate` runs under it. Under paced loads only memory alone and the default chain run.
    pub(crate) const fn supports(self, candidate: Candidate) -> bool {
        !self.is_paced() || matches!(candidate, Candidate::Lru | Candidate::LruLmdb)
    }

    /// A cold run of `candidate`, and a warm run on the stores that it filled.
    pub(crate) fn run(self, candidate: Candidate, calls: u64) -> anyhow::Result<[Sample; 2]> {
        let (stores, replay) = (Stores::empty(candidate.tiers())?, self.replay(calls));
        let capacity = if self.is_paced() { FULL_CAPACITY } else { LRU_CAPACITY };
        let setup =
            Setup::new().with("CACHE__LRU__CAPACITY", capacity).with("PREFETCH__AHEAD", self.ahead().to_string());
        let run = |start: &'static str| {
            let sample = stores.measure(&setup, &replay).context(start)?;
            let lost = sample.unanswered + sample.refused;
            ensure!(lost == 0, "{start}: {lost} calls were refused or not answered in time");
            anyhow::Ok(sample)
        };
        Ok([run("a cold run")?, run("a warm run")?])
    }

    /// Floors that the server prefetches for a climber.
    const fn ahead(self) -> u32 {
        match self {
            Self::PrefetchedZipf | Self::PrefetchedUniform | Self::PrefetchedClimb => 2,
            _ => 0,
        }
    }

    /// `calls` calls, the same for every chain.
    fn replay(self, calls: u64) -> Replay {
        let keys = |keys: Keys| keys.numbers(FLOORS).map(|number| (TOWER, number));
        let climb =
            |climbers: u64| (0_u64..).map(move |call| (TOWER + 1 + call % climbers, (call / climbers) as u32 + 1));
        let floors: Box<dyn Iterator<Item = (u64, u32)>> = match self {
            Self::Zipf | Self::PrefetchedZipf => Box::new(keys(ZIPF)),
            Self::Uniform | Self::PrefetchedUniform => Box::new(keys(Keys::Uniform)),
            Self::Climb => Box::new(climb(CLIMBERS)),
            Self::PacedClimb | Self::PrefetchedClimb | Self::RepeatedClimb => Box::new(climb(PACED_CLIMBERS)),
        };
        let calls = if self.is_paced() { calls / PACED_DIVISOR } else { calls };
        Replay {
            messages: floors.take(calls as usize).map(|(seed, number)| load::floor_request(seed, number)).collect(),
            pace: self.is_paced().then_some(Pace::PerSecond(PACED_CALLS_PER_SECOND)),
            is_repeated: self == Self::RepeatedClimb,
        }
    }
}
