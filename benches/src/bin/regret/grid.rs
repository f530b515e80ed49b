//! Measures the cells of the grid and shows progress on standard error.

use std::time::Duration;

use benches::regret::{Cell, Options, Plan, fleet::can_run};
use indicatif::{ProgressBar, ProgressStyle};

use crate::report::{MeasuredCell, Report};

pub(crate) fn measure(cells: &[(usize, Cell)], options: &Options, plan: &Plan) -> anyhow::Result<Report> {
    let mut report = Report::new(plan);
    let progress = Progress::new(cells.len(), plan);
    for (number, cell) in cells {
        if !can_run(cell, options) {
            continue;
        }
        progress.cell(*number, cell);
        let measured = MeasuredCell::new(*number, *cell, plan.run(*cell, options)?);
        progress.done(&measured);
        report.add(measured);
    }
    Ok(report)
}

/// A progress bar with the remaining time.
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

    fn done(&self, measured: &MeasuredCell) {
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
