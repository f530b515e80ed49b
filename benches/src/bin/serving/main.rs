//! Measures the server under load: `cargo run --release -p benches --bin serving -- COMMAND`. Each command compares servers
//! that run at the same time, each as a process; all but the measured one are idle. In each round every server answers
//! the same loads. The first is started twice: the difference is the noise. An optimisation stays when it gains more.
//!
//! Closed loops give answers a second and the server's CPU for each answer, which comes from the kernel and depends less
//! on other load of the machine. Open loops give latencies.

mod cores;
mod credentials;
mod fleet;
mod latency;
mod neighbour;

use std::{fmt::Write as _, net::SocketAddr, time::Duration};

use anyhow::Context;
use benches::{
    load::{Shape, Window},
    peers::servers::PeerServer,
    process::raise_open_files,
    report::{Record, RecordArgs, ensure_release},
    sample::{CLIENT_CPU, CPU, Column, Figure, MEMORY, P50, P99, RATE},
    timing::alternate,
};
use clap::{Parser, Subcommand};
use cores::Group;
use fleet::{Build, Fleet, Loaded, Variant};
use latency::LATE;

#[derive(Debug, Parser)]
#[command(about = "Measures the server under load, beside other servers, other builds, or another client")]
struct Args {
    #[command(subcommand)]
    question: Question,
}

#[derive(Debug, Subcommand)]
enum Question {
    /// Answers a second and CPU of a hit, compared with other servers
    Peers {
        /// Compare only with these
        #[arg(value_name = "PEER")]
        peers: Vec<PeerServer>,
        #[command(flatten)]
        closed: Closed,
    },
    /// Latency of a hit at equal rates, compared with other servers
    Rates {
        /// Compare only with these
        #[arg(value_name = "PEER")]
        peers: Vec<PeerServer>,
        /// Calls a second, over 8 connections; each number is one load
        #[arg(long = "rate", value_delimiter = ',', value_name = "CALLS", default_values_t = [5000, 10_000, 20_000, 40_000])]
        rates: Vec<u32>,
        #[command(flatten)]
        rounds: Rounds,
    },
    /// What TLS, tokens with quotas, Connect and JSON cost, each alone, and together unless two are protocols
    Variants {
        /// What to compare with plain gRPC
        #[arg(required = true, value_name = "VARIANT")]
        variants: Vec<Variant>,
        #[command(flatten)]
        closed: Closed,
    },
    /// Whether one build of the server is faster than another; the others are compared with the first
    Builds {
        /// A name, the program, and environment variables for it
        #[arg(required = true, value_name = "NAME=PROGRAM[,VARIABLE=VALUE]...")]
        builds: Vec<Build>,
        #[command(flatten)]
        closed: Closed,
    },
    /// What more cores cost: our server with several, as many with one core each, and tonic with several
    Cores {
        /// Numbers of cores; by default powers of two, up to half of the machine or to all of a small one
        #[arg(long, value_delimiter = ',', value_name = "CORES")]
        cores: Vec<usize>,
        #[command(flatten)]
        closed: Closed,
    },
    /// What a client at ten times its quota does to another client
    Fairness(Rounds),
    /// What a client of new floors does to a client of floors in memory
    Generating(Rounds),
    /// What writes and evictions do to a client of floors in memory
    Writing(Rounds),
    /// Serve as a peer; the command starts itself with this one
    #[command(hide = true)]
    Serve { peer: PeerServer, address: SocketAddr },
}

/// The closed loops.
#[derive(Debug, clap::Args)]
struct Closed {
    /// Loads, by connections and calls in flight on each
    #[arg(long = "shape", value_delimiter = ',', value_name = "CONNECTIONSxCALLS", default_values_t = [Shape::new(8, 1), Shape::new(8, 10), Shape::new(64, 1)])]
    shapes: Vec<Shape>,
    #[command(flatten)]
    rounds: Rounds,
}

/// How long is measured, and where the record goes.
#[derive(Debug, clap::Args)]
struct Rounds {
    /// Number of rounds; the figures are medians over them
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Measured seconds of a server under one load in one round
    #[arg(long, default_value_t = 10.0)]
    seconds: f64,
    /// Seconds of load before the first measurement of a server under one load; before the others it is a tenth of that
    #[arg(long, default_value_t = 5.0)]
    warmup: f64,
    /// For developers: a warm-up of 1 s instead of 5, 2 s for each figure instead of 10, and 2 rounds. It shows that the
    /// command works, and no figure to publish
    #[arg(long, conflicts_with_all = ["rounds", "seconds", "warmup"])]
    quick: bool,
    #[command(flatten)]
    record: RecordArgs,
}

/// Connections above which the server's limit for one address is lifted, and this process may open more files.
const MANY_CONNECTIONS: usize = 200;

impl Closed {
    const COLUMNS: [Column; 6] = [RATE, CPU, CLIENT_CPU, P50, P99, MEMORY];
    const RATIOS: [(&'static str, Figure); 2] =
        [("ratio, answers/s", |it| it.rate), ("ratio, CPU", |it| 1.0 / it.server_cpu_us)];

    fn has_many_connections(&self) -> anyhow::Result<bool> {
        let has_many = self.shapes.iter().any(|shape| shape.connections > MANY_CONNECTIONS);
        if has_many {
            raise_open_files()?;
        }
        Ok(has_many)
    }

    /// Adds the rounds of each load on each of `servers`. `prefix` is that of the names of the loads.
    fn add_rounds(&self, record: &mut Record, prefix: &str, servers: &[impl Loaded]) -> anyhow::Result<()> {
        let servers: Vec<_> = servers.iter().collect();
        for round in 0..self.rounds.count() {
            for shape in &self.shapes {
                for server in alternate(round, &servers) {
                    let sample = server.load(*shape, self.rounds.window(round)?);
                    let sample = sample.with_context(|| format!("{prefix}{shape}, {}", server.name()))?;
                    record.add(sample.named(format!("{prefix}{shape}"), server.name(), round))?;
                }
            }
            eprintln!("{prefix}round {} of {} done", round + 1, self.rounds.count());
        }
        Ok(())
    }

    /// Puts each load on servers with each number of cores.
    fn measure_cores(&self, counts: &[usize]) -> anyhow::Result<()> {
        let counts = if counts.is_empty() { &cores::default_counts()[..] } else { counts };
        let mut record = Record::start(&self.rounds.record, "serving", "cores")?;
        for count in counts {
            self.add_rounds(&mut record, &format!("{count} cores, "), &Group::start_all(*count)?)?;
        }
        let about = "Loads are named by cores of the servers, and by connections and calls in flight on each, which as many \
                     client threads as cores share. They run on other cores if the machine has twice as many, else on the \
                     same.";
        let text = self.rounds.markdown(&record, about, &Self::COLUMNS, &Self::RATIOS);
        record.finish("Cores", &text)
    }

    /// Puts each load on each server.
    fn measure(&self, fleet: &Fleet, name: &str) -> anyhow::Result<()> {
        let mut record = Record::start(&self.rounds.record, "serving", name)?;
        self.add_rounds(&mut record, "", fleet.servers())?;
        let about = "Loads are named by connections and calls in flight on each. One client thread runs on the same cores \
                     as the servers.";
        let text = self.rounds.markdown(&record, about, &Self::COLUMNS, &Self::RATIOS);
        record.finish("Serving", &text)
    }
}

impl Rounds {
    /// The time of one figure in `round`.
    fn window(&self, round: usize) -> anyhow::Result<Window> {
        let (warmup, seconds) = if self.quick { (1.0, 2.0) } else { (self.warmup, self.seconds) };
        let settle = if round == 0 { warmup } else { warmup / 10.0 };
        let time = |seconds| Duration::try_from_secs_f64(seconds).context("--seconds and --warmup are positive");
        Ok(Window { settle: time(settle)?, measured: time(seconds)? })
    }

    const fn count(&self) -> usize {
        if self.quick { 2 } else { self.rounds }
    }

    fn trial(&self, trial: &neighbour::Trial) -> anyhow::Result<()> {
        let mut record = Record::start(&self.record, "serving", trial.name)?;
        let window = Window { settle: self.window(0)?.settle, ..self.window(1)? };
        trial.run(window, self.count(), &mut record)
    }

    /// Calls each server at each of `rates`.
    fn rates(&self, fleet: &Fleet, rates: &[u32]) -> anyhow::Result<()> {
        const COLUMNS: [Column; 5] = [RATE, P50, P99, LATE, ("unanswered", 0, |it| it.unanswered as f64)];
        const RATIOS: [(&str, Figure); 2] =
            [("ratio, p50", |it| 1.0 / it.p50_us), ("ratio, p99", |it| 1.0 / it.p99_us)];
        let mut record = Record::start(&self.record, "serving", "rates")?;
        for round in 0..self.count() {
            for rate in rates {
                for server in fleet.order(round) {
                    let sample = latency::measure(server, *rate, self.window(round)?)?;
                    record.add(sample.named(format!("{rate} calls a second"), &server.name, round))?;
                }
            }
            eprintln!("round {} of {} done", round + 1, self.count());
        }
        let about = format!("{} connections; the client has a processor of its own.", latency::CONNECTIONS);
        let text = self.markdown(&record, &about, &COLUMNS, &RATIOS);
        record.finish("Latency at equal rates", &text)
    }

    /// The tables, by load.
    fn markdown(&self, record: &Record, about: &str, columns: &[Column], ratios: &[(&'static str, Figure)]) -> String {
        let mut text = format!(
            "{} rounds, interleaved{}. {about} Figures are medians with the least and the greatest. Ratios of the first \
             server to each within a round are geometric means with 95 % intervals (Student's t), above 1 where the \
             first is better.\n",
            self.count(),
            if self.quick { ", shortened by --quick" } else { "" },
        );
        for load in record.samples.loads() {
            let _ = write!(text, "\n### {load}\n\n{}\n", record.samples.table(load, columns, ratios));
        }
        text
    }
}

fn main() -> anyhow::Result<()> {
    let Args { question } = Args::parse();
    if let Question::Serve { peer, address } = question {
        return tokio::runtime::Runtime::new()?.block_on(peer.serve(address));
    }
    ensure_release()?;
    match &question {
        Question::Peers { peers, closed } => {
            closed.measure(&Fleet::of_peers(peers, closed.has_many_connections()?)?, "peers")
        }
        Question::Rates { peers, rates, rounds } => rounds.rates(&Fleet::of_peers(peers, false)?, rates),
        Question::Variants { variants, closed } => {
            closed.measure(&Fleet::of_variants(variants, closed.has_many_connections()?)?, "variants")
        }
        Question::Builds { builds, closed } => {
            closed.measure(&Fleet::of_builds(builds, closed.has_many_connections()?)?, "builds")
        }
        Question::Cores { cores, closed } => {
            closed.has_many_connections()?;
            closed.measure_cores(cores)
        }
        Question::Fairness(rounds) => rounds.trial(&neighbour::FAIRNESS),
        Question::Generating(rounds) => rounds.trial(&neighbour::GENERATING),
        Question::Writing(rounds) => rounds.trial(&neighbour::WRITING),
        Question::Serve { .. } => Ok(()),
    }
}
