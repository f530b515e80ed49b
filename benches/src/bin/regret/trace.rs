//! Replays a request log against chains and names the cheapest: `regret --trace FILE`.

use std::{fmt::Write as _, path::PathBuf};

use anyhow::ensure;
use benches::{
    chains::{Candidate, Replay, Stores},
    exact_lru::{Access, exact_hit_ratio, tier_hit_ratio, tier_overhead},
    open_loop::Pace,
    report::Record,
    sample::{Column, Figure, GENERATED, P50, P99, RATE, Ratio, Samples},
    timing::alternate,
    trace::Trace,
};
use clap::Args;

#[derive(Debug, Clone, Args)]
pub(crate) struct TraceArgs {
    /// Replay this request log against chains, and name the cheapest: libCacheSim's oracleGeneral, or CSV with the columns
    /// time_us, seed, number and, optionally, width, height and kind
    #[arg(long, value_name = "FILE", conflicts_with_all = ["cells", "list", "short"])]
    pub(crate) trace: Option<PathBuf>,
    /// Replay at the times of the log, this many times as fast. Without --speed and --rate, 40 calls are in flight
    #[arg(long, value_name = "FACTOR", requires = "trace", conflicts_with = "rate", value_parser = above_zero)]
    speed: Option<f64>,
    /// Replay this many calls a second, evenly spaced
    #[arg(long, value_name = "CALLS", requires = "trace", value_parser = above_zero)]
    rate: Option<f64>,
    /// The most requests of the log that are replayed
    #[arg(long, value_name = "REQUESTS", default_value_t = 200_000)]
    limit: usize,
    /// Only this chain; repeated for each
    #[arg(long = "chain", value_enum, value_name = "NAME", requires = "trace")]
    chains: Vec<Candidate>,
    /// Memory of the tier lru, in MiB
    #[arg(long, value_name = "MIB", default_value_t = 64, value_parser = clap::value_parser!(u64).range(1..=65_536))]
    lru: u64,
}

/// Replayed requests of `--quick`.
const QUICK_LIMIT: usize = 10_000;

/// CPU of the server and of Redis: what the operator pays.
const ALL_CPU: Column = ("CPU us/answer", 1, |it| it.server_cpu_us + it.redis_cpu_us);

/// The columns of the table.
const COLUMNS: [Column; 6] =
    [ALL_CPU, P50, P99, RATE, GENERATED, ("unanswered", 0, |it| (it.unanswered + it.refused) as f64)];

fn above_zero(text: &str) -> Result<f64, String> {
    let number: f64 = text.parse().map_err(|_| "write a number".to_owned())?;
    if number.is_finite() && number > 0.0 { Ok(number) } else { Err("write a number above 0".to_owned()) }
}

pub(crate) fn run(
    path: &std::path::Path,
    args: &TraceArgs,
    common: &crate::Common,
    rounds: usize,
) -> anyhow::Result<()> {
    let setup = common.setup()?.with("CACHE__LRU__CAPACITY", format!("{}MiB", args.lru));
    ensure!(setup.can_start(), "a replay needs the server: `cargo build --release -p bevy-server`");
    let (limit, rounds) = if common.quick { (args.limit.min(QUICK_LIMIT), 2) } else { (args.limit, rounds) };
    let (trace, chains) = (Trace::read(path, limit)?, Candidate::available(&args.chains));
    ensure!(!chains.is_empty(), "no chain is left to replay against: the named ones need redis-server");
    let mut record = Record::start(&common.record, "regret", "regret-trace")?;
    let load = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let pace = match (args.speed, args.rate) {
        (Some(speed), _) => Some(Pace::At(trace.schedule(speed))),
        (None, Some(rate)) => Some(Pace::PerSecond(rate)),
        (None, None) => None,
    };
    let replay = Replay { messages: trace.messages(), pace, is_repeated: false };
    for round in 0..rounds {
        for chain in alternate(round, &chains) {
            let sample = Stores::empty(chain.tiers())?.measure(&setup, &replay)?;
            record.add(sample.named(&load, chain.name(), round))?;
        }
        eprintln!("round {} of {rounds} done", round + 1);
    }
    let text = format!("{}\n{}", about(&trace, args.lru << 20), verdict(&record.samples, &load));
    record.finish("Replay", &text)
}

/// The log, and the share of it that memory of `capacity` bytes answers.
fn about(trace: &Trace, capacity: u64) -> String {
    let (accesses, overhead) = (trace.accesses(), tier_overhead());
    let floors = accesses.iter().map(|(floor, _)| floor + 1).max().unwrap_or(0);
    let with_overhead: Vec<Access> = accesses.iter().map(|(floor, size)| (*floor, size + overhead)).collect();
    format!(
        "{} requests for {floors} floors of {:.0} bytes, from empty stores. Of these an exact LRU of {} MiB answers \
         {:.2} %, and the server's memory tier of that size {:.2} %.\n",
        accesses.len(),
        accesses.iter().map(|(_, size)| *size as f64).sum::<f64>() / accesses.len() as f64,
        capacity >> 20,
        exact_hit_ratio(&with_overhead, capacity) * 100.0,
        tier_hit_ratio(&accesses, capacity) * 100.0,
    )
}

/// The table, and the chains with the least CPU and with the shortest response time.
fn verdict(samples: &Samples, load: &str) -> String {
    let mut text = format!("{}\n\n", samples.table(load, &COLUMNS, &[]));
    for (what, unit, figure) in [("Cheapest", "us of CPU", ALL_CPU.2), ("Fastest", "us at the median", P50.2)] {
        let (best, value, ties) = least(samples, load, figure);
        let _ = write!(text, "{what}: {best}, {value:.1} {unit} for a request");
        if !ties.is_empty() {
            let _ = write!(text, "; within the noise: {}", ties.join(", "));
        }
        text.push_str(".\n");
    }
    text
}

/// The variant with the least mean of `figure`, that mean, and the variants whose interval does not exclude it.
fn least<'a>(samples: &'a Samples, load: &str, figure: Figure) -> (&'a str, f64, Vec<&'a str>) {
    let names = samples.names(load);
    let mean = |name: &str| samples.mean(load, name, figure);
    let best = names.iter().copied().min_by(|one, other| mean(one).total_cmp(&mean(other))).unwrap_or_default();
    let ties = names.into_iter().filter(|name| *name != best);
    let ties = ties.filter(|name| {
        let Ratio { low, .. } = samples.ratio(load, name, best, figure);
        low <= 1.0
    });
    (best, mean(best), ties.collect())
}

#[cfg(test)]
mod tests {
    use benches::sample::Sample;

    use super::*;

    #[test]
    fn the_cheapest_chain_is_named_with_those_within_the_noise() {
        let mut samples = Samples::default();
        for (round, drift) in [1.0, 1.1, 0.9].into_iter().enumerate() {
            for (who, cpu, redis) in [("a", 20.0, 0.0), ("b", 15.0, 10.0), ("c", 20.5 / drift, 0.0)] {
                let sample = Sample {
                    server_cpu_us: cpu * drift,
                    redis_cpu_us: redis,
                    p50_us: 100.0 / cpu,
                    ..Sample::default()
                };
                samples.push(sample.named("log", who, round));
            }
        }
        let (best, _, ties) = least(&samples, "log", ALL_CPU.2);
        assert_eq!((best, ties), ("a", vec!["c"]), "Redis counts");
    }

    #[test]
    fn a_speed_is_above_zero() {
        assert_eq!(above_zero("2.5"), Ok(2.5));
        for text in ["0", "-1", "NaN", "x"] {
            assert!(above_zero(text).is_err(), "{text}");
        }
    }
}
