//! The regression guard: `cargo run --release -p benches --bin guard`. It fails when a ratio exceeds the record.
//!
//! Each case times our code and a peer that does the same work, in alternating turns of one run. The guard compares the
//! ratio of the two, since times differ between days and machines. If the server is built, it also compares new floors
//! with generating them, and the automatic bypass with the better fixed choice, end to end. `--update` replaces the
//! record. `--smoke`, which CI runs, does everything once and checks the results, not the times.

mod cases;
mod misses;
mod regret;

use std::{collections::BTreeMap, fs, path::PathBuf, process::ExitCode};

use anyhow::Context;
use benches::{
    report::{self, Origin},
    table::table,
    timing::median,
};
use cases::Case;
use clap::Parser;
use serde::{Deserialize, Serialize};

#[derive(Debug, Parser)]
#[command(about = "Fails when our code has become slower relative to a peer than in the last record")]
struct Args {
    /// Run everything once and check the results, not the times
    #[arg(long)]
    smoke: bool,
    /// Replace the record with this run
    #[arg(long, conflicts_with = "smoke")]
    update: bool,
    /// How much a ratio may exceed the record, in percent
    #[arg(long, default_value_t = 25, value_name = "PERCENT")]
    budget: u32,
    /// File of the record
    #[arg(long, value_name = "FILE", default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/records/guard.json"))]
    record: PathBuf,
}

/// Turns of each case. The number is odd, so that the median is one of them.
const TURNS: usize = 41;

/// The ratios that later runs are compared with.
#[derive(Debug, Serialize, Deserialize)]
struct Record {
    date: String,
    machine: String,
    /// The time of our code divided by the peer's, by case.
    ratios: BTreeMap<String, f64>,
}

fn main() -> anyhow::Result<ExitCode> {
    let args = Args::parse();
    let cases = cases::all();
    if args.smoke {
        for mut case in cases {
            case.turn();
            println!("{}: done and checked", case.name);
        }
        misses::smoke()?;
        println!("new floors: done and checked");
        if let Some(cell) = regret::smoke()? {
            println!("auto / the better fixed choice: {cell}: done and checked");
        }
        return Ok(ExitCode::SUCCESS);
    }
    report::ensure_release()?;
    let (mut ratios, count) = (BTreeMap::new(), cases.len());
    for (at, case) in cases.into_iter().enumerate() {
        eprintln!("case {} of {count}: {}", at + 1, case.name);
        ratios.insert(case.name.to_owned(), ratio(case));
    }
    ratios.extend(misses::ratios()?);
    ratios.extend(regret::ratios()?);
    if args.update {
        let origin = Origin::of("guard");
        let record = Record { date: origin.date().to_owned(), machine: origin.machine, ratios };
        fs::write(&args.record, serde_json::to_string_pretty(&record)? + "\n")?;
        println!("recorded in {}", args.record.display());
        return Ok(ExitCode::SUCCESS);
    }
    let record = fs::read(&args.record).with_context(|| format!("no record at {}", args.record.display()))?;
    Ok(compare(&serde_json::from_slice(&record)?, &ratios, args.budget))
}

/// The median ratio over [`TURNS`] turns.
fn ratio(mut case: Case) -> f64 {
    case.turn();
    median((0..TURNS).map(|_| case.turn()))
}

fn compare(record: &Record, ratios: &BTreeMap<String, f64>, budget: u32) -> ExitCode {
    let mut table = table(["ours / its peer", "record", "now", "change", ""]);
    let mut over = 0;
    for (name, now) in ratios {
        let Some(then) = record.ratios.get(name) else {
            table.add_row([name.as_str(), "-", &format!("{now:.3}"), "", "new; --update records it"]);
            continue;
        };
        let change = (now / then - 1.0) * 100.0;
        let past = change > f64::from(budget);
        over += u32::from(past);
        let verdict = if past { "past the budget" } else { "" };
        table.add_row([name, &format!("{then:.3}"), &format!("{now:.3}"), &format!("{change:+.0} %"), verdict]);
    }
    println!("record of {}: {}\n\n{table}", record.date, record.machine);
    if over == 0 {
        return ExitCode::SUCCESS;
    }
    eprintln!("{over} past the budget of {budget} %. Run again on an idle machine; if it stays, find out why.");
    ExitCode::FAILURE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn past_the_budget_fails_and_within_it_does_not() {
        let record = Record {
            date: String::new(),
            machine: String::new(),
            ratios: [("a".to_owned(), 1.0)].into_iter().collect(),
        };
        let run = |now| compare(&record, &[("a".to_owned(), now)].into_iter().collect(), 25);
        assert_eq!(run(1.2), ExitCode::SUCCESS);
        assert_eq!(run(1.3), ExitCode::FAILURE);
        assert_eq!(run(0.1), ExitCode::SUCCESS);
    }
}
