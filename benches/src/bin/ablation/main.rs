//! Compares chains end to end, to choose one to deploy: `cargo run --release -p benches --bin ablation`.
//!
//! The release server answers the same loads over gRPC with each candidate as its chain: cold, with empty stores, and
//! warm, restarted on the stores that the cold run filled. Runs are interleaved: every chain runs once before any runs
//! again, and every other run goes through loads and chains in reverse order.

mod candidate;
mod report;
mod workload;

use benches::{
    redis_server::RedisServer,
    report::{RecordArgs, ensure_release},
};
use candidate::Candidate;
use clap::{Parser, ValueEnum};
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
    let redis = RedisServer::is_available();
    let workloads = chosen(&args.loads);
    let mut candidates = chosen(&args.chains);
    candidates.retain(|candidate| redis || !candidate.needs_redis());
    let mut report = Report::new(args.runs, args.calls);
    for run in 0..args.runs {
        for workload in alternate(run, &workloads) {
            for candidate in alternate(run, &candidates).filter(|candidate| candidate.supports(workload)) {
                let (cold, warm) = candidate.run(workload, args.calls)?;
                for (warm, figures) in [(false, cold), (true, warm)] {
                    report.add(Sample { chain: name_of(&candidate), workload, warm, run, figures });
                }
            }
        }
        eprintln!("run {} of {} done", run + 1, args.runs);
    }
    args.record.report(&report.origin, "ablation", "Which chain", &report.markdown(), &report)
}

/// `all`, in reverse order in every other run: what runs second may find the machine warmer or busier.
fn alternate<T: Copy>(run: usize, all: &[T]) -> impl Iterator<Item = T> {
    let last = all.len().saturating_sub(1);
    (0..all.len()).map(move |at| all[if run.is_multiple_of(2) { at } else { last - at }])
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
