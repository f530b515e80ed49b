//! Prints criterion's last estimates as one table: `cargo run --release -p benches --bin estimates`.

use std::{
    fmt::Write as _,
    fs, io,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use anyhow::{Context, ensure};
use benches::{machine::Machine, timing::format_nanos};
use clap::Parser;
use comfy_table::{Table, presets::ASCII_MARKDOWN};
use serde::{Deserialize, Serialize};

#[derive(Debug, Parser)]
#[command(about = "Prints criterion's last estimates as one table")]
struct Args {
    /// Criterion's directory
    #[arg(long, value_name = "DIRECTORY", default_value = "target/criterion")]
    from: PathBuf,
    /// Leave out estimates that are older than this, in hours
    #[arg(long, default_value_t = 24)]
    hours: u64,
    /// Directory for the record; without it no record is written
    #[arg(long, value_name = "DIRECTORY")]
    record: Option<PathBuf>,
}

/// The estimate of one bench, in nanoseconds for an iteration.
#[derive(Debug, Serialize)]
struct Estimate {
    bench: String,
    /// Criterion's slope, or the mean where there is no slope because iterations are long.
    nanos: f64,
    /// The lower end of the 95 % interval; `to` is the upper end.
    from: f64,
    to: f64,
    /// The bytes or elements of an iteration, if the bench declares them.
    throughput: Option<serde_json::Value>,
}

/// The parts of criterion's `benchmark.json` and `estimates.json` that this command reads.
#[derive(Debug, Deserialize)]
struct Bench {
    full_id: String,
    throughput: Option<serde_json::Value>,
}
#[derive(Debug, Deserialize)]
struct Estimates {
    slope: Option<Point>,
    mean: Point,
}
#[derive(Debug, Deserialize)]
struct Point {
    point_estimate: f64,
    confidence_interval: Interval,
}
#[derive(Debug, Deserialize)]
struct Interval {
    lower_bound: f64,
    upper_bound: f64,
}

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    let since = SystemTime::now() - Duration::from_secs(args.hours * 3600);
    let mut estimates = Vec::new();
    collect(&args.from, since, &mut estimates)
        .with_context(|| format!("cannot read {}; run `cargo bench` first, or say --from", args.from.display()))?;
    ensure!(!estimates.is_empty(), "nothing in {} is younger than {} hours", args.from.display(), args.hours);
    estimates.sort_by(|a, b| a.bench.cmp(&b.bench));
    let (machine, date) = (Machine::current().to_string(), Machine::today());
    let text =
        format!("{machine}\n\nCriterion's estimates of {date}, with their 95 % intervals.\n\n{}\n", table(&estimates));
    println!("{text}");
    if let Some(directory) = &args.record {
        let path = |end| directory.join(format!("{date}-criterion.{end}"));
        fs::write(path("md"), format!("# Criterion, {date}\n\n{text}"))?;
        fs::write(path("json"), serde_json::to_string_pretty(&(machine, &estimates))? + "\n")?;
    }
    Ok(())
}

/// Adds the estimates in `directory` and below. The last measurement of a bench is in its directory `new`.
fn collect(directory: &Path, since: SystemTime, estimates: &mut Vec<Estimate>) -> anyhow::Result<()> {
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.file_name().is_some_and(|name| name == "new") && path.join("estimates.json").exists() {
            estimates.extend(read(&path, since).with_context(|| format!("in {}", path.display()))?);
        } else if path.is_dir() {
            collect(&path, since, estimates)?;
        }
    }
    Ok(())
}

fn read(path: &Path, since: SystemTime) -> anyhow::Result<Option<Estimate>> {
    let file = path.join("estimates.json");
    if fs::metadata(&file)?.modified()? < since {
        return Ok(None);
    }
    let bench: Bench = parsed(&path.join("benchmark.json"))?;
    let Estimates { slope, mean } = parsed(&file)?;
    let Point { point_estimate, confidence_interval } = slope.unwrap_or(mean);
    Ok(Some(Estimate {
        bench: bench.full_id,
        nanos: point_estimate,
        from: confidence_interval.lower_bound,
        to: confidence_interval.upper_bound,
        throughput: bench.throughput,
    }))
}

fn parsed<T: for<'de> Deserialize<'de>>(file: &Path) -> anyhow::Result<T> {
    Ok(serde_json::from_reader(io::BufReader::new(fs::File::open(file)?))?)
}

fn table(estimates: &[Estimate]) -> String {
    let mut table = Table::new();
    table.load_preset(ASCII_MARKDOWN).set_header(["bench", "an iteration", "95 % interval", "works on"]);
    for estimate in estimates {
        let mut works_on = String::new();
        for (what, count) in estimate.throughput.iter().filter_map(|it| it.as_object()).flatten() {
            let _ = write!(works_on, "{count} {}", what.to_lowercase());
        }
        table.add_row([
            estimate.bench.clone(),
            format_nanos(estimate.nanos),
            format!("{} .. {}", format_nanos(estimate.from), format_nanos(estimate.to)),
            works_on,
        ]);
    }
    table.to_string()
}
