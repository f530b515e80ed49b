//! Compares our server with other implementations of the service: `cargo run --release -p benches --bin serving`. With
//! `--against before=PATH --against after=PATH` it compares builds of our server, with `--variant` our server with itself
//! under TLS, with tokens, or over Connect. An optimisation stays when it gains more than the noise.
//!
//! All servers run at the same time, each as a process; all but the measured one are idle. In each round every server
//! answers the same loads, for the same time or at the same rate. The first is started twice: the difference is the
//! noise. The figures of closed loops are answers a second and the server's CPU for each answer. The second comes from
//! the kernel and depends less on other load of the machine. Those of open loops are latencies.

mod credentials;
mod fleet;
mod latency;
mod neighbour;
mod syscalls;

use std::{fmt::Write as _, net::SocketAddr, time::Duration};

use anyhow::Context;
use benches::{
    load::{Rpc, Shape, Window},
    peers::servers::PeerServer,
    process::raise_open_files,
    report::{Record, RecordArgs, ensure_release},
    sample::{CLIENT_CPU, CPU, Column, Figure, MEMORY, P50, P99, RATE, Samples},
};
use clap::{ArgGroup, Parser};
use fleet::{Build, Clients, Fleet, Limit, Variant};
use latency::{CLOCK_LATE, LATE};

#[derive(Debug, Parser)]
#[command(
    about = "Compares our server with other implementations of the service",
    group(
        ArgGroup::new("neighbour")
            .args(["fairness", "generating", "writing"])
            .conflicts_with_all(["syscalls", "against", "variants"])
    )
)]
struct Args {
    /// Number of rounds; the figures are medians over them
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Measured seconds of a server under one load in one round
    #[arg(long, default_value_t = 10.0)]
    seconds: f64,
    /// Seconds of load before the first measurement of a server under one load; before the others it is a tenth of that
    #[arg(long, default_value_t = 5.0)]
    warmup: f64,
    /// Measure a closed loop for this number of calls instead of --seconds
    #[arg(long)]
    calls: Option<u64>,
    /// For developers: a warm-up of 1 s instead of 5, 2 s for each figure instead of 10, and 2 rounds. It shows that the
    /// command works, and no figure to publish
    #[arg(long, conflicts_with_all = ["rounds", "seconds", "warmup", "calls"])]
    quick: bool,
    /// TCP connections
    #[arg(long, default_value_t = 8)]
    connections: usize,
    /// Calls in flight on each connection; each number is one load
    #[arg(long, value_delimiter = ',', default_values_t = [1, 10, 50])]
    streams: Vec<usize>,
    /// Loads by connections and calls on each, instead of --connections and --streams, for example 64x1,1000x1,64x10
    #[arg(long = "shape", value_delimiter = ',', value_name = "CONNECTIONSxSTREAMS")]
    shapes: Vec<Shape>,
    /// Request 10,000 floors by Zipf's law instead of one, which every server has in memory; compare with the servers that
    /// can send them
    #[arg(long, conflicts_with_all = ["syscalls", "variants"])]
    zipf: bool,
    /// Only measure closed loops over networks with these round trips, in milliseconds. A proxy in this process delays the
    /// answers; the column "client CPU" includes it
    #[arg(long = "round-trip", value_delimiter = ',', value_name = "MS", conflicts_with = "syscalls")]
    round_trips: Vec<f64>,
    /// Offer the largest flow-control windows instead of the initial ones of HTTP/2, as all records before 2026-11-23 did
    #[arg(long)]
    large_windows: bool,
    /// Calls a second of the open loops; each number is one load. Without a number there is no open loop
    #[arg(long, value_delimiter = ',', num_args = 0.., default_values_t = [5000, 10_000, 20_000, 40_000])]
    rates: Vec<u32>,
    /// Compare this build of the server: a name, the binary, and environment variables for it. Repeated for each build;
    /// the others are compared with the first
    #[arg(long, value_name = "NAME=BINARY[,VARIABLE=VALUE]...", conflicts_with_all = ["syscalls", "variants"])]
    against: Vec<Build>,
    /// Compare our server with itself: with TLS, with tokens and quotas, over Connect with protobuf or with JSON; and with
    /// all that are named, unless two are protocols
    #[arg(long = "variant", value_delimiter = ',', conflicts_with = "syscalls")]
    variants: Vec<Variant>,
    /// Only measure what a client at ten times its quota does to another client
    #[arg(long)]
    fairness: bool,
    /// Only measure what a client of new floors does to a client of floors in memory
    #[arg(long)]
    generating: bool,
    /// Only measure what writes and evictions do to a client of floors in memory
    #[arg(long)]
    writing: bool,
    /// Compare only with this peer: bare-hyper, static-tonic, tonic-map, tonic-moka-message, tonic-moka-tiles
    #[arg(long = "peer", value_delimiter = ',', value_name = "NAME", conflicts_with_all = ["against", "variants", "syscalls"],
        value_parser = peer)]
    peers: Vec<PeerServer>,
    /// Only count the system calls of an answer, with strace
    #[arg(long)]
    syscalls: bool,
    #[command(flatten)]
    record: RecordArgs,
    /// Serve as the peer NAME at ADDRESS; the command starts itself with this option
    #[arg(long, hide = true, num_args = 2, value_names = ["NAME", "ADDRESS"])]
    serve: Option<Vec<String>>,
}

/// Floors in a batch.
const BATCH: u64 = 16;

/// Divisor of `--calls` for the server with a message per tile, which sends thirty times the bytes.
const TILE_DIVISOR: u64 = 20;

/// Connections above which the server's limit for one address is lifted, and this process may open more files.
const MANY_CONNECTIONS: usize = 200;

impl Args {
    /// The time of one figure in `round`.
    fn window(&self, round: usize) -> anyhow::Result<Window> {
        let (warmup, seconds) = if self.quick { (1.0, 2.0) } else { (self.warmup, self.seconds) };
        let settle = if round == 0 { warmup } else { warmup / 10.0 };
        let time = |seconds| Duration::try_from_secs_f64(seconds).context("--seconds and --warmup are positive");
        Ok(Window { settle: time(settle)?, measured: time(seconds)? })
    }

    fn rounds(&self) -> usize {
        if self.quick { 2 } else { self.rounds }
    }

    fn shapes(&self) -> Vec<Shape> {
        if self.shapes.is_empty() {
            return self.streams.iter().map(|streams| Shape::new(self.connections, *streams)).collect();
        }
        self.shapes.clone()
    }
}

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    if let Some(serve) = &args.serve {
        return tokio::runtime::Runtime::new()?.block_on(peer(&serve[0])?.serve(serve[1].parse::<SocketAddr>()?));
    }
    ensure_release()?;
    let trials = [
        (args.fairness, neighbour::FAIRNESS),
        (args.generating, neighbour::GENERATING),
        (args.writing, neighbour::WRITING),
    ];
    if let Some((_, trial)) = trials.into_iter().find(|(is_asked, _)| *is_asked) {
        let mut record = Record::start(&args.record, "serving", trial.name)?;
        let window = Window { settle: args.window(0)?.settle, ..args.window(1)? };
        return trial.run(window, args.rounds(), &mut record);
    }
    let shapes = args.shapes();
    let clients = Clients {
        has_many_connections: shapes.iter().any(|shape| shape.connections > MANY_CONNECTIONS),
        has_large_windows: args.large_windows,
        has_many_floors: args.zipf,
    };
    if clients.has_many_connections {
        raise_open_files()?;
    }
    let (fleet, name) = match &args {
        Args { against, .. } if !against.is_empty() => (Fleet::of_builds(against, clients)?, "builds"),
        Args { variants, .. } if !variants.is_empty() => (Fleet::of_variants(variants, clients)?, "variants"),
        Args { round_trips, .. } if !round_trips.is_empty() => (Fleet::of_peers(&args.peers, clients)?, "network"),
        Args { zipf: true, .. } => (Fleet::of_peers(&args.peers, clients)?, "zipf"),
        _ => (Fleet::of_peers(&args.peers, clients)?, "serving"),
    };
    if args.syscalls {
        return syscalls::print(&fleet, args.connections, &args.streams);
    }
    let mut record = Record::start(&args.record, "serving", name)?;
    let is_local = args.round_trips.is_empty();
    let round_trips = if is_local { &[0.0] } else { &args.round_trips[..] };
    for round in 0..args.rounds() {
        for &round_trip in round_trips {
            for shape in &shapes {
                measure(&fleet, &args, round, Rpc::GetFloor, *shape, round_trip, &mut record)?;
            }
        }
        if name == "serving" && args.peers.is_empty() {
            let shape = Shape::new(args.connections, 10);
            measure(&fleet, &args, round, Rpc::BatchGetFloors, shape, 0.0, &mut record)?;
        }
        for rate in args.rates.iter().filter(|_| is_local) {
            let window = args.window(round)?;
            for server in fleet.order(Rpc::GetFloor, round).into_iter().filter(|server| !server.is_of_tiles()) {
                let sample = latency::measure(server, *rate, args.connections, window)?;
                record.add(sample.named(format!("GetFloor, {rate}{OPEN}"), &server.name, round))?;
            }
        }
        eprintln!("round {} of {} done", round + 1, args.rounds());
    }
    record.finish("Serving", &markdown(&record.samples, &args))
}

fn peer(name: &str) -> anyhow::Result<PeerServer> {
    PeerServer::from_name(name).with_context(|| format!("there is no peer {name:?}"))
}

/// Puts one closed loop on each server, one after the other. The order is reversed in every other round.
fn measure(
    fleet: &Fleet,
    args: &Args,
    round: usize,
    rpc: Rpc,
    shape: Shape,
    round_trip_millis: f64,
    record: &mut Record,
) -> anyhow::Result<()> {
    let round_trip = Duration::try_from_secs_f64(round_trip_millis / 1e3).context("--round-trip is positive")?;
    let network = if round_trip.is_zero() { String::new() } else { format!(", {round_trip_millis} ms") };
    for server in fleet.order(rpc, round) {
        let limit = match args.calls {
            None => Limit::Time(args.window(round)?),
            Some(calls) if rpc == Rpc::BatchGetFloors => Limit::Calls(calls / BATCH),
            Some(calls) if server.is_of_tiles() => Limit::Calls(calls / TILE_DIVISOR),
            Some(calls) => Limit::Calls(calls),
        };
        let load = format!("{}, {shape}{network}", rpc.name());
        let sample = server.load(rpc, shape, limit, round_trip).with_context(|| format!("{load}, {}", server.name))?;
        record.add(sample.named(load, &server.name, round))?;
    }
    Ok(())
}

/// The end of the name of an open loop.
const OPEN: &str = " calls a second";

/// The tables, by load.
fn markdown(samples: &Samples, args: &Args) -> String {
    const CLOSED_COLUMNS: [Column; 6] = [RATE, CPU, CLIENT_CPU, P50, P99, MEMORY];
    const CLOSED_RATIOS: [(&str, Figure); 2] =
        [("ratio, answers/s", |it| it.rate), ("ratio, CPU", |it| 1.0 / it.server_cpu_us)];
    const OPEN_COLUMNS: [Column; 6] = [RATE, P50, P99, LATE, CLOCK_LATE, ("unanswered", 0, |it| it.unanswered as f64)];
    const OPEN_RATIOS: [(&str, Figure); 2] =
        [("ratio, p50", |it| 1.0 / it.p50_us), ("ratio, p99", |it| 1.0 / it.p99_us)];
    let mut text = format!(
        "{} rounds, interleaved{}. Loads are named by connections and calls in flight on each. In closed loops one client \
         thread runs on the same cores as the servers; open loops have {} connections and a processor of their own. \
         Figures are medians with the least and the greatest. Ratios of the first server to each within a round are \
         geometric means with 95 % intervals (Student's t), above 1 where the first is better.\n",
        args.rounds(),
        if args.quick { ", shortened by --quick" } else { "" },
        args.connections
    );
    for load in samples.loads() {
        let table = if load.ends_with(OPEN) {
            samples.table(load, &OPEN_COLUMNS, &OPEN_RATIOS)
        } else {
            samples.table(load, &CLOSED_COLUMNS, &CLOSED_RATIOS)
        };
        let _ = write!(text, "\n### {load}\n\n{table}\n");
    }
    text
}
