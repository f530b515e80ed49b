//! What a client that sends expensive input does to the latency of another one.

use std::{
    sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    thread,
    time::{Duration, Instant},
};

use floor_proto::v1::GetFloorRequest;
use rustix::{process::setpriority_process, thread::gettid};
use tempfile::TempDir;
use test_support::{
    Server, Setup,
    http2::{LARGE_WINDOW, RawHttp2},
    spec,
};

use crate::{
    connection::{all_bytes, flood},
    in_memory,
    inputs::{self, Input},
};

/// Connections over which the input is sent at once, all from one address.
const CONNECTIONS: usize = 8;
/// The pause between two calls of the other client.
const PACE: Duration = Duration::from_millis(1);
/// Turns alone and turns beside the input, alternating.
const TURNS: usize = 3;
/// The target: the p99 beside the input is at most so many times that alone, and so much more.
const MAX_RATIO: u32 = 2;
const MAX_ADDED: Duration = Duration::from_millis(5);

/// The latencies of another client. It prints them and asserts only that all calls are answered: a machine may be busy.
#[test]
fn another_client_is_answered_beside_every_input() {
    let (turn, turns) = (turn(), if is_measured() { TURNS } else { 1 });
    let words = std::env::var("FLOORS_NEIGHBOUR_INPUTS").unwrap_or_default();
    let is_wanted = |input: &&Input| words.split(',').any(|word| input.name.contains(word));
    let data = TempDir::new().unwrap();
    let server = in_memory(Setup::new(&data)).start();
    println!("| beside {CONNECTIONS} connections that send | p99 alone, ms | p99 beside, ms | at most | inputs/s |");
    println!("|---|---|---|---|---|");
    for input in inputs::all().iter().filter(is_wanted) {
        let (mut alone, mut beside, mut rates) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..turns {
            alone.push(p99_of_hits(&server, turn));
            beside.push(while_flooded(input, &server, turn, &mut rates));
        }
        let [alone, beside] = [&mut alone, &mut beside].map(|times| median(times));
        report(input.name, alone, beside, median(&mut rates));
    }
}

fn seconds() -> Option<f64> {
    std::env::var("FLOORS_NEIGHBOUR_SECONDS").ok().map(|seconds| seconds.parse().expect("a number"))
}

/// Whether latencies are measured, and not only calls made.
pub(crate) fn is_measured() -> bool {
    seconds().is_some()
}

/// How long the latency is measured.
pub(crate) fn turn() -> Duration {
    seconds().map_or(Duration::from_millis(20), Duration::from_secs_f64)
}

/// Prints the latencies of another client alone and beside what is sent `rate` times a second.
pub(crate) fn report(name: &str, alone: Duration, beside: Duration, rate: u64) {
    let most = MAX_RATIO * alone + MAX_ADDED;
    let verdict = if beside <= most { "met" } else { "MISSED" };
    let [alone, beside, most] = [alone, beside, most].map(|time| time.as_secs_f64() * 1e3);
    println!("| {name} | {alone:.2} | {beside:.2} | {most:.1}: {verdict} | {rate} |");
}

/// The other client shares the cores with this thread, and must not wait for it.
pub(crate) fn lower_priority() {
    setpriority_process(Some(gettid()), 19).unwrap();
}

/// The p99 of the other client while the input is sent, and how often that is in a second.
fn while_flooded(input: &Input, server: &Server, turn: Duration, rates: &mut Vec<u64>) -> Duration {
    let (is_over, sent) = (AtomicBool::new(false), AtomicU64::new(0));
    let bytes = all_bytes(input);
    thread::scope(|scope| {
        for _ in 0..CONNECTIONS {
            scope.spawn(|| {
                lower_priority();
                while !is_over.load(Relaxed) {
                    flood(input, &bytes, "127.0.0.9", server);
                    sent.fetch_add(1, Relaxed);
                }
            });
        }
        thread::sleep(turn / 10);
        let (before, started) = (sent.load(Relaxed), Instant::now());
        let p99 = p99_of_hits(server, turn);
        rates.push(((sent.load(Relaxed) - before) as f64 / started.elapsed().as_secs_f64()) as u64);
        is_over.store(true, Relaxed);
        p99
    })
}

/// The 99th percentile of the latencies of calls for a floor in memory, over plain HTTP/2.
fn p99_of_hits(server: &Server, turn: Duration) -> Duration {
    let message = GetFloorRequest { spec: Some(spec(42, 1)) };
    let mut client = RawHttp2::connect_from("127.0.0.2", server, LARGE_WINDOW);
    client.stream.set_nodelay(true).unwrap();
    let mut stream = 1;
    p99(turn, || {
        client.send(&RawHttp2::call("GetFloor", stream, &[], &message));
        while !client.read_frame().ends_stream() {}
        stream += 2;
    })
}

/// The 99th percentile of the latencies of `call`, which is made again and again for the time of `turn`.
pub(crate) fn p99(turn: Duration, mut call: impl FnMut()) -> Duration {
    let (mut latencies, started) = (Vec::new(), Instant::now());
    while started.elapsed() < turn {
        thread::sleep(PACE);
        let sent = Instant::now();
        call();
        latencies.push(sent.elapsed());
    }
    latencies.sort_unstable();
    latencies[latencies.len() * 99 / 100]
}

fn median<T: Copy + Ord>(values: &mut [T]) -> T {
    values.sort_unstable();
    values[values.len() / 2]
}
