//! The grid, cell by cell, with the time that is left on standard error.

use std::time::Duration;

use benches::{
    load::Window,
    regret::{Bypass, Cell, Fleet, Options, Sample, fleet::can_run},
};
use indicatif::{ProgressBar, ProgressStyle};
use tokio::runtime::Builder;

use crate::report::{Measured, Report};

/// How each cell is measured.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) rounds: usize,
    /// Turns of a variant in a round.
    pub(crate) turns: usize,
    /// The measured part of a turn.
    pub(crate) turn: Duration,
    /// Load on each variant before its first turn.
    pub(crate) warmup: Duration,
}

/// The start of a turn does not count: the processors' caches hold another variant's floors.
const SETTLE: Duration = Duration::from_millis(500);

/// What starting and filling a cell takes, about.
const START: Duration = Duration::from_secs(8);

impl Plan {
    fn blocks(&self) -> usize {
        self.rounds * self.turns
    }

    /// About how long a cell takes.
    fn cell(&self) -> Duration {
        let variants = Bypass::ALL.len() as u32;
        START + variants * (self.warmup + self.blocks() as u32 * (SETTLE + self.turn))
    }
}

pub(crate) fn measure(cells: &[(usize, Cell)], options: &Options, plan: &Plan) -> anyhow::Result<Report> {
    // One thread: the load generator shares the processors with the servers, and one thread costs less than two.
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let mut report = Report::new(plan);
    let progress = Progress::new(cells.len(), plan);
    for (number, cell) in cells {
        if !can_run(cell) {
            continue;
        }
        progress.cell(*number, cell);
        let fleet = Fleet::start(&runtime, *cell, options, &Bypass::ALL, false)?;
        fleet.warm_up(plan.warmup)?;
        let samples = turns(&fleet, plan)?;
        let measured = Measured::new(*number, *cell, samples);
        progress.done(&measured);
        report.add(measured);
    }
    Ok(report)
}

/// The turns of a cell, block by block. The order within a block rotates, so that no variant always follows the same one.
fn turns(fleet: &Fleet<'_>, plan: &Plan) -> anyhow::Result<Vec<Sample>> {
    let window = Window { settle: SETTLE, measured: plan.turn, slice: Duration::from_secs(1) };
    let mut samples = Vec::new();
    for block in 0..plan.blocks() {
        let mut order = Bypass::ALL;
        if block % 2 == 1 {
            order.reverse();
        }
        order.rotate_left(block / 2 % Bypass::ALL.len());
        for bypass in order {
            samples.push(fleet.turn(bypass, window)?);
        }
    }
    Ok(samples)
}

/// Where the run is and how long it will take.
struct Progress {
    bar: ProgressBar,
    cell: Duration,
}

impl Progress {
    fn new(cells: usize, plan: &Plan) -> Self {
        let bar = ProgressBar::new(cells as u64);
        let style = ProgressStyle::with_template("{pos}/{len} cells {bar:20} {elapsed_precise} {msg}");
        bar.set_style(style.expect("a good template"));
        bar.enable_steady_tick(Duration::from_secs(1));
        Self { bar, cell: plan.cell() }
    }

    fn cell(&self, number: usize, cell: &Cell) {
        let left = self.cell * (self.bar.length().unwrap_or(0) - self.bar.position()) as u32;
        let message = format!("cell {number}: {cell}; about {} left", indicatif::HumanDuration(left));
        if self.bar.is_hidden() {
            eprintln!("{message}");
        }
        self.bar.set_message(message);
    }

    fn done(&self, measured: &Measured) {
        let line = measured.line();
        if self.bar.is_hidden() {
            eprintln!("  {line}");
        } else {
            self.bar.println(line);
        }
        self.bar.inc(1);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
