//! Measures how costs grow with size: `cargo run --release -p benches --bin scale`.
//!
//! Each curve is a cost against a size, with the exponent of the power law that fits it best: 0 is constant, 1 is
//! linear. The exponent of the last step is printed too, since a fixed cost hides the growth at small sizes.

mod connections;
mod entries;
mod floors;
mod servers;

use benches::{
    report::{self, Record, RecordArgs},
    timing::{exponent, last_exponent},
};
use clap::{Parser, ValueEnum};
use comfy_table::Table;
use serde::Serialize;

#[derive(Debug, Parser)]
#[command(about = "Measures how costs grow with cells, entries, connections and servers")]
struct Args {
    /// Greatest number of entries in a store, as a power of ten
    #[arg(long, default_value_t = 6, value_parser = clap::value_parser!(u32).range(3..=7))]
    entries: u32,
    /// Greatest number of connections
    #[arg(long, default_value_t = 10_000)]
    connections: usize,
    /// Measure only this; repeated or separated by commas
    #[arg(long = "only", value_delimiter = ',', value_name = "PART")]
    parts: Vec<Part>,
    #[command(flatten)]
    record: RecordArgs,
}

/// What a cost grows with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    Floors,
    Entries,
    Connections,
    Servers,
}

#[derive(Debug, Serialize)]
struct Curve {
    what: String,
    size: &'static str,
    cost: &'static str,
    /// Pairs of size and cost.
    points: Vec<(f64, f64)>,
}

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    report::ensure_release()?;
    let mut record = Record::start(&args.record, "scale", "scale")?;
    let mut curves = Vec::new();
    for part in Part::value_variants().iter().filter(|part| args.parts.is_empty() || args.parts.contains(part)) {
        let measured = match part {
            Part::Floors => floors::measure(),
            Part::Entries => entries::measure(args.entries),
            Part::Connections => connections::measure(args.connections)?,
            Part::Servers => servers::measure()?,
        };
        for curve in measured {
            record.line(&curve)?;
            curves.push(curve);
        }
    }
    record.finish("Scale", &format!("{}\n", table(&curves)))
}

fn table(curves: &[Curve]) -> Table {
    let mut table = report::table(["cost", "against", "points", "exponent", "of the last step"]);
    for curve in curves {
        let show = |fit: fn(&[(f64, f64)]) -> f64| match curve.points.len() {
            ..2 => "-".to_owned(),
            _ => format!("{:.2}", fit(&curve.points)),
        };
        let points: Vec<String> = curve.points.iter().map(|(size, cost)| format!("{size}: {cost:.2}")).collect();
        table.add_row([
            format!("{}, {}", curve.what, curve.cost),
            curve.size.to_owned(),
            points.join(", "),
            show(exponent),
            show(last_exponent),
        ]);
    }
    table
}
