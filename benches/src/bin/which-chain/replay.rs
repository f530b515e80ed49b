//! Replays a request log against chains and names the cheapest: `which-chain replay FILE`.

use std::path::PathBuf;

use anyhow::ensure;
use benches::{
    progress::Progress,
    report::Report,
    sample::{Column, GENERATED, P50, P99, RATE},
    server::Setup,
    timing::alternate,
};

use crate::{
    CALL, all_cpu,
    chains::{Candidate, Replay, Stores},
    choice,
    output::{Answer, Output},
    request_log::RequestLog,
    workload,
};

#[derive(Debug, clap::Args)]
pub(crate) struct ReplayArgs {
    /// The log: CSV with the columns time_us, seed, number and, optionally, width, height and kind
    log: PathBuf,
    /// Replay at the times of the log, this many times as fast. Without it 40 calls are in flight
    #[arg(long, value_name = "FACTOR", value_parser = above_zero)]
    speed: Option<f64>,
    /// The most requests of the log that are replayed
    #[arg(long, value_name = "REQUESTS", default_value_t = 200_000)]
    limit: usize,
    /// Number of rounds; in each, every chain answers the log from empty stores
    #[arg(long, default_value_t = 4)]
    rounds: usize,
    /// Only this chain; repeated for each
    #[arg(long = "chain", value_name = "NAME")]
    chains: Vec<Candidate>,
    /// Memory of the tier lru, in MiB
    #[arg(long, value_name = "MIB", default_value_t = 64, value_parser = clap::value_parser!(u64).range(1..=65_536))]
    lru: u64,
}

/// Replayed requests of `--quick`, and its rounds.
const QUICK: (usize, usize) = (10_000, 2);

/// CPU of the server and of Redis: what the operator pays.
const ALL_CPU: Column = ("CPU us/answer", 1, all_cpu);

/// The columns of the table.
const COLUMNS: [Column; 6] =
    [ALL_CPU, P50, P99, RATE, GENERATED, ("unanswered", 0, |it| (it.unanswered + it.refused) as f64)];

fn above_zero(text: &str) -> Result<f64, String> {
    let number: f64 = text.parse().map_err(|_| "write a number".to_owned())?;
    if number.is_finite() && number > 0.0 { Ok(number) } else { Err("write a number above 0".to_owned()) }
}

pub(crate) fn run(args: &ReplayArgs, quick: bool, output: &Output) -> anyhow::Result<()> {
    let setup = Setup::new().with("CACHE__LRU__CAPACITY", format!("{}MiB", args.lru));
    let (limit, rounds) = if quick { (args.limit.min(QUICK.0), QUICK.1) } else { (args.limit, args.rounds) };
    let (log, chains) = (RequestLog::read(&args.log, limit)?, Candidate::available(&args.chains));
    ensure!(!chains.is_empty(), "no chain is left to replay against: the named ones need redis-server");
    let mut report = Report::start("which-chain");
    let load = args.log.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let schedule = args.speed.map(|speed| log.schedule(speed));
    let replay = Replay { messages: log.messages(), schedule };
    let schedule = replay.schedule.as_ref().and_then(|due| due.last().copied());
    let part = schedule.unwrap_or(CALL * replay.messages.len() as u32);
    let progress = Progress::start(part * (rounds * chains.len()) as u32);
    for round in 0..rounds {
        for chain in alternate(round, &chains) {
            progress.show(format!("{}, round {} of {rounds}", chain.name(), round + 1));
            let sample = Stores::empty(chain.0)?.measure(&setup, &replay)?;
            report.add(sample.named(&load, chain.name(), round));
            progress.advance(part);
        }
    }
    drop(progress);
    let (chosen, choice) = choice::choose(&report.samples, &chains, &[&load]);
    let picture = workload::picture(&report.samples, &chains, chosen, &[(&load, "")])?;
    let parts = vec![(picture, report.samples.table(&load, &COLUMNS, &[]))];
    let requests = replay.messages.len();
    let notes = format!(
        "{requests} requests, from empty stores. Figures of the table are medians with the least and the greatest."
    );
    output.finish(&report, &Answer { title: "Replay", choice, parts, notes })
}
