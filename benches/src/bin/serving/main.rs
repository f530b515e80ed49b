//! Compares our server with other implementations of the service: `cargo run --release -p benches --bin serving`. With
//! `--against before=PATH --against after=PATH` it compares builds of our server. An optimisation stays when it gains
//! more than the noise.
//!
//! All servers run at the same time, each as a process; all but the measured one are idle. In each round every server
//! answers the same load. The first is started twice: the difference is the noise. The figures are answers a second and
//! the server's CPU for each answer. The second comes from the kernel and depends less on other load of the machine.

mod fleet;
mod latency;
mod report;
mod syscalls;

use std::net::SocketAddr;

use anyhow::ensure;
use benches::{
    load::Rpc,
    peers::servers::PeerServer,
    report::{RecordArgs, ensure_release},
};
use clap::Parser;
use fleet::{Build, Fleet};
use report::{Report, Round};

#[derive(Debug, Parser)]
#[command(about = "Compares our server with other implementations of the service")]
struct Args {
    /// Number of rounds; the figures are medians over them
    #[arg(long, default_value_t = 7)]
    rounds: usize,
    /// Calls to a server in one round of one load
    #[arg(long, default_value_t = 40_000)]
    calls: u64,
    /// TCP connections
    #[arg(long, default_value_t = 8)]
    connections: usize,
    /// Calls in flight on each connection; each number is one load
    #[arg(long, value_delimiter = ',', default_values_t = [1, 10, 50])]
    streams: Vec<usize>,
    /// Compare this build of the server: a name, the binary, and environment variables for it. Repeated for each build;
    /// the others are compared with the first
    #[arg(long, value_name = "NAME=BINARY[,VARIABLE=VALUE]...", conflicts_with = "syscalls")]
    against: Vec<Build>,
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

/// Divisor of the calls to the server with a message per tile, which sends thirty times the bytes.
const TILE_DIVISOR: u64 = 20;

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    if let Some(serve) = &args.serve {
        let (peer, address) = (PeerServer::from_name(&serve[0]), serve[1].parse::<SocketAddr>()?);
        ensure!(peer.is_some(), "there is no server named {:?}", serve[0]);
        return tokio::runtime::Runtime::new()?.block_on(peer.expect("checked above").serve(address));
    }
    ensure_release()?;
    let has_peers = args.against.is_empty();
    let fleet = if has_peers { Fleet::of_peers()? } else { Fleet::of_builds(&args.against)? };
    if args.syscalls {
        return syscalls::print(&fleet, args.connections, &args.streams);
    }
    let new_report = || Report::new(&fleet, args.rounds, args.connections);
    // Warms up: the first calls grow buffers.
    measure(&fleet, &args, 0, Rpc::GetFloor, args.streams[0], &mut new_report())?;
    let mut report = new_report();
    for round in 0..args.rounds {
        for streams in &args.streams {
            measure(&fleet, &args, round, Rpc::GetFloor, *streams, &mut report)?;
        }
        if has_peers {
            measure(&fleet, &args, round, Rpc::BatchGetFloors, 10, &mut report)?;
            report.latencies.extend(latency::measure(&fleet, args.connections, round)?);
        }
        eprintln!("round {} of {} done", round + 1, args.rounds);
    }
    let name = if has_peers { "serving" } else { "builds" };
    args.record.report(&report.origin, name, "Serving", &report.markdown(), &report)
}

/// Puts one load on each server, one after the other. The order is reversed in every other round.
fn measure(
    fleet: &Fleet,
    args: &Args,
    round: usize,
    rpc: Rpc,
    streams: usize,
    report: &mut Report,
) -> anyhow::Result<()> {
    let mut order = fleet.order(rpc);
    if round % 2 == 1 {
        order.reverse();
    }
    for server in order {
        let calls = match rpc {
            Rpc::BatchGetFloors => args.calls / BATCH,
            _ if server.name == PeerServer::TileMessages.name() => args.calls / TILE_DIVISOR,
            _ => args.calls,
        };
        let before = server.cpu_time()?;
        let tally = server.load(rpc, args.connections, streams, calls)?;
        let cpu = server.cpu_time()? - before;
        report.samples.push(Round {
            who: server.name.clone(),
            method: rpc.name(),
            streams,
            round,
            rate: tally.rate(),
            cpu_us: cpu.as_secs_f64() * 1e6 / calls as f64,
        });
    }
    Ok(())
}
