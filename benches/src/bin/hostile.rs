//! What a client that sends expensive input does to the latency of another one: `cargo run --release -p benches --bin
//! hostile`. The inputs are those whose instructions the bench `instructions` counts.
//!
//! One client makes a call for a floor in memory after the other. In every second turn others send an input as fast as
//! the server takes it, each on one connection after the other. In a third turn they send it alone, for the server's CPU
//! time of an input.

use std::{
    io::{Read as _, Write as _},
    net::{Shutdown, SocketAddr, TcpStream},
    sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    thread,
    time::Duration,
};

use anyhow::{Context, ensure};
use benches::{
    floors::{NUMBER, TOWER},
    input::{INPUTS, Input, InputCase},
    load::{self, ClosedLoop, Rpc, Shape, Window},
    process::cpu_time,
    report,
    server::{Server, Setup},
    timing::Spread,
};
use clap::Parser;

#[derive(Debug, Parser)]
#[command(about = "Measures what a client that sends expensive input does to the latency of another one")]
struct Args {
    /// Only the inputs whose name contains one of these
    #[arg(long, value_name = "WORD")]
    input: Vec<String>,
    /// Clients that send the input at once
    #[arg(long, default_value_t = 4)]
    clients: usize,
    /// How often each turn is repeated
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// The length of a turn
    #[arg(long, default_value_t = 2.0)]
    seconds: f64,
}

/// Time from the first call of a turn until answers count.
const SETTLE: Duration = Duration::from_millis(300);
/// How long the server may take to end a connection.
const END_TIMEOUT: Duration = Duration::from_secs(10);
/// The target: the greatest p99 beside the others, relative to that alone and beyond that.
const MAX_RATIO: f64 = 2.0;
const MAX_ADDED_US: f64 = 5000.0;

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    report::ensure_release()?;
    let is_wanted = |case: &&InputCase| args.input.is_empty() || args.input.iter().any(|word| case.name.contains(word));
    let cases: Vec<_> = INPUTS.iter().filter(is_wanted).collect();
    ensure!(!cases.is_empty(), "no input has such a name");
    let server = Setup::new().with("CACHE__CHAIN", r#"["lru"]"#).start()?;
    let mut calls = calls(&server);
    calls.fill("lru")?;
    println!(
        "p99 of one client in us, alone and beside {} that send the input; medians of {} turns of {} s, with the least \
         and the greatest\n\n| input | alone | beside | at most | inputs/s | server CPU, us an input |\n|---|---|---|---|---|---|",
        args.clients, args.rounds, args.seconds
    );
    for case in cases {
        measure(case, &args, &server, &mut calls).with_context(|| case.name)?;
    }
    server.stop()
}

fn calls(server: &Server) -> ClosedLoop {
    let message = load::floor_request(TOWER, NUMBER);
    ClosedLoop::new([server.grpc], Rpc::GetFloor, Shape::new(1, 1), [message].into())
}

fn measure(case: &InputCase, args: &Args, server: &Server, calls: &mut ClosedLoop) -> anyhow::Result<()> {
    let input = case.input();
    let turn = Duration::from_secs_f64(args.seconds);
    let (mut alone, mut beside, mut rates, mut costs) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut p99 = |into: &mut Vec<f64>| {
        let run = calls.run_for(Window { settle: SETTLE, measured: turn }, || Ok(()))?;
        into.push(run.tally.latency.value_at_quantile(0.99) as f64 / 1000.0);
        anyhow::Ok(())
    };
    for _ in 0..args.rounds {
        p99(&mut alone)?;
        while_sent(&input, args.clients, server.grpc, |_| p99(&mut beside))?;
        while_sent(&input, args.clients, server.grpc, |sent| {
            let (cpu, count) = (cpu_time(server.pid())?, sent.load(Relaxed));
            thread::sleep(turn);
            let (cpu, count) = (cpu_time(server.pid())? - cpu, sent.load(Relaxed) - count);
            ensure!(count > 0, "no input was sent");
            rates.push(count as f64 / args.seconds);
            costs.push(cpu.as_secs_f64() * 1e6 / count as f64);
            Ok(())
        })?;
    }
    let [alone, beside, rates, costs] = [alone, beside, rates, costs].map(Spread::of);
    let most = MAX_RATIO * alone.median + MAX_ADDED_US;
    let verdict = if beside.median <= most { "met" } else { "MISSED" };
    println!("| {} | {alone:.0} | {beside:.0} | {most:.0}: {verdict} | {rates:.0} | {costs:.0} |", case.name);
    Ok(())
}

/// Does `work` while `clients` send `input`. `work` sees how often it was sent.
fn while_sent(
    input: &Input,
    clients: usize,
    address: SocketAddr,
    work: impl FnOnce(&AtomicU64) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let (sent, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
    thread::scope(|scope| {
        let clients: Vec<_> = (0..clients)
            .map(|_| {
                scope.spawn(|| {
                    while !is_over.load(Relaxed) {
                        send(input, address)?;
                        sent.fetch_add(1, Relaxed);
                    }
                    anyhow::Ok(())
                })
            })
            .collect();
        thread::sleep(SETTLE);
        let done = work(&sent);
        is_over.store(true, Relaxed);
        clients.into_iter().try_for_each(|client| client.join().expect("no client panics"))?;
        done
    })
}

/// Sends `input` on a connection of its own, and waits until the server has ended it.
fn send(input: &Input, address: SocketAddr) -> anyhow::Result<()> {
    let mut connection = TcpStream::connect(address)?;
    connection.set_nodelay(true)?;
    connection.set_read_timeout(Some(END_TIMEOUT))?;
    let mut reader = connection.try_clone()?;
    // The server may answer before it has read everything.
    thread::scope(|scope| {
        let reading = scope.spawn(move || {
            let mut discarded = [0; 64 << 10];
            while reader.read(&mut discarded).is_ok_and(|read| read > 0) {}
        });
        // The server may end the connection earlier.
        let pieces = [&input.before].into_iter().chain(&input.pieces);
        let _ = pieces.into_iter().try_for_each(|piece| connection.write_all(piece));
        let _ = connection.shutdown(Shutdown::Write);
        reading.join().expect("reading does not panic");
    });
    Ok(())
}
