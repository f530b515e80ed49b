//! Measures what prefetching does, and chains under climbs: `cargo run --release -p benches --bin ablation`.
//!
//! The release server answers the same loads over gRPC with each candidate as its chain: cold, with empty stores, and
//! warm, restarted on the stores that the cold run filled. Runs are interleaved: every chain runs once before any runs
//! again, and every other run goes through loads and chains in reverse order. `--cgroup` compares chains whose stores are
//! larger than the server's memory.

mod disk;
mod workload;

use std::{fmt::Write as _, path::PathBuf, time::Duration};

use benches::{
    chains::Candidate,
    report::{Record, RecordArgs, ensure_release},
    sample::{CPU, Column, MEMORY, P50, P99, RATE, REDIS_CPU, Ratio, Samples},
    timing::alternate,
};
use clap::{Parser, ValueEnum};
use workload::Workload;

#[derive(Debug, Parser)]
#[command(about = "Compares chains under the same loads, with prefetching and without")]
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
    /// Instead: compare chains whose stores are larger than memory, on servers in this cgroup, which has a memory limit
    #[arg(long, value_name = "DIRECTORY", conflicts_with_all = ["calls", "loads"])]
    cgroup: Option<PathBuf>,
    /// Bytes of the stores of --cgroup, relative to the limit; each number is one load
    #[arg(long = "size", value_delimiter = ',', default_values_t = [0.5, 2.0, 4.0], requires = "cgroup")]
    sizes: Vec<f64>,
    #[command(flatten)]
    record: RecordArgs,
}

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    ensure_release()?;
    let (runs, calls) = if args.quick { (2, 4000) } else { (args.runs, args.calls) };
    if let Some(cgroup) = &args.cgroup {
        if let Some(reason) = disk::cannot_use(cgroup) {
            println!("skipped: {reason}");
            return Ok(());
        }
        let mut record = Record::start(&args.record, "ablation", "disk")?;
        let chains = if args.chains.is_empty() { &disk::CHAINS } else { &args.chains[..] };
        let measured = Duration::from_secs(if args.quick { 2 } else { 10 });
        let mut killed = String::new();
        for run in 0..runs {
            for size in &args.sizes {
                killed += &disk::measure(cgroup, *size, chains, run, measured, &mut record)?;
            }
            eprintln!("run {} of {runs} done", run + 1);
        }
        let intro = format!(
            "{runs} interleaved runs of {measured:?} each. Cold: from an empty page cache. Warm: right after.\n\n"
        );
        return record.finish("Stores larger than memory", &(intro + &killed + &disk::markdown(&record.samples)));
    }
    let workloads = if args.loads.is_empty() { Workload::value_variants() } else { args.loads.as_slice() };
    let candidates = Candidate::available(&args.chains);
    let mut record = Record::start(&args.record, "ablation", "ablation")?;
    for run in 0..runs {
        for workload in alternate(run, workloads) {
            let supported = alternate(run, &candidates).into_iter().filter(|it| workload.supports(*it));
            for candidate in supported {
                for (start, sample) in STARTS.into_iter().zip(workload.run(candidate, calls)?) {
                    record.add(sample.named(load(workload, start), candidate.name(), run))?;
                }
            }
        }
        eprintln!("run {} of {runs} done", run + 1);
    }
    let intro = format!("{calls} calls a run, {runs} interleaved runs. Memory is that of the server and its Redis.\n");
    record.finish("Chains and prefetching", &(intro + &markdown(&record.samples)))
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

/// The tables of each load, and the effect of prefetching.
fn markdown(samples: &Samples) -> String {
    const COLUMNS: [Column; 7] =
        [RATE, P50, P99, ("sent late, p99 us", 0, |it| it.late_p99_us), CPU, REDIS_CPU, MEMORY];
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
