//! Compares chains end to end, to choose one to deploy: `cargo run --release -p benches --bin ablation`.
//!
//! The release server answers the same loads over gRPC with each candidate as its chain: cold, with empty stores, and
//! warm, restarted on the stores that the cold run filled. Runs are interleaved: every chain runs once before any runs
//! again, and every other run goes through loads and chains in reverse order.

mod candidate;
mod report;
mod workload;

use std::path::PathBuf;

use anyhow::{bail, ensure};
use benches::redis_server::RedisServer;
use candidate::Candidate;
use clap::Parser;
use report::{Report, Sample};
use workload::Workload;

#[derive(Debug, Parser)]
#[command(about = "Compares chains end to end under the same loads, to choose one to deploy")]
struct Args {
    /// Number of runs of each chain under each load, interleaved
    #[arg(long, default_value_t = 5)]
    runs: usize,
    /// Number of calls in a run
    #[arg(long, default_value_t = 4000)]
    calls: u64,
    /// Only these loads, by name: zipf, "zipf, prefetched", uniform, "uniform, prefetched", scan, climb, "climb,
    /// paced", "climb, paced, prefetched", "climb, paced, again"
    #[arg(long = "load", value_name = "NAME")]
    loads: Vec<String>,
    /// Only these chains, by name: "generation only", lru, "lru + lmdb", "lru + sled", "lru + redis", "lru + lmdb +
    /// redis"
    #[arg(long = "chain", value_name = "NAME")]
    chains: Vec<String>,
    /// Directory for the record; without it no record is written
    #[arg(long, value_name = "DIRECTORY")]
    record: Option<PathBuf>,
}

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    ensure!(!cfg!(debug_assertions), "figures of a debug build mean nothing; add --release");
    let redis = RedisServer::is_available();
    let workloads = select(&args.loads, Workload::ALL, |workload| workload.name().to_owned())?;
    let available = Candidate::ALL.into_iter().filter(|it| redis || !it.needs_redis());
    let candidates = select(&args.chains, available, |candidate| candidate.name())?;
    let mut report = Report::new(args.runs, args.calls);
    for run in 0..args.runs {
        for workload in alternate(run, &workloads) {
            for candidate in alternate(run, &candidates).filter(|candidate| candidate.supports(workload)) {
                let (cold, warm) = candidate.run(workload, args.calls)?;
                for (warm, figures) in [(false, cold), (true, warm)] {
                    report.add(Sample { chain: candidate.name(), workload: workload.name(), warm, run, figures });
                }
            }
        }
        eprintln!("run {} of {} done", run + 1, args.runs);
    }
    println!("{}", report.markdown());
    if let Some(directory) = &args.record {
        report.origin.write(directory, "ablation", "Which chain", &report.markdown(), &report)?;
    }
    Ok(())
}

/// `all`, in reverse order in every other run: what runs second may find the machine warmer or busier.
fn alternate<T: Copy>(run: usize, all: &[T]) -> impl Iterator<Item = T> {
    let last = all.len().saturating_sub(1);
    (0..all.len()).map(move |at| all[if run.is_multiple_of(2) { at } else { last - at }])
}

/// The items of `all` whose names are in `names`; all of them when `names` is empty.
fn select<T>(
    names: &[String],
    all: impl IntoIterator<Item = T>,
    name: impl Fn(&T) -> String,
) -> anyhow::Result<Vec<T>> {
    let all: Vec<T> = all.into_iter().collect();
    let offered: Vec<String> = all.iter().map(&name).collect();
    if let Some(unknown) = names.iter().find(|name| !offered.contains(name)) {
        bail!("nothing here is called {unknown:?}; there are: {}", offered.join("; "));
    }
    Ok(all.into_iter().filter(|it| names.is_empty() || names.contains(&name(it))).collect())
}
