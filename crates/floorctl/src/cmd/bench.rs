//! `floorctl bench`: a small load test, in a closed or an open loop.

use std::{
    collections::BTreeMap,
    io::{self, IsTerminal as _, Write},
    iter,
    time::Duration,
};

use clap::{Args, ValueEnum};
use floor_client::{FloorClient, is_loopback};
use hdrhistogram::Histogram;
use indicatif::HumanCount;
use rand::{RngExt as _, SeedableRng as _, rngs::SmallRng};
use rand_distr::{Distribution as _, Zipf};
use serde::Serialize;

use crate::{
    chart,
    json::ServedJson,
    load::{self, ANSWER_TIMEOUT, FloorPicker, LoadStream, Measurements, Period},
    numbers,
    output::{self, ReportFormat},
    progress,
    server::Server,
    target::Tower,
};

const AFTER_HELP: &str = "\
Without --rate the load is a closed loop: each stream requests its next floor after the last one has arrived. While \
the server stalls, it gets fewer requests, so the percentiles are lower than those of users who do not wait. With \
--rate it is an open loop: calls start evenly, whatever the answers take. A call that is due while every stream is \
busy starts late and is counted. Its latency counts from when it was due, and so does that of a call without an answer \
2 s after the end. If client and server run on the same machine, they share its cores. The client does not decode the \
floors. The first second is not counted. A call that fails is counted and named; in the closed loop, a stream whose \
call does not reach the server pauses for 100 ms.

In a terminal the report ends with two figures: the answers a second in each fortieth of the time, and how many calls \
took how long.

Examples:
  floorctl bench --connections 2 --streams 50 --seconds 10
  floorctl bench --rate 2000 --streams 100            # an open loop
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
    /// Start this many calls a second, in an open loop; without it each stream waits for its answers
    #[arg(long, value_name = "CALLS", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    rate: Option<u32>,
    /// Duration of the measurement, in seconds
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..))]
    seconds: u16,
    /// How the streams choose floors
    #[arg(long, value_enum, default_value_t = Mix::Zipf)]
    mix: Mix,
    /// The greatest floor number to request
    #[arg(long, default_value_t = 1000, value_parser = numbers::parse_one, help_heading = "Floor")]
    floors: u32,
    /// Call for floors of this generator version only, as the players of pinned towers do
    #[arg(long, value_name = "N", help_heading = "Server")]
    generator_version: Option<u32>,
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
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct BenchJson<'a> {
    mix: String,
    connections: u16,
    streams: u16,
    rate: Option<u32>,
    seconds: f64,
    requests: u64,
    requests_per_second: f64,
    bytes_per_second: f64,
    latency_us: LatencyJson,
    late: u64,
    unanswered: u64,
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
            writeln!(output::stderr(), "note: {url} is another machine; make sure that its owner expects a load test")?;
        }
        let mut clients = server.connect_many(self.connections).await?;
        if let Some(version) = self.generator_version {
            let options = server.options().generator_version(version);
            clients = clients.into_iter().map(|client| client.with_options(options)).collect();
        }
        // Reports an invalid flag, such as a kind that the server does not offer, before the load starts.
        clients[0].get(self.tower.floor(1)).await?;
        let period = Period::starting_now(WARM_UP, Duration::from_secs(self.seconds.into()));
        let streams = self.streams(&clients);
        let bar = progress::timer("measuring", period.until - period.start);
        let sum = match self.rate {
            None => load::closed_loop(streams, period).await?,
            Some(rate) => load::open_loop(streams, rate, period).await?,
        };
        bar.finish_and_clear();
        // The last answers may come before the end.
        self.print(&sum, period.measured_from.elapsed().max(period.until - period.measured_from))
    }

    fn streams(&self, clients: &[FloorClient]) -> Vec<LoadStream> {
        let numbered = (0..self.streams).zip(clients.iter().cycle());
        let stream = |(number, client): (u16, &FloorClient)| LoadStream {
            client: client.clone(),
            tower: self.tower.clone(),
            next_floor: self.picker(number),
        };
        numbered.map(stream).collect()
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
        let requests = sum.requests();
        let requests_per_second = requests as f64 / seconds;
        let at = |quantile| sum.latency.value_at_quantile(quantile);
        let latency =
            LatencyJson { p50: at(0.5), p90: at(0.9), p99: at(0.99), max: sum.latency.max(), mean: sum.latency.mean() };
        if self.report.json {
            return output::print_json(&BenchJson {
                mix: self.mix.to_possible_value().map(|v| v.get_name().to_owned()).unwrap_or_default(),
                connections: self.connections,
                streams: self.streams,
                rate: self.rate,
                seconds,
                requests,
                requests_per_second,
                bytes_per_second: sum.bytes as f64 / seconds,
                latency_us: latency,
                late: sum.late,
                unanswered: sum.unanswered,
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
        if let Some(rate) = self.rate {
            Self::print_open_loop(&mut out, rate, sum)?;
        }
        for (failure, count) in &sum.failures {
            writeln!(out, "  failed     {} times: {failure}", HumanCount(*count))?;
        }
        if io::stdout().is_terminal() {
            write_figures(&mut out, &sum.rates(Duration::from_secs(self.seconds.into())), &sum.latency)?;
        }
        Ok(out.flush()?)
    }

    /// The lines about calls that did not go as planned.
    fn print_open_loop(out: &mut impl Write, rate: u32, sum: &Measurements) -> std::io::Result<()> {
        let (rate, late) = (HumanCount(rate.into()), HumanCount(sum.late));
        writeln!(out, "  open loop  {rate} calls/s were due; {late} started late, with all streams busy")?;
        if sum.unanswered > 0 {
            let (unanswered, wait) = (HumanCount(sum.unanswered), humantime::format_duration(ANSWER_TIMEOUT));
            writeln!(out, "  unanswered {unanswered} calls, {wait} after the end")?;
        }
        Ok(())
    }
}

/// Draws the answers a second over the run, and how many calls took how long.
fn write_figures(out: &mut impl Write, rates: &[f64], latency: &Histogram<u64>) -> io::Result<()> {
    let (least, most) = rates.iter().fold((f64::MAX, 0.0), |(least, most), rate| (rate.min(least), rate.max(most)));
    let [least, most_count] = [least, most].map(|rate: f64| HumanCount(rate.round() as u64));
    let line = chart::sparkline(rates.iter().copied().map(Some), most);
    writeln!(out, "  answers/s  {line}  {least} to {most_count}")?;
    let names = iter::once("latencies").chain(iter::repeat(""));
    names.zip(chart::histogram(latency)).try_for_each(|(name, line)| writeln!(out, "  {name:<9}  {line}"))
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
    fn figures_stand_under_the_lines_of_the_report() {
        let mut latency = Histogram::new(3).unwrap();
        latency.record_n(100, 3).unwrap();
        latency.record(101).unwrap();
        let mut out = Vec::new();
        write_figures(&mut out, &[1_000.0, 4_000.0, 2_000.4], &latency).unwrap();
        let expected = "  answers/s  ▂█▅  1,000 to 4,000
  latencies  to        100 us  ██████████████████████████████   75.0 %
             to        101 us  ██████████                       25.0 %
";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
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
