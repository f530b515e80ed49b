//! Measures the server under load: `cargo run --release -p benches --bin serving -- COMMAND`. Each command compares servers
//! that run at the same time, each as a process; all but the measured one are idle. In each round every server answers
//! the same loads. The first is started twice: the difference is the noise. An optimisation stays when it gains more.
//!
//! Closed loops give answers a second and the server's CPU for each answer, which comes from the kernel and depends less
//! on other load of the machine. Open loops give latencies.

mod cores;
mod credentials;
mod files;
mod fleet;
mod neighbour;

use std::{fmt::Write as _, net::SocketAddr, time::Duration};

use anyhow::Context;
use benches::{
    load::{Shape, Window},
    peer_servers::PeerServer,
    process::raise_open_files,
    progress::Progress,
    report::{Report, ensure_release},
    sample::{CLIENT_CPU, CPU, Column, Figure, LATE, MEMORY, P50, P99, RATE},
    timing::alternate,
};
use clap::{Parser, Subcommand};
use cores::Group;
use fleet::{Build, CONNECTIONS, Fleet, Variant};

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
    /// What more cores cost: our server with several, as many with one core each, tonic with several, and nghttpd and h2o,
    /// where they are installed, which send the same bytes as a file
    Cores {
        /// Numbers of cores; by default powers of two, up to half of the machine or to all of a small one
        #[arg(long, value_delimiter = ',', value_name = "CORES")]
        cores: Vec<usize>,
        #[command(flatten)]
        closed: Closed,
    },
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

/// How long is measured.
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
}

/// Connections above which the server's limit for one address is lifted, and this process may open more files.
const MANY_CONNECTIONS: usize = 200;

impl Closed {
    const COLUMNS: [Column; 6] = [RATE, CPU, CLIENT_CPU, P50, P99, MEMORY];
    const RATIOS: [(&'static str, Figure); 2] =
        [("ratio, answers/s", |it| it.rate), ("ratio, CPU", |it| 1.0 / it.server_cpu_us)];

    /// Puts each load on servers with each number of cores.
    fn measure_cores(&self, counts: &[usize]) -> anyhow::Result<()> {
        let counts = if counts.is_empty() { &cores::default_counts()[..] } else { counts };
        let mut report = Report::start("serving");
        let groups: usize = counts.iter().map(|count| Group::count(*count)).sum();
        let progress = self.rounds.progress(groups * self.shapes.len())?;
        let most = counts.iter().copied().max().unwrap_or(1);
        for count in counts {
            let groups: Vec<_> = Group::start_all(*count, most)?;
            for round in 0..self.rounds.count() {
                for shape in &self.shapes {
                    let load = format!("{count} cores, {shape}");
                    for group in alternate(round, &groups.iter().collect::<Vec<_>>()) {
                        let window = self.rounds.window(round)?;
                        progress.show(format!("{load}, {}", group.name));
                        let sample = group.load(*shape, window);
                        let sample = sample.with_context(|| format!("{load}, {}", group.name))?;
                        report.add(sample.named(&load, &group.name, round));
                        progress.advance(window.total());
                    }
                }
            }
        }
        drop(progress);
        let about = "Loads are named by cores of the servers, and by connections and calls in flight on each, which as many \
                     client threads as cores share; each calls all servers. They run on other cores if the machine has \
                     twice as many as the most, else on those of the servers.";
        report.finish("Cores", &self.rounds.markdown(&report, about, &Self::COLUMNS, &Self::RATIOS));
        Ok(())
    }

    /// Puts each load on each server that `start` adds to a fleet.
    fn measure(&self, start: impl FnOnce(&mut Fleet) -> anyhow::Result<()>) -> anyhow::Result<()> {
        let has_many = self.shapes.iter().any(|shape| shape.connections > MANY_CONNECTIONS);
        if has_many {
            raise_open_files()?;
        }
        let mut fleet = Fleet::new(has_many);
        start(&mut fleet)?;
        let mut report = Report::start("serving");
        let progress = self.rounds.progress(fleet.order(0).len() * self.shapes.len())?;
        for round in 0..self.rounds.count() {
            for shape in &self.shapes {
                for server in fleet.order(round) {
                    let window = self.rounds.window(round)?;
                    progress.show(format!("{shape}, {}", server.name));
                    let sample = server.load(*shape, window);
                    let sample = sample.with_context(|| format!("{shape}, {}", server.name))?;
                    report.add(sample.named(shape, &server.name, round));
                    progress.advance(window.total());
                }
            }
        }
        drop(progress);
        let about = "Loads are named by connections and calls in flight on each. One client thread runs on the same cores \
                     as the servers.";
        report.finish("Serving", &self.rounds.markdown(&report, about, &Self::COLUMNS, &Self::RATIOS));
        Ok(())
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

    /// The progress of all rounds, each with `turns`.
    fn progress(&self, turns: usize) -> anyhow::Result<Progress> {
        let rounds = (0..self.count()).map(|round| self.window(round));
        let round: Duration = rounds.map(|window| Ok(window?.total())).sum::<anyhow::Result<_>>()?;
        Ok(Progress::start(round * turns as u32))
    }

    const fn count(&self) -> usize {
        if self.quick { 2 } else { self.rounds }
    }

    /// Calls each server at each of `rates`.
    fn rates(&self, fleet: &Fleet, rates: &[u32]) -> anyhow::Result<()> {
        const COLUMNS: [Column; 5] = [RATE, P50, P99, LATE, ("unanswered", 0, |it| it.unanswered as f64)];
        const RATIOS: [(&str, Figure); 2] =
            [("ratio, p50", |it| 1.0 / it.p50_us), ("ratio, p99", |it| 1.0 / it.p99_us)];
        let mut report = Report::start("serving");
        let progress = self.progress(fleet.order(0).len() * rates.len())?;
        for round in 0..self.count() {
            for rate in rates {
                for server in fleet.order(round) {
                    let window = self.window(round)?;
                    progress.show(format!("{rate} calls a second, {}", server.name));
                    let sample = server.at_rate(*rate, window)?;
                    report.add(sample.named(format!("{rate} calls a second"), &server.name, round));
                    progress.advance(window.total());
                }
            }
        }
        drop(progress);
        let about = format!("{CONNECTIONS} connections; the client has a processor of its own.");
        report.finish("Latency at equal rates", &self.markdown(&report, &about, &COLUMNS, &RATIOS));
        Ok(())
    }

    /// The tables, by load.
    fn markdown(&self, report: &Report, about: &str, columns: &[Column], ratios: &[(&'static str, Figure)]) -> String {
        let mut text = format!(
            "{} rounds, interleaved{}. {about} Figures are medians with the least and the greatest. Ratios of the first \
             server to each within a round are geometric means with 95 % intervals (Student's t), above 1 where the \
             first is better.\n",
            self.count(),
            if self.quick { ", shortened by --quick" } else { "" },
        );
        for load in report.samples.loads() {
            let _ = write!(text, "\n### {load}\n\n{}\n", report.samples.table(load, columns, ratios));
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
        Question::Peers { peers, closed } => closed.measure(|fleet| fleet.add_peers(peers)),
        Question::Rates { peers, rates, rounds } => {
            let mut fleet = Fleet::new(false);
            fleet.add_peers(peers)?;
            rounds.rates(&fleet, rates)
        }
        Question::Variants { variants, closed } => closed.measure(|fleet| fleet.add_variants(variants)),
        Question::Builds { builds, closed } => closed.measure(|fleet| fleet.add_builds(builds)),
        Question::Cores { cores, closed } => closed.measure_cores(cores),
        Question::Generating(rounds) => neighbour::GENERATING.run(rounds),
        Question::Writing(rounds) => neighbour::WRITING.run(rounds),
        Question::Serve { .. } => Ok(()),
    }
}
