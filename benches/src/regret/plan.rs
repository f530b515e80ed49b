//! The schedule of a cell: short turns of its variants, alternating.

use std::time::Duration;

use super::{
    cell::Cell,
    fleet::{EVERY_BYPASS, Fleet, SLICE},
    sample::Sample,
};
use crate::{load::Window, server::Setup};

/// The number of turns and their lengths.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    /// The number of rounds.
    pub rounds: usize,
    /// Turns of a variant in a round.
    pub turns: usize,
    /// The measured part of a turn.
    pub turn: Duration,
    /// Load on each variant before its first turn.
    pub warmup: Duration,
}

/// The start of a turn that does not count: the processors' caches hold another variant's floors.
const SETTLE: Duration = Duration::from_millis(500);

impl Plan {
    /// Short runs, for the regression guard.
    pub const SHORT: Self =
        Self { rounds: 1, turns: 6, turn: Duration::from_millis(1500), warmup: Duration::from_secs(3) };

    /// The number of blocks. In a block every variant has one turn.
    pub const fn blocks(&self) -> usize {
        self.rounds * self.turns
    }

    /// Starts servers for `cell` and returns the turns of `auto`, `off` and `forced`.
    pub fn run(&self, cell: Cell, setup: &Setup) -> anyhow::Result<Vec<Sample>> {
        let mut fleet = Fleet::start(cell, setup, &EVERY_BYPASS, false)?;
        Ok(self.turns(&mut fleet)?.into_iter().flatten().collect())
    }

    /// Warms up the variants of `fleet` and runs their turns. Returns the samples by block, each in the order of the
    /// variants. The turns of a block run in an order that rotates, so that no variant always follows the same one.
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
