//! How a cell is measured: in short turns of its variants, alternating.

use std::time::Duration;

use super::{cell::Cell, fleet::Bypass, fleet::Fleet, fleet::Options, fleet::VariantSpec, sample::Sample};
use crate::load::Window;

/// Lengths and numbers of turns.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    /// Rounds.
    pub rounds: usize,
    /// Turns of a variant in a round.
    pub turns: usize,
    /// The measured part of a turn.
    pub turn: Duration,
    /// Load on each variant before its first turn.
    pub warmup: Duration,
}

/// The start of a turn does not count: the caches of the processors hold another variant's floors.
const SETTLE: Duration = Duration::from_millis(500);

/// What it takes to fill the stores of a cell and to start its servers, about.
const START: Duration = Duration::from_secs(8);

/// Answers are counted for each second too.
const SLICE: Duration = Duration::from_secs(1);

impl Plan {
    /// Short runs, for the regression guard.
    pub const SHORT: Self =
        Self { rounds: 1, turns: 6, turn: Duration::from_millis(1500), warmup: Duration::from_secs(3) };

    /// Blocks in all: in each, every variant has a turn.
    #[must_use]
    pub const fn blocks(&self) -> usize {
        self.rounds * self.turns
    }

    /// About how long a cell takes with the three settings.
    #[must_use]
    pub fn cell(&self) -> Duration {
        let variants = Bypass::ALL.len() as u32;
        START + variants * (self.warmup + self.blocks() as u32 * (SETTLE + self.turn))
    }

    /// The turns of `auto`, `off` and `forced` in `cell`, on servers that are started for it.
    ///
    /// # Errors
    /// When a process does not start, or a call fails.
    pub fn run(&self, cell: Cell, options: &Options) -> anyhow::Result<Vec<Sample>> {
        let mut fleet = Fleet::start(cell, options, &Bypass::ALL.map(VariantSpec::from), false)?;
        Ok(self.turns(&mut fleet)?.into_iter().flatten().collect())
    }

    /// Warms the variants of `fleet` up and gives each its turns, block by block. Within a block the samples stand in the
    /// order of the variants; the turns are made in an order that rotates, so that no variant always follows the same one.
    ///
    /// # Errors
    /// When a call fails.
    pub fn turns(&self, fleet: &mut Fleet) -> anyhow::Result<Vec<Vec<Sample>>> {
        fleet.warm_up(self.warmup)?;
        let window = Window { settle: SETTLE, measured: self.turn, slice: SLICE };
        let (count, mut blocks) = (fleet.variants(), Vec::new());
        for block in 0..self.blocks() {
            let mut order: Vec<usize> = (0..count).collect();
            if block % 2 == 1 {
                order.reverse();
            }
            order.rotate_left(block / 2 % count);
            let mut samples = Vec::new();
            for variant in order {
                samples.push((variant, fleet.turn(variant, window)?));
            }
            samples.sort_by_key(|(variant, _)| *variant);
            blocks.push(samples.into_iter().map(|(_, sample)| sample).collect());
        }
        Ok(blocks)
    }
}
