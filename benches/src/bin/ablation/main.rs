//! Compares chains end to end, to choose one to deploy: `cargo run --release -p benches --bin ablation`.
//!
//! The release server answers the same loads over gRPC with each candidate as its chain: cold, with empty stores, and
//! warm, restarted on the stores that the cold run filled. Runs are interleaved: every chain runs once before any runs
//! again, and every other run goes through loads and chains in reverse order.

mod candidate;
mod workload;

use std::{collections::BTreeMap, fmt::Write as _};

use benches::{
    chains::Candidate,
    report::{self, Record, RecordArgs, ensure_release},
    sample::{CPU, Column, P50, P99, RATE, REDIS_CPU, Ratio, Samples},
    timing::alternate,
};
use clap::{Parser, ValueEnum};
use comfy_table::Table;
use workload::Workload;

#[derive(Debug, Parser)]
#[command(about = "Compares chains end to end under the same loads, to choose one to deploy")]
struct Args {
    /// Number of runs of each chain under each load, interleaved
    #[arg(long, default_value_t = 5)]
    runs: usize,
    /// Number of calls in a run; paced loads make half of them
    #[arg(long, default_value_t = 60_000)]
    calls: u64,
    /// For developers: 4,000 calls in a run, which take a fraction of a second, and 2 runs. It shows that the command
    /// works, and no figure to publish
    #[arg(long, conflicts_with_all = ["calls", "runs"])]
    quick: bool,
    /// Only this load; repeated for each
    #[arg(long = "load", value_enum, value_name = "NAME")]
    loads: Vec<Workload>,
    /// Only this chain; repeated for each
    #[arg(long = "chain", value_enum, value_name = "NAME")]
    chains: Vec<Candidate>,
    #[command(flatten)]
    record: RecordArgs,
}

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    ensure_release()?;
    let (runs, calls) = if args.quick { (2, 4000) } else { (args.runs, args.calls) };
    let (workloads, candidates) = (chosen(&args.loads), Candidate::available(&args.chains));
    let mut record = Record::start(&args.record, "ablation", "ablation")?;
    for run in 0..runs {
        for workload in alternate(run, &workloads) {
            let supported = alternate(run, &candidates).into_iter().filter(|it| candidate::supports(*it, workload));
            for candidate in supported {
                for (start, sample) in STARTS.into_iter().zip(candidate::run(candidate, workload, calls)?) {
                    record.add(sample.named(load(workload, start), candidate.name(), run))?;
                }
            }
        }
        eprintln!("run {} of {runs} done", run + 1);
    }
    let intro = format!("{calls} calls a run, {runs} interleaved runs. Memory is that of the server and its Redis.\n");
    record.finish("Which chain", &(intro + &markdown(&record.samples)))
}

/// With empty stores, and restarted on the stores that the cold run filled.
const STARTS: [&str; 2] = ["cold", "warm"];

/// The name of a load in samples.
fn load(workload: Workload, start: &str) -> String {
    format!("{workload}, {start}")
}

fn loads() -> impl Iterator<Item = (Workload, &'static str)> {
    Workload::value_variants().iter().flat_map(|workload| STARTS.map(|start| (*workload, start)))
}

/// The tables of each load, the effect of prefetching, and how the chains compare.
fn markdown(samples: &Samples) -> String {
    const COLUMNS: [Column; 7] = [
        RATE,
        P50,
        P99,
        ("sent late, p99 us", 0, |it| it.late_p99_us),
        CPU,
        REDIS_CPU,
        ("memory MB", 0, |it| it.memory_bytes as f64 / 1e6),
    ];
    let mut text = String::new();
    for (workload, start) in loads() {
        let load = load(workload, start);
        if !samples.names(&load).is_empty() {
            let _ = write!(text, "\n### {load}\n\n{}\n", samples.table(&load, &COLUMNS, &[]));
        }
    }
    let prefetching = prefetching(samples);
    if !prefetching.is_empty() {
        let _ = write!(text, "\n### Prefetching\n\nWith it to without, run by run:\n\n{prefetching}");
    }
    let shares = shares(samples);
    if shares.row_count() > 0 {
        let _ = write!(text, "\n### Answers a second, as shares of the best chain's\n\n{shares}\n");
    }
    text
}

/// The effect of prefetching on each load that runs with it and without, as the geometric mean of the runs' ratios.
fn prefetching(samples: &Samples) -> String {
    let mut text = String::new();
    let pairs = [
        (Workload::PrefetchedZipf, Workload::Zipf),
        (Workload::PrefetchedUniform, Workload::Uniform),
        (Workload::PrefetchedClimb, Workload::PacedClimb),
    ];
    for (with, without) in pairs {
        for start in STARTS {
            let (with, without) = (load(with, start), load(without, start));
            for chain in samples.names(&with) {
                let ratio = |column: Column| {
                    let of = |load| samples.figures(load, chain, column.2);
                    Ratio::of(of(&with).into_iter().zip(of(&without)))
                };
                if !samples.of(&without, chain).is_empty() {
                    let _ = writeln!(
                        text,
                        "- {without}, {chain}: answers a second {}, p50 {}, p99 {}, CPU {}",
                        ratio(RATE),
                        ratio(P50),
                        ratio(P99),
                        ratio(CPU)
                    );
                }
            }
        }
    }
    text
}

/// Answers a second of each chain as a share of the best chain's, by start. They are geometric means over the loads that
/// are neither paced nor prefetched. Each tier must be operated, so a chain with fewer tiers is the better choice where
/// shares are close.
fn shares(samples: &Samples) -> Table {
    let mut logs: BTreeMap<&str, BTreeMap<&str, Vec<f64>>> = BTreeMap::new();
    for (workload, start) in loads().filter(|(workload, _)| workload.is_compared()) {
        let load = load(workload, start);
        let rate = |chain: &str| samples.mean(&load, chain, RATE.2);
        let best = samples.names(&load).into_iter().map(rate).fold(f64::MIN_POSITIVE, f64::max);
        for chain in samples.names(&load) {
            let log = (rate(chain) / best).ln();
            for part in ["all", start] {
                logs.entry(chain).or_default().entry(part).or_default().push(log);
            }
        }
    }
    let mut table = report::table(["chain", "all", "cold", "warm"]);
    for (chain, parts) in logs {
        let mean = |logs: &Vec<f64>| format!("{:.2}", (logs.iter().sum::<f64>() / logs.len() as f64).exp());
        table.add_row([chain.to_owned()].into_iter().chain(parts.values().map(mean)));
    }
    table
}

/// The values in `named`, in the order of their list; all of them when it is empty.
fn chosen<T: ValueEnum + PartialEq>(named: &[T]) -> Vec<T> {
    let is_chosen = |value: &&T| named.is_empty() || named.contains(value);
    T::value_variants().iter().filter(is_chosen).cloned().collect()
}

/// The name of a load or a chain on the command line.
fn name_of(value: &impl ValueEnum) -> String {
    value.to_possible_value().expect("no value is hidden").get_name().to_owned()
}
