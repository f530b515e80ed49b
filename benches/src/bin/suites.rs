//! Runs suites of criterion and records them: `cargo run --release -p benches --bin suites -- peers --record DIRECTORY`.
//! `cargo bench` runs the same, and keeps charts instead.

use std::{
    collections::BTreeMap,
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, ensure};
use benches::{
    report::{self, Record, RecordArgs},
    suite,
    timing::format_nanos,
};
use clap::{Parser, builder::PossibleValuesParser};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

#[derive(Debug, Parser)]
#[command(about = "Runs suites of criterion and prints one table of their benches")]
struct Args {
    /// The suites; without one, all
    #[arg(value_name = "SUITE", value_parser = PossibleValuesParser::new(suite::names()))]
    suites: Vec<String>,
    /// Only the benches whose names match this regular expression
    #[arg(long, value_name = "REGEX")]
    filter: Option<String>,
    /// For developers: measure for 0.3 s at most, without a warm-up
    #[arg(long)]
    quick: bool,
    #[command(flatten)]
    record: RecordArgs,
}

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    report::ensure_release()?;
    let name = ["criterion"].into_iter().chain(args.suites.iter().map(String::as_str)).collect::<Vec<_>>().join("-");
    let mut record = Record::start(&args.record, "suites", &name)?;
    let home = tempfile::tempdir()?;
    run(&args, home.path())?;
    let benches = benches_in(home.path())?;
    ensure!(
        !benches.is_empty(),
        "no bench matches {}; `cargo bench -- --list` names them",
        args.filter.unwrap_or_default()
    );
    let mut table = report::table(["bench", "an iteration", "95 % interval", "elements", "for each"]);
    for bench in benches {
        table.add_row(bench.row());
        record.line(&bench)?;
    }
    let text = "Criterion's estimates with their 95 % intervals. An iteration of some benches has several elements.";
    record.finish("Criterion", &format!("{text}\n\n{table}\n"))
}

/// Runs the suites. Criterion writes its files to `home`.
fn run(args: &Args, home: &Path) -> anyhow::Result<()> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.env("CRITERION_HOME", home).args(["bench", "-p", "benches"]);
    command.args(args.suites.iter().flat_map(|suite| ["--bench", suite])).args(["--", "--noplot"]);
    command.args(args.quick.then_some("--quick")).args(&args.filter);
    let status = command.status().context("cannot start cargo bench")?;
    ensure!(status.success(), "cargo bench failed: {status}");
    Ok(())
}

/// The benches whose results criterion wrote to `home`, by name.
fn benches_in(home: &Path) -> anyhow::Result<Vec<Bench>> {
    let mut benches = Vec::new();
    let mut directories = vec![home.to_owned()];
    while let Some(directory) = directories.pop() {
        if directory.ends_with("new") {
            benches.push(Bench::read(&directory)?);
            continue;
        }
        for entry in fs::read_dir(&directory)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                directories.push(entry.path());
            }
        }
    }
    benches.sort_by(|one, other| one.bench.cmp(&other.bench));
    Ok(benches)
}

/// A bench: a line of the record and a row of the table.
#[derive(Debug, Serialize)]
struct Bench {
    bench: String,
    /// Elements of an iteration, if the bench says so.
    elements: Option<u64>,
    /// Estimated nanoseconds of an iteration, with the ends of the interval.
    estimate: [f64; 3],
    /// The iterations of each sample.
    iterations: Vec<f64>,
    /// The nanoseconds of each sample.
    nanoseconds: Vec<f64>,
}

/// `benchmark.json` of criterion.
#[derive(Debug, Deserialize)]
struct Description {
    full_id: String,
    throughput: Option<BTreeMap<String, u64>>,
}

/// `estimates.json`.
#[derive(Debug, Deserialize)]
struct Estimates {
    /// Where samples have different numbers of iterations.
    slope: Option<Estimate>,
    mean: Estimate,
}

#[derive(Debug, Deserialize)]
struct Estimate {
    point_estimate: f64,
    confidence_interval: Interval,
}

#[derive(Debug, Deserialize)]
struct Interval {
    lower_bound: f64,
    upper_bound: f64,
}

/// `sample.json`.
#[derive(Debug, Deserialize)]
struct Sample {
    iters: Vec<f64>,
    times: Vec<f64>,
}

impl Bench {
    /// That of the files in `directory`.
    fn read(directory: &Path) -> anyhow::Result<Self> {
        let Description { full_id, throughput } = read(directory.join("benchmark.json"))?;
        let estimates: Estimates = read(directory.join("estimates.json"))?;
        let Sample { iters, times } = read(directory.join("sample.json"))?;
        let Estimate { point_estimate, confidence_interval } = estimates.slope.unwrap_or(estimates.mean);
        Ok(Self {
            bench: full_id,
            elements: throughput.and_then(|throughput| throughput.get("Elements").copied()),
            estimate: [point_estimate, confidence_interval.lower_bound, confidence_interval.upper_bound],
            iterations: iters,
            nanoseconds: times,
        })
    }

    fn row(&self) -> [String; 5] {
        let [estimate, low, high] = self.estimate;
        let interval = format!("{} .. {}", format_nanos(low), format_nanos(high));
        let elements = self.elements.map(|elements| elements.to_string()).unwrap_or_default();
        let each = self.elements.map(|elements| format_nanos(estimate / elements as f64)).unwrap_or_default();
        [self.bench.clone(), format_nanos(estimate), interval, elements, each]
    }
}

fn read<T: DeserializeOwned>(path: PathBuf) -> anyhow::Result<T> {
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    serde_json::from_str(&text).with_context(|| format!("{} is not as criterion writes it", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bench_is_read_from_criterion_s_files() {
        let home = tempfile::tempdir().unwrap();
        let directory = home.path().join("chain_get-many/lru/16/new");
        fs::create_dir_all(&directory).unwrap();
        let interval = r#""confidence_interval":{"confidence_level":0.95,"lower_bound":780.0,"upper_bound":820.0}"#;
        let mean = format!(r#"{{{interval},"point_estimate":800.0,"standard_error":1.0}}"#);
        for (file, text) in [
            ("benchmark.json", r#"{"full_id":"chain/get-many/lru/16","throughput":{"Elements":16}}"#),
            ("estimates.json", &format!(r#"{{"mean":{mean},"slope":null}}"#)),
            ("sample.json", r#"{"sampling_mode":"Flat","iters":[1.0,1.0],"times":[799.0,801.0]}"#),
        ] {
            fs::write(directory.join(file), text).unwrap();
        }
        let benches = benches_in(home.path()).unwrap();
        let [bench] = &benches[..] else { panic!("{benches:?}") };
        assert_eq!(bench.row(), ["chain/get-many/lru/16", "800.0 ns", "780.0 ns .. 820.0 ns", "16", "50.0 ns"]);
        assert_eq!(bench.nanoseconds, [799.0, 801.0]);
        fs::remove_file(directory.join("sample.json")).unwrap();
        assert!(benches_in(home.path()).unwrap_err().to_string().contains("sample.json"));
    }
}
