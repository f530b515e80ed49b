//! Compares the automatic bypass with the better fixed choice: `cargo run --release -p benches --bin regret`.
//!
//! Each cell of the grid is a store, a load and a number of servers. Three servers (or sets of servers) run for it,
//! with `cache.bypass` set to `auto`, `off` and `forced`, on stores that hold every floor. They are loaded over gRPC in
//! turns of a few seconds, in rotating order. Turns are short, so that a drift of the machine affects all three alike.

mod conditions;
mod report;
mod servers;

use std::{path::PathBuf, process::ExitCode, time::Duration};

use anyhow::{Context, bail};
use benches::{
    regret::{Cell, Plan, fleet::can_run, grid},
    report::{RecordArgs, ensure_release},
    server::Setup,
};
use clap::{Parser, Subcommand};
use report::{MeasuredCell, Report};

#[derive(Debug, Parser)]
#[command(about = "Compares cache.bypass = \"auto\" with the better of the fixed choices")]
struct Args {
    #[command(subcommand)]
    part: Option<Mode>,
    #[command(flatten)]
    common: Common,
    /// Only these cells: part of a name, or numbers and ranges of the list, as in 0,4,7-9
    #[arg(long, value_name = "FILTER")]
    cells: Option<String>,
    /// Only print the cells
    #[arg(long)]
    list: bool,
    /// Measure the few cells of the regression guard, for as long as the guard does
    #[arg(long, conflicts_with_all = ["rounds", "seconds", "turn", "warmup"])]
    short: bool,
    /// Number of rounds; in each, every variant is measured for --seconds
    #[arg(long, default_value_t = 4)]
    rounds: usize,
    /// Measured seconds of each variant in a round
    #[arg(long, default_value_t = 10.0)]
    seconds: f64,
    /// Measured seconds of a turn; the turns of a round alternate with those of the other variants
    #[arg(long, default_value_t = 2.5)]
    turn: f64,
    /// Seconds of load on each variant before the first turn
    #[arg(long, default_value_t = 5.0)]
    warmup: f64,
}

/// Measurements other than the grid.
#[derive(Debug, Subcommand)]
enum Mode {
    /// Compare auto with off for three servers on one Redis: generations, answers and CPU
    Servers(servers::ServersArgs),
    /// Measure with a Redis that changes its speed or stalls, on a busy machine, with one thread for generation
    Conditions(conditions::ConditionsArgs),
    /// Keep a processor busy until the parent process ends
    #[command(hide = true)]
    Busy,
}

/// Options of all commands.
#[derive(Debug, Clone, clap::Args)]
struct Common {
    /// The server to measure; without it FLOORS_BENCH_SERVER, else the one in the directory of this command
    #[arg(long, value_name = "PATH", global = true)]
    server_binary: Option<PathBuf>,
    /// Setting of every server, by its environment variable without FLOORS__, for example CACHE__HEDGE=false
    #[arg(long = "set", value_name = "KEY=VALUE", global = true)]
    settings: Vec<String>,
    #[command(flatten)]
    record: RecordArgs,
    /// Exit with 1 when a cell, a target or a condition fails
    #[arg(long, global = true)]
    check: bool,
}

impl Common {
    fn setup(&self) -> anyhow::Result<Setup> {
        let binary = self.server_binary.as_ref().map(std::path::absolute).transpose()?;
        self.settings.iter().try_fold(binary.map_or_else(Setup::new, Setup::of_binary), |setup, text| {
            let (key, value) =
                text.split_once('=').with_context(|| format!("{text:?} is not of the form KEY=VALUE"))?;
            Ok(setup.with(key, value))
        })
    }
}

fn main() -> anyhow::Result<ExitCode> {
    let args = Args::parse();
    let exit = |passes| if passes || !args.common.check { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    if let Some(part) = &args.part {
        return match part {
            Mode::Busy => {
                conditions::keep_processor_busy();
                Ok(ExitCode::SUCCESS)
            }
            Mode::Servers(part) => ensure_release().and_then(|()| servers::run(part, &args.common)).map(exit),
            Mode::Conditions(part) => ensure_release().and_then(|()| conditions::run(part, &args.common)).map(exit),
        };
    }
    let setup = args.common.setup()?;
    let all = if args.short { grid::SHORT } else { grid::GRID };
    let cells = select(all, args.cells.as_deref())?;
    if args.list {
        for (number, cell) in cells {
            println!("{number:2}  {cell}");
        }
        return Ok(ExitCode::SUCCESS);
    }
    ensure_release()?;
    let plan = Plan {
        rounds: args.rounds,
        turns: (args.seconds / args.turn).round().max(1.0) as usize,
        turn: Duration::try_from_secs_f64(args.turn.min(args.seconds))?,
        warmup: Duration::try_from_secs_f64(args.warmup)?,
    };
    let plan = if args.short { Plan::SHORT } else { plan };
    let report = measure(&cells, &setup, &plan)?;
    args.common.record.report(&report.origin, "regret", "Regret", &report.markdown(), &report)?;
    Ok(exit(report.passes()))
}

/// Measures the cells and prints the progress on standard error.
fn measure(cells: &[(usize, Cell)], setup: &Setup, plan: &Plan) -> anyhow::Result<Report> {
    let mut report = Report::new(plan);
    for (done, (number, cell)) in cells.iter().enumerate().filter(|(_, (_, cell))| can_run(cell, setup)) {
        eprintln!("cell {number}: {cell}; {} of {}", done + 1, cells.len());
        let measured = MeasuredCell::new(*number, *cell, plan.run(*cell, setup)?);
        eprintln!("  {}", measured.line());
        report.add(measured);
    }
    Ok(report)
}

/// The cells that `filter` selects, with their numbers in the list.
fn select(all: &[Cell], filter: Option<&str>) -> anyhow::Result<Vec<(usize, Cell)>> {
    let numbered = all.iter().copied().enumerate();
    let Some(filter) = filter else { return Ok(numbered.collect()) };
    let chosen: Vec<(usize, Cell)> = match ranges(filter) {
        Some(ranges) => numbered.filter(|(number, _)| ranges.iter().any(|range| range.contains(number))).collect(),
        None => numbered.filter(|(_, cell)| cell.to_string().contains(filter)).collect(),
    };
    if chosen.is_empty() {
        bail!("no cell is named by {filter:?}; --list prints them");
    }
    Ok(chosen)
}

/// Parses numbers and ranges, as in `0,4,7-9`. `None` for other text.
fn ranges(text: &str) -> Option<Vec<std::ops::RangeInclusive<usize>>> {
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
        let numbers = |filter| {
            select(grid::GRID, Some(filter)).unwrap().into_iter().map(|(number, _)| number).collect::<Vec<_>>()
        };
        assert_eq!(numbers("0,2-3"), [0, 2, 3]);
        assert_eq!(numbers("redis 4x10 uniform 100 b1 s1"), [0]);
        assert!(select(grid::GRID, Some("rocksdb")).unwrap_err().to_string().contains("rocksdb"));
    }
}
