//! The ratio of `auto` to the better fixed choice, with an interval.
//!
//! The logarithm of the ratio of two variants is taken within each round of turns, so that a drift of the machine that
//! is slower than a round cancels. The interval is Student's t over the rounds. The seconds of one turn are not
//! independent samples: with them the interval would be too narrow.
//!
//! The better fixed choice is the one with the better mean over the same rounds. Where the two differ only by noise,
//! this makes `auto` look worse by about half the noise of a mean, never better.

use floor_cache::Bypass;

use super::cell::Cell;
use crate::sample::{Figure, Ratio, Samples};

/// The result of a cell.
#[derive(Debug, Clone)]
pub struct Verdict {
    /// The cell.
    pub cell: Cell,
    /// The fixed choice that did better.
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

    /// The verdict on the turns of a cell.
    pub fn of(cell: Cell, samples: &Samples) -> Self {
        let primary: Figure = if cell.is_low_load() { |it| 1.0 / it.p50_us } else { |it| it.rate };
        let ratio =
            |one: Bypass, other: Bypass, figure| samples.ratio(&cell.to_string(), one.name(), other.name(), figure);
        let off_to_forced = ratio(Bypass::Off, Bypass::Forced, primary);
        let best = if off_to_forced.value >= 1.0 { Bypass::Off } else { Bypass::Forced };
        let auto_to_best = |figure: Figure| ratio(Bypass::Auto, best, figure);
        Self {
            cell,
            best,
            primary: auto_to_best(primary),
            rate: auto_to_best(|it| it.rate),
            p99: auto_to_best(|it| 1.0 / it.p99_us),
            cpu: auto_to_best(|it| it.server_cpu_us),
        }
    }

    /// Whether the interval of the primary ratio reaches the target.
    pub fn passes(&self) -> bool {
        self.primary.high >= Self::TARGET
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{load::Shape, sample::Sample};

    fn samples(cell: Cell, rounds: &[f64], rates: [f64; 3]) -> Samples {
        let mut samples = Samples::default();
        for (round, speed) in rounds.iter().enumerate() {
            for (bypass, rate) in Bypass::ALL.into_iter().zip(rates) {
                let (rate, p50_us) = (rate * speed, 1e3 / (rate * speed));
                let sample =
                    Sample { rate, p50_us, p99_us: p50_us * 2.0, server_cpu_us: 1e6 / rate, ..Sample::default() };
                samples.push(sample.named(cell, bypass, round));
            }
        }
        samples
    }

    /// The speed of the machine differs between the rounds, which cancels within each. Rates: auto, off, forced.
    #[test]
    fn ratios_are_taken_within_rounds_and_against_the_better_choice() {
        let of = |cell| Verdict::of(cell, &samples(cell, &[1.0, 0.5, 0.75], [90.0, 100.0, 20.0]));
        let verdict = of(Cell::PLAIN);
        assert_eq!(verdict.best, Bypass::Off);
        assert!((verdict.primary.value - 0.9).abs() < 1e-9 && verdict.primary.high < 0.901, "{}", verdict.primary);
        assert!((verdict.cpu.value - 1.0 / 0.9).abs() < 1e-9);
        assert!(!verdict.passes());
        let low_load = Cell { shape: Shape::new(1, 1), ..Cell::PLAIN };
        assert!((of(low_load).primary.value - 0.9).abs() < 1e-9);
    }
}
