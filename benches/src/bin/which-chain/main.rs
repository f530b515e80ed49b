//! Which chain to use on this machine, what each source of floors costs, and what a million floors and a million requests
//! take: `cargo run --release -p benches --bin which-chain`, in three minutes. `replay`
//! measures chains with a log of requests.
//!
//! Costs are CPU time of the server and of Redis, over gRPC. Every figure is a mean over rounds with its 95 % interval.

mod chains;
mod choice;
mod output;
mod replay;
mod request_log;
mod sources;
mod workload;

use std::time::Duration;

use anyhow::ensure;
use benches::{
    figure::{Bar, Estimate},
    load::Window,
    progress::Progress,
    report::{self, Report},
    sample::{Figure, Sample, Samples},
    server::Setup,
    timing::mean_and_interval,
};
use chains::Candidate;
use clap::{Parser, Subcommand};
use output::{Answer, Output};

#[derive(Debug, Parser)]
#[command(about = "Measures which chain to use on this machine, what each source of floors costs, and what to provide")]
struct Args {
    #[command(subcommand)]
    load: Option<Load>,
    /// Measure for a shorter time. The intervals are wider
    #[arg(long, global = true)]
    quick: bool,
    #[command(flatten)]
    output: Output,
}

/// Other loads.
#[derive(Debug, Subcommand)]
enum Load {
    /// Replay a request log against chains, and name the cheapest
    Replay(replay::ReplayArgs),
}

/// How much is measured.
#[derive(Debug, Clone, Copy)]
struct Plan {
    /// Rounds over all sources, and rounds over all chains.
    rounds: usize,
    /// A turn of a source.
    window: Window,
    /// Floors in each source.
    floors: u32,
    /// Requests of a run of a chain.
    calls: u64,
}

impl Plan {
    const FULL: Self = Self {
        rounds: 5,
        window: Window { settle: Duration::from_millis(300), measured: Duration::from_millis(2000) },
        floors: 5000,
        calls: 40_000,
    };
    const QUICK: Self = Self {
        rounds: 3,
        window: Window { settle: Duration::from_millis(100), measured: Duration::from_millis(500) },
        floors: 1500,
        calls: 6000,
    };

    /// About what the rounds over all sources and chains take.
    fn total(&self, sources: usize, chains: usize) -> Duration {
        let round = self.window.total() * sources as u32 + self.chain() * chains as u32;
        round * self.rounds as u32 + FILLING * sources as u32
    }

    /// About what the cold and the warm run of a chain take.
    fn chain(&self) -> Duration {
        (START + CALL * self.calls as u32) * 2
    }
}

/// About what filling a source takes, the start of a server, and a call of a chain.
const FILLING: Duration = Duration::from_secs(2);
const START: Duration = Duration::from_millis(500);
const CALL: Duration = Duration::from_micros(50);

/// CPU microseconds of the server and of Redis for an answer. As many CPU seconds for a million.
fn all_cpu(sample: &Sample) -> f64 {
    sample.server_cpu_us + sample.redis_cpu_us
}

fn main() -> anyhow::Result<()> {
    let Args { load, quick, output } = Args::parse();
    report::ensure_release()?;
    ensure!(Setup::is_available(), "this measures the server: `cargo build --release -p bevy-server`");
    output.ensure_writable()?;
    match load {
        None => choose(if quick { Plan::QUICK } else { Plan::FULL }, &output),
        Some(Load::Replay(args)) => replay::run(&args, quick, &output),
    }
}

/// Measures the sources and the chains.
fn choose(plan: Plan, output: &Output) -> anyhow::Result<()> {
    let (sources, chains) = (sources::available(), Candidate::available(&[]));
    let progress = Progress::start(plan.total(sources.len(), chains.len()));
    let mut report = Report::start("which-chain");
    let spaces = sources::measure(&sources, &plan, &progress, &mut report)?;
    workload::measure(&chains, &plan, &progress, &mut report)?;
    drop(progress);
    let samples = &report.samples;
    let (chosen, choice) = choice::choose(samples, &chains, &[workload::COLD, workload::WARM]);
    let loads = [(workload::COLD, "cold: from empty stores"), (workload::WARM, "warm: after a restart on full stores")];
    let parts = vec![
        (sources::picture(samples, &sources)?, sources::table(samples, &spaces)),
        (workload::picture(samples, &chains, chosen, &loads)?, workload::table(samples, &chains)),
    ];
    output.finish(&report, &Answer { title: "What to deploy here", choice, parts, notes: notes(&plan) })
}

fn notes(plan: &Plan) -> String {
    let Plan { rounds, floors, calls, .. } = plan;
    format!(
        "CPU is that of the server and of Redis, over gRPC with 40 calls in flight, for floors of 100x100. ± is the 95 % \
         interval over {rounds} rounds; a figure without it is one observation. Sources hold {floors} floors. A run of \
         a chain makes {calls} calls for {} floors by Zipf's law (exponent 1) with {} of memory for the tier lru: cold \
         from empty stores, warm after a restart on the stores of the cold run.",
        workload::FLOORS,
        workload::LRU_CAPACITY
    )
}

/// The mean of a figure of `who` under `load` with its interval, as in `12.3 ± 0.4`.
fn figure(samples: &Samples, load: &str, who: &str, decimals: usize, figure: Figure) -> String {
    match mean_and_interval(&samples.figures(load, who, figure)) {
        (mean, half) if half.is_finite() => format!("{mean:.decimals$} ± {half:.decimals$}"),
        (mean, _) => format!("{mean:.decimals$}"),
    }
}

/// A bar of the same figure.
fn bar(samples: &Samples, load: &str, who: &str, figure: Figure) -> Bar {
    let (value, half) = mean_and_interval(&samples.figures(load, who, figure));
    let half = if half.is_finite() { half } else { 0.0 };
    let estimate = Estimate { value, low: value - half, high: value + half };
    Bar { name: who.to_owned(), estimate, text: self::figure(samples, load, who, 1, figure), is_marked: false }
}
