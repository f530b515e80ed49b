//! Compares the automatic bypass with the better fixed choice: `cargo run --release -p benches --bin regret`.
//!
//! Each cell of the grid is a store, a load and a number of servers. Three servers (or sets of servers) run for it,
//! with `cache.bypass` set to `auto`, `off` and `forced`, on stores that hold every floor. They are loaded over gRPC in
//! turns of a few seconds, in rotating order. Turns are short, so that a drift of the machine affects all three alike.

mod servers;

use std::{fmt::Write as _, ops::RangeInclusive, time::Duration};

use anyhow::{Context, ensure};
use benches::{
    progress::Progress,
    regret::{Cell, Plan, Verdict, grid, measure},
    report::{Report, ensure_release},
    sample::{CLIENT_CPU, CPU, Column, GENERATED, P50, P99, RATE, REDIS_CPU},
    server::Setup,
    table::table,
};
use clap::{Parser, Subcommand};

#[derive(Debug, Parser)]
#[command(about = "Compares cache.bypass = \"auto\" with the better of the fixed choices")]
struct Args {
    #[command(subcommand)]
    part: Option<Mode>,
    #[command(flatten)]
    common: Common,
    /// Only these cells: part of a name, or numbers and ranges of the list, as in 0,4,7-9
    #[arg(long, value_name = "FILTER", global = true)]
    cells: Option<String>,
    /// Only print the cells
    #[arg(long, global = true)]
    list: bool,
}

/// Measurements other than the grid.
#[derive(Debug, Subcommand)]
enum Mode {
    /// Compare auto with off for three servers on one Redis: generations, answers and CPU
    Servers,
    /// Measure other cells: from one floor a call of a Redis at four distances, by size and by calls in flight
    Distances,
}

/// Options of all commands.
#[derive(Debug, Clone, clap::Args)]
struct Common {
    /// Setting of every server, by its environment variable without FLOORS__, for example CACHE__COMPRESS=true
    #[arg(long = "set", value_name = "KEY=VALUE", global = true)]
    settings: Vec<String>,
    /// Number of rounds. In each, every variant of a cell is measured for ten seconds, in turns of 2.5 s
    #[arg(long, default_value_t = 4, global = true)]
    rounds: usize,
    /// For developers: a warm-up of 1 s instead of 5, and 2 s for each figure. It shows that the command works, and no
    /// figure to publish
    #[arg(long, global = true)]
    quick: bool,
}

impl Common {
    fn setup(&self) -> anyhow::Result<Setup> {
        self.settings.iter().try_fold(Setup::new(), |setup, text| {
            let (key, value) =
                text.split_once('=').with_context(|| format!("{text:?} is not of the form KEY=VALUE"))?;
            Ok(setup.with(key, value))
        })
    }

    fn plan(&self) -> Plan {
        let seconds = Duration::from_secs;
        if self.quick {
            return Plan { turns: 2, turn: seconds(1), warmup: seconds(1) };
        }
        Plan { turns: 4 * self.rounds, turn: Duration::from_millis(2500), warmup: seconds(5) }
    }
}

fn main() -> anyhow::Result<()> {
    let Args { part, common, cells, list } = Args::parse();
    let all = if matches!(part, Some(Mode::Distances)) { grid::distances().collect() } else { grid::GRID.to_vec() };
    let cells = select(&all, cells.as_deref().unwrap_or_default())?;
    if list {
        cells.iter().for_each(|(number, cell)| println!("{number:2}  {cell}"));
        return Ok(());
    }
    ensure_release()?;
    match part {
        Some(Mode::Servers) => servers::run(&common),
        None | Some(Mode::Distances) => run(&cells, &common),
    }
}

/// Measures the cells.
fn run(cells: &[(usize, Cell)], common: &Common) -> anyhow::Result<()> {
    let (setup, plan, mut verdicts) = (common.setup()?, common.plan(), Vec::new());
    let mut report = Report::start("regret");
    let cells: Vec<_> = cells.iter().filter(|(_, cell)| cell.can_run()).collect();
    let progress = Progress::start(plan.total() * cells.len() as u32);
    for (number, cell) in cells {
        measure(*cell, &setup, &plan, &progress, |sample| report.add(sample))?;
        verdicts.push((*number, Verdict::of(*cell, &report.samples)));
    }
    drop(progress);
    verdicts.sort_by(|(_, one), (_, other)| one.primary.value.total_cmp(&other.primary.value));
    report.finish("Regret", &markdown(&report, &verdicts, &plan));
    Ok(())
}

/// The columns of a cell's figures.
const FIGURES: [Column; 7] = [RATE, P50, P99, CPU, REDIS_CPU, CLIENT_CPU, GENERATED];

/// The tables, with the worst cell first.
fn markdown(report: &Report, verdicts: &[(usize, Verdict)], plan: &Plan) -> String {
    let header = ["cell", "", "primary", "better", "auto / better", "answers/s", "p99 (better / auto)", "CPU", ""];
    let (mut verdicts_table, mut figures, mut failed) = (table(header), String::new(), 0);
    for (number, verdict) in verdicts {
        failed += usize::from(!verdict.passes());
        verdicts_table.add_row([
            number.to_string(),
            verdict.cell.to_string(),
            if verdict.cell.is_low_load() { "p50" } else { "answers/s" }.to_owned(),
            verdict.best.to_string(),
            verdict.primary.to_string(),
            verdict.rate.to_string(),
            verdict.p99.to_string(),
            verdict.cpu.to_string(),
            if verdict.passes() { "passes" } else { "FAILS" }.to_owned(),
        ]);
        let samples = report.samples.table(&verdict.cell.to_string(), &FIGURES, &[]);
        let _ = write!(figures, "\n### {}\n\n{samples}\n", verdict.cell);
    }
    format!(
        "{} turns of {:?}. Ratios are geometric means over rounds of turns with 95 % intervals (Student's t); figures are \
         medians with the least and the greatest. {failed} of {} cells fail: the interval of the primary ratio stays \
         below {}.\n\n### auto to the better fixed choice, worst cell first\n\n{verdicts_table}\n{figures}",
        plan.turns,
        plan.turn,
        verdicts.len(),
        Verdict::TARGET
    )
}

/// The cells of `all` that `filter` selects, with their numbers in the list.
fn select(all: &[Cell], filter: &str) -> anyhow::Result<Vec<(usize, Cell)>> {
    let numbered = all.iter().copied().enumerate();
    let chosen: Vec<(usize, Cell)> = match ranges(filter) {
        Some(ranges) => numbered.filter(|(number, _)| ranges.iter().any(|range| range.contains(number))).collect(),
        None => numbered.filter(|(_, cell)| cell.to_string().contains(filter)).collect(),
    };
    ensure!(!chosen.is_empty(), "no cell is named by {filter:?}; --list prints them");
    Ok(chosen)
}

/// Parses numbers and ranges, as in `0,4,7-9`. `None` for other text.
fn ranges(text: &str) -> Option<Vec<RangeInclusive<usize>>> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.parse().ok()?..=last.parse().ok()?)
    };
    text.split(',').map(range).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_chosen_by_number_range_or_name() {
        let numbers =
            |filter| select(grid::GRID, filter).unwrap().into_iter().map(|(number, _)| number).collect::<Vec<_>>();
        assert_eq!(numbers("0,2-3"), [0, 2, 3]);
        assert_eq!(numbers("redis 4x10 uniform 100 b1 s1"), [0]);
        assert_eq!(numbers("").len(), grid::GRID.len());
        assert!(select(grid::GRID, "rocksdb").unwrap_err().to_string().contains("rocksdb"));
    }
}
