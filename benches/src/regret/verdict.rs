//! The ratio of `auto` to the better fixed choice, with an interval.
//!
//! The unit is a *block*: one turn of each variant. The logarithm of the ratio of two variants is taken within each
//! block, so that a drift of the machine that is slower than a block cancels. The interval is Student's t over the
//! blocks. Slices of one turn are not independent samples: with them the interval would be too narrow.
//!
//! The better fixed choice is the one with the better mean over the same blocks. Where the two differ only by noise,
//! this makes `auto` look worse by about half the noise of a mean, never better.

use std::fmt;

use floor_cache::Bypass;
use serde::Serialize;

use super::{cell::Cell, sample::Sample};
use crate::timing::mean_and_interval;

/// A ratio with the ends of its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Ratio {
    /// The geometric mean.
    pub value: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end; infinite with one sample.
    pub high: f64,
}

impl Ratio {
    /// The ratio of the first to the second value of each of `pairs`.
    pub fn of(pairs: impl IntoIterator<Item = (f64, f64)>) -> Self {
        let logs: Vec<f64> = pairs.into_iter().map(|(one, other)| (one / other).ln()).collect();
        let (mean, half) = mean_and_interval(&logs);
        Self { value: mean.exp(), low: (mean - half).exp(), high: (mean + half).exp() }
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.3} ({:.3} .. {:.3})", self.value, self.low, self.high)
    }
}

/// A figure of a sample.
type Figure = fn(&Sample) -> f64;

/// The result of a cell.
#[derive(Debug, Clone, Serialize)]
pub struct Verdict {
    /// The cell.
    #[serde(serialize_with = "super::as_text")]
    pub cell: Cell,
    /// The fixed choice that did better.
    #[serde(serialize_with = "super::as_text")]
    pub best: Bypass,
    /// The ratio that decides, below 1 where `auto` is worse: answers a second, or at low load the inverse median
    /// latency.
    pub primary: Ratio,
    /// Answers a second, `auto` to the best.
    pub rate: Ratio,
    /// The 99th percentile of the latency, the best to `auto`. Below 1, `auto` is worse.
    pub p99: Ratio,
    /// Server CPU for each answer, `auto` to the best. Above 1, `auto` is worse.
    pub cpu: Ratio,
}

impl Verdict {
    /// A cell passes when the upper end of its primary ratio reaches this.
    pub const TARGET: f64 = 0.97;

    /// The verdict on the turns of a cell, which are in blocks of one turn of each variant.
    pub fn of(cell: Cell, samples: &[Sample]) -> Self {
        let primary: Figure = if cell.shape.is_low_load() { |it| 1.0 / it.p50_us } else { |it| it.rate };
        let off_to_forced = Ratio::of(paired(samples, Bypass::Off, Bypass::Forced, primary));
        let best = if off_to_forced.value >= 1.0 { Bypass::Off } else { Bypass::Forced };
        let ratio = |figure: Figure| Ratio::of(paired(samples, Bypass::Auto, best, figure));
        Self {
            cell,
            best,
            primary: ratio(primary),
            rate: ratio(|it| it.rate),
            p99: ratio(|it| 1.0 / it.p99_us),
            cpu: ratio(|it| it.server_cpu_us),
        }
    }

    /// Whether the interval of the primary ratio reaches the target.
    pub fn passes(&self) -> bool {
        self.primary.high >= Self::TARGET
    }
}

/// The figures of two variants, paired by block.
fn paired(samples: &[Sample], one: Bypass, other: Bypass, figure: Figure) -> impl Iterator<Item = (f64, f64)> {
    let of = move |bypass| samples.iter().filter(move |it| it.bypass == bypass).map(figure);
    of(one).zip(of(other))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(bypass: Bypass, rate: f64, p50_us: f64) -> Sample {
        Sample {
            bypass,
            answers: 100,
            rate,
            p50_us,
            p99_us: p50_us * 2.0,
            server_cpu_us: 1e6 / rate,
            redis_cpu_us: 0.0,
            client_cpu_us: 0.0,
            generations: 0,
            served_by: [("lru".to_owned(), 25), ("redis".to_owned(), 75)].into(),
            slices: Vec::new(),
        }
    }

    /// The speed of the machine differs between the blocks, which cancels within each.
    #[test]
    fn ratios_are_taken_within_blocks_and_against_the_better_choice() {
        let block = |speed: f64| {
            [(Bypass::Auto, 90.0), (Bypass::Off, 100.0), (Bypass::Forced, 20.0)]
                .map(|(bypass, rate)| sample(bypass, rate * speed, 1e3 / (rate * speed)))
        };
        let samples: Vec<Sample> = [1.0, 0.5, 0.75].into_iter().flat_map(block).collect();
        let verdict = Verdict::of(Cell::PLAIN, &samples);
        assert_eq!(verdict.best, Bypass::Off);
        assert!((verdict.primary.value - 0.9).abs() < 1e-9 && verdict.primary.high < 0.901, "{}", verdict.primary);
        assert!((verdict.cpu.value - 1.0 / 0.9).abs() < 1e-9);
        assert!(!verdict.passes());
        let low_load = Cell { shape: super::super::Shape::new(1, 1), ..Cell::PLAIN };
        assert!((Verdict::of(low_load, &samples).primary.value - 0.9).abs() < 1e-9);
        assert_eq!(Sample::of_all(&[&samples[0], &samples[3]]).shares(), [("redis", 75.0), ("lru", 25.0)]);
    }

    #[test]
    fn one_block_has_no_interval_and_fails_nothing() {
        let samples = Bypass::ALL.map(|bypass| sample(bypass, if bypass == Bypass::Auto { 1.0 } else { 2.0 }, 1.0));
        assert!(Verdict::of(Cell::PLAIN, &samples).passes());
    }
}
