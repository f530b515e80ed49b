//! `floorctl bench`: a small closed-loop load test.

use std::{
    collections::BTreeMap,
    io::Write as _,
    time::{Duration, Instant},
};

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use floor_client::{Answer, ClientError, EncodedFloor, FloorClient, Served, is_loopback};
use hdrhistogram::Histogram;
use indicatif::HumanCount;
use rand::{RngExt as _, SeedableRng as _, rngs::SmallRng};
use rand_distr::{Distribution as _, Zipf};
use serde::Serialize;
use tokio::task::JoinSet;

use crate::{
    cli::Server,
    json::ServedJson,
    numbers,
    output::{self, ReportFormat},
    target::Tower,
};

const AFTER_HELP: &str = "\
The load is a closed loop: each stream requests its next floor after the last one has arrived. While the server \
stalls, it gets fewer requests, so the percentiles are lower than those of users who do not wait. If client and \
server run on the same machine, they share its cores. The client does not decode the floors. The first second is not \
counted. A call that fails is counted and named; a stream whose call does not reach the server pauses for 100 ms.

Examples:
  floorctl bench --connections 2 --streams 50 --seconds 10
  floorctl bench --mix one --json
  floorctl bench --mix uniform --floors 100000        # mostly generated";

/// Load the server and report throughput and latency
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Bench {
    #[command(flatten)]
    tower: Tower,
    /// Number of TCP connections
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1000))]
    connections: u16,
    /// Number of streams, each with one call in flight, spread over the connections
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..=10_000))]
    streams: u16,
    /// Duration of the measurement, in seconds
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..))]
    seconds: u16,
    /// How the streams choose floors
    #[arg(long, value_enum, default_value_t = Mix::Zipf)]
    mix: Mix,
    /// The greatest floor number to request
    #[arg(long, default_value_t = 1000, value_parser = numbers::parse_one, help_heading = "Floor")]
    floors: u32,
    #[command(flatten)]
    report: ReportFormat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Mix {
    /// All floors with equal probability
    Uniform,
    /// Floor n with a probability proportional to 1/n
    Zipf,
    /// Each stream starts at a random floor and requests one floor after the other
    Climb,
    /// Only floor 1
    One,
}

/// Warms up connections and caches. Calls that start in this time are not counted.
const WARM_UP: Duration = Duration::from_secs(1);
/// Latencies are recorded in microseconds, up to one minute.
const MAX_LATENCY_US: u64 = 60_000_000;
const SIGNIFICANT_DIGITS: u8 = 3;
/// Pause of a stream whose call did not reach the server. The next call would fail at once, in a busy loop.
const UNREACHABLE_PAUSE: Duration = Duration::from_millis(100);

/// The measurements of one or more streams.
struct Measurements {
    latency: Histogram<u64>,
    served: Served,
    bytes: u64,
    failures: BTreeMap<String, u64>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct BenchJson<'a> {
    mix: String,
    connections: u16,
    streams: u16,
    seconds: f64,
    requests: u64,
    requests_per_second: f64,
    bytes_per_second: f64,
    latency_us: LatencyJson,
    failures: &'a BTreeMap<String, u64>,
    served: ServedJson<'a>,
}

#[derive(Serialize)]
struct LatencyJson {
    p50: u64,
    p90: u64,
    p99: u64,
    max: u64,
    mean: f64,
}

impl Bench {
    pub(crate) async fn run(self, server: &Server) -> anyhow::Result<()> {
        if !is_loopback(server.url()) {
            let url = server.url();
            writeln!(
                std::io::stderr(),
                "note: {url} is another machine; make sure that its owner expects a load test"
            )?;
        }
        let clients = server.connect_many(self.connections).await?;
        // Reports an invalid flag, such as a kind that the server does not offer, before the load starts.
        clients[0].get(self.tower.floor(1)).await?;
        let measured_from = Instant::now() + WARM_UP;
        let until = measured_from + Duration::from_secs(self.seconds.into());
        let mut streams = JoinSet::new();
        for (number, client) in (0..self.streams).zip(clients.iter().cycle()) {
            let stream =
                LoadStream { client: client.clone(), tower: self.tower.clone(), next_floor: self.picker(number) };
            streams.spawn(stream.run(measured_from, until));
        }
        let mut sum = Measurements::new()?;
        while let Some(measurements) = streams.join_next().await {
            sum.add(&measurements.context("a stream panicked")??)?;
        }
        self.print(&sum, measured_from.elapsed())
    }

    fn picker(&self, stream: u16) -> FloorPicker {
        let top = self.floors;
        let mut random = SmallRng::seed_from_u64(stream.into());
        match self.mix {
            Mix::One => Box::new(|| 1),
            Mix::Uniform => Box::new(move || random.random_range(1..=top)),
            Mix::Zipf => {
                let zipf = Zipf::new(f64::from(top), 1.0).expect("at least one floor");
                Box::new(move || zipf.sample(&mut random) as u32)
            }
            Mix::Climb => {
                let mut next = random.random_range(1..=top);
                Box::new(move || {
                    let floor = next;
                    next = if floor == top { 1 } else { floor + 1 };
                    floor
                })
            }
        }
    }

    fn print(&self, sum: &Measurements, took: Duration) -> anyhow::Result<()> {
        let seconds = took.as_secs_f64();
        let requests = sum.latency.len();
        let requests_per_second = requests as f64 / seconds;
        let at = |quantile| sum.latency.value_at_quantile(quantile);
        let latency =
            LatencyJson { p50: at(0.5), p90: at(0.9), p99: at(0.99), max: sum.latency.max(), mean: sum.latency.mean() };
        if self.report.json {
            return output::print_json(&BenchJson {
                mix: self.mix.to_possible_value().map(|v| v.get_name().to_owned()).unwrap_or_default(),
                connections: self.connections,
                streams: self.streams,
                seconds,
                requests,
                requests_per_second,
                bytes_per_second: sum.bytes as f64 / seconds,
                latency_us: latency,
                failures: &sum.failures,
                served: ServedJson::new(&sum.served),
            });
        }
        let mut out = output::stdout();
        let (rate, count) = (HumanCount(requests_per_second.round() as u64), HumanCount(requests));
        writeln!(out, "{rate} requests/s over {seconds:.1} s: {count} requests")?;
        let LatencyJson { p50, p90, p99, max, .. } = latency;
        let [p50, p90, p99, max] = [p50, p90, p99, max].map(HumanCount);
        writeln!(out, "  latency    p50 {p50} us, p90 {p90} us, p99 {p99} us, max {max} us")?;
        writeln!(out, "  served by  {}", output::served(&sum.served.by))?;
        for (failure, count) in &sum.failures {
            writeln!(out, "  failed     {} times: {failure}", HumanCount(*count))?;
        }
        Ok(out.flush()?)
    }
}

/// Chooses the next floor of a stream.
type FloorPicker = Box<dyn FnMut() -> u32 + Send>;

/// A loop of calls, one at a time.
struct LoadStream {
    client: FloorClient,
    tower: Tower,
    next_floor: FloorPicker,
}

impl LoadStream {
    async fn run(mut self, measured_from: Instant, until: Instant) -> anyhow::Result<Measurements> {
        let mut measurements = Measurements::new()?;
        loop {
            let started = Instant::now();
            if started >= until {
                return Ok(measurements);
            }
            let answer = self.client.get_encoded(self.tower.floor((self.next_floor)())).await;
            if started >= measured_from {
                measurements.add_call(started.elapsed(), &answer);
            }
            if matches!(answer, Err(ClientError::Unreachable { .. })) {
                tokio::time::sleep(UNREACHABLE_PAUSE).await;
            }
        }
    }
}

impl Measurements {
    fn new() -> anyhow::Result<Self> {
        let latency = Histogram::new_with_max(MAX_LATENCY_US, SIGNIFICANT_DIGITS)?;
        Ok(Self { latency, served: Served::default(), bytes: 0, failures: BTreeMap::new() })
    }

    fn add_call(&mut self, took: Duration, answer: &Result<Answer<EncodedFloor>, ClientError>) {
        match answer {
            Ok(answer) => {
                self.latency.saturating_record(u64::try_from(took.as_micros()).unwrap_or(MAX_LATENCY_US));
                self.served.add(&answer.served);
                self.bytes += answer.value.bytes().len() as u64;
            }
            Err(error) => *self.failures.entry(error.to_string()).or_default() += 1,
        }
    }

    fn add(&mut self, other: &Self) -> anyhow::Result<()> {
        self.latency.add(&other.latency)?;
        self.served.add(&other.served);
        self.bytes += other.bytes;
        for (failure, count) in &other.failures {
            *self.failures.entry(failure.clone()).or_default() += count;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct TestArgs {
        #[command(flatten)]
        bench: Bench,
    }

    #[test]
    fn mixes_stay_within_the_floors() {
        for mix in ["zipf", "uniform", "climb", "one"] {
            let bench = TestArgs::try_parse_from(["x", "--mix", mix, "--floors", "50"]).unwrap().bench;
            let mut next_floor = bench.picker(1);
            assert!((0..1000).all(|_| (1..=50).contains(&next_floor())), "{mix}");
        }
    }
}
