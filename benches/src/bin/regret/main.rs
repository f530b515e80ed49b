//! Compares the automatic bypass with the better fixed choice: `cargo run --release -p benches --bin regret`.
//!
//! Each cell of the grid is a store, a load and a number of servers. Three servers (or sets of servers) run for it,
//! with `cache.bypass` set to `auto`, `off` and `forced`, on stores that hold every floor. They are loaded over gRPC in
//! turns of a few seconds, in rotating order. Turns are short, so that a drift of the machine affects all three alike.

mod conditions;
mod servers;

use std::{fmt::Write as _, process::ExitCode, time::Duration};

use anyhow::{Context, ensure};
use benches::{
    regret::{Cell, Plan, Verdict, grid, measure},
    report::{Record, RecordArgs, ensure_release},
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
    /// Setting of every server, by its environment variable without FLOORS__, for example CACHE__COMPRESS=true
    #[arg(long = "set", value_name = "KEY=VALUE", global = true)]
    settings: Vec<String>,
    /// For developers: a warm-up of 1 s instead of 5, and 2 s for each figure instead of 10 or more. It shows that the
    /// command works, and no figure to publish
    #[arg(long, global = true)]
    quick: bool,
    #[command(flatten)]
    record: RecordArgs,
    /// Exit with 1 when a cell, a target or a condition fails
    #[arg(long, global = true)]
    check: bool,
}

/// The plan of `--quick`.
const QUICK: Plan = Plan { turns: 2, turn: Duration::from_secs(1), warmup: Duration::from_secs(1) };

impl Common {
    fn setup(&self) -> anyhow::Result<Setup> {
        self.settings.iter().try_fold(Setup::new(), |setup, text| {
            let (key, value) =
                text.split_once('=').with_context(|| format!("{text:?} is not of the form KEY=VALUE"))?;
            Ok(setup.with(key, value))
        })
    }
}

fn main() -> anyhow::Result<ExitCode> {
    let args = Args::parse();
    let common = &args.common;
    let passes = match &args.part {
        Some(Mode::Busy) => {
            conditions::keep_processor_busy();
            true
        }
        Some(Mode::Servers(part)) => ensure_release().and_then(|()| servers::run(part, common))?,
        Some(Mode::Conditions(part)) => ensure_release().and_then(|()| conditions::run(part, common))?,
        None => {
            let cells = select(if args.short { grid::SHORT } else { grid::GRID }, args.cells.as_deref())?;
            if args.list {
                cells.iter().for_each(|(number, cell)| println!("{number:2}  {cell}"));
                return Ok(ExitCode::SUCCESS);
            }
            ensure_release().and_then(|()| run(&cells, &args))?
        }
    };
    Ok(if passes || !common.check { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Measures the cells and prints the progress on standard error. Returns whether all pass.
fn run(cells: &[(usize, Cell)], args: &Args) -> anyhow::Result<bool> {
    let plan = match args {
        Args { short: true, .. } => Plan::SHORT,
        Args { common: Common { quick: true, .. }, .. } => QUICK,
        _ => Plan {
            turns: args.rounds * (args.seconds / args.turn).round().max(1.0) as usize,
            turn: Duration::try_from_secs_f64(args.turn.min(args.seconds))?,
            warmup: Duration::try_from_secs_f64(args.warmup)?,
        },
    };
    let (setup, mut verdicts) = (args.common.setup()?, Vec::new());
    let mut record = Record::start(&args.common.record, "regret", "regret")?;
    for (done, (number, cell)) in cells.iter().enumerate().filter(|(_, (_, cell))| cell.can_run()) {
        eprintln!("cell {number}: {cell}; {} of {}", done + 1, cells.len());
        measure(*cell, &setup, &plan, |sample| record.add(sample))?;
        let verdict = Verdict::of(*cell, &record.samples);
        eprintln!("  auto to {}: {}", verdict.best, verdict.primary);
        verdicts.push((*number, verdict));
    }
    verdicts.sort_by(|(_, one), (_, other)| one.primary.value.total_cmp(&other.primary.value));
    record.finish("Regret", &markdown(&record, &verdicts, &plan))?;
    Ok(verdicts.iter().all(|(_, verdict)| verdict.passes()))
}

/// The columns of a cell's figures.
const FIGURES: [Column; 7] = [RATE, P50, P99, CPU, REDIS_CPU, CLIENT_CPU, GENERATED];

/// The tables, with the worst cell first.
fn markdown(record: &Record, verdicts: &[(usize, Verdict)], plan: &Plan) -> String {
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
        let samples = record.samples.table(&verdict.cell.to_string(), &FIGURES, &[]);
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

/// The cells that `filter` selects, with their numbers in the list.
fn select(all: &[Cell], filter: Option<&str>) -> anyhow::Result<Vec<(usize, Cell)>> {
    let (numbered, filter) = (all.iter().copied().enumerate(), filter.unwrap_or_default());
    let chosen: Vec<(usize, Cell)> = match ranges(filter) {
        Some(ranges) => numbered.filter(|(number, _)| ranges.iter().any(|range| range.contains(number))).collect(),
        None => numbered.filter(|(_, cell)| cell.to_string().contains(filter)).collect(),
    };
    ensure!(!chosen.is_empty(), "no cell is named by {filter:?}; --list prints them");
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
        assert_eq!(select(grid::GRID, None).unwrap().len(), grid::GRID.len());
        assert!(select(grid::GRID, Some("rocksdb")).unwrap_err().to_string().contains("rocksdb"));
    }
}
