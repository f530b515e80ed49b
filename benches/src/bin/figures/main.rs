//! Prints the medians and percentiles of `docs/benchmarks.md`: `cargo run --release -p benches --bin figures`.
//!
//! Unlike criterion it measures the median, or the p99, over a thousand different floors, and starts the server.

mod chain;
mod floors;
mod serving;

use std::{fs, path::PathBuf};

use benches::machine::Machine;
use clap::Parser;
use comfy_table::{Table, presets::ASCII_MARKDOWN};

struct Figure {
    what: &'static str,
    measured: String,
    /// The target in `docs/benchmarks.md`.
    aim: &'static str,
}

impl Figure {
    fn new(what: &'static str, measured: impl Into<String>, aim: &'static str) -> Self {
        Self { what, measured: measured.into(), aim }
    }
}

#[derive(Debug, Parser)]
#[command(about = "Prints the medians and percentiles of docs/benchmarks.md")]
struct Args {
    /// Directory for the record; without it no record is written
    #[arg(long, value_name = "DIRECTORY")]
    record: Option<PathBuf>,
}

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    anyhow::ensure!(!cfg!(debug_assertions), "figures of a debug build mean nothing; add --release");
    let mut table = Table::new();
    table.load_preset(ASCII_MARKDOWN).set_header(["what", "measured", "aim"]);
    let figures = floors::measure().into_iter().chain(chain::measure()?).chain(serving::measure()?);
    for figure in figures {
        table.add_row([figure.what.to_owned(), figure.measured, figure.aim.to_owned()]);
    }
    let date = Machine::today();
    let text = format!("{}\n\n`cargo run --release -p benches --bin figures`, {date}\n\n{table}\n", Machine::current());
    println!("{text}");
    if let Some(directory) = &args.record {
        fs::write(directory.join(format!("{date}-figures.md")), format!("# Figures, {date}\n\n{text}"))?;
    }
    Ok(())
}
