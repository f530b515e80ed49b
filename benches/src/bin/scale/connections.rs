//! The cost of connections: the server's memory while they are idle, and its CPU while each has a call in flight.

use std::{sync::Arc, thread, time::Duration};

use benches::{
    floors::{NUMBER, TOWER},
    load::{self, ClosedLoop, Rpc, Shape, Window},
    process::{raise_open_files, resident_bytes},
    sample::{Sample, Snapshot},
    server::Setup,
};

use crate::Curve;

/// Connections in each step.
const COUNTS: [usize; 5] = [1, 10, 100, 1000, 10_000];

/// Files that this process or the server opens in addition to its connections, with a reserve.
const OTHER_FILES: u64 = 200;

/// The time of a load.
const WINDOW: Window = Window { settle: Duration::from_secs(5), measured: Duration::from_secs(10) };

/// Time between opening idle connections and reading the server's memory.
const SETTLE: Duration = Duration::from_millis(500);

pub(crate) fn measure(most: usize) -> anyhow::Result<Vec<Curve>> {
    let (mut idle, mut busy, mut cpu, mut rate, mut p99) = (Vec::new(), Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let messages: Arc<[_]> = Arc::new([load::floor_request(TOWER, NUMBER)]);
    let allowed = raise_open_files()?;
    for connections in COUNTS.into_iter().filter(|count| *count <= most) {
        if connections as u64 + OTHER_FILES > allowed {
            eprintln!("skipped: {connections} connections, where a process may open {allowed} files (`ulimit -Hn`)");
            continue;
        }
        let server = Setup::new().with("GRPC__MAX_CONNECTIONS_PER_IP", "0").start()?;
        let mut load = ClosedLoop::new([server.grpc], Rpc::GetFloor, Shape::new(connections, 1), Arc::clone(&messages));
        let empty = resident_bytes(server.pid())?;
        load.connect()?;
        thread::sleep(SETTLE);
        let full = resident_bytes(server.pid())?;
        let timed = load.run_for(WINDOW, || Snapshot::of_processes([server.pid()]))?;
        let sample = Sample::of(&timed.tally, &timed.before, &timed.after);
        let size = connections as f64;
        if connections >= 100 {
            let of_each = |bytes: u64| (size, bytes.saturating_sub(empty) as f64 / 1e3 / size);
            idle.push(of_each(full));
            busy.push(of_each(sample.memory_bytes));
        }
        cpu.push((size, sample.server_cpu_us));
        rate.push((size, sample.rate));
        p99.push((size, sample.p99_us));
    }
    let curve = |what: &str, cost, points| Curve { what: what.to_owned(), size: "connections", cost, points };
    Ok(vec![
        curve("memory of an idle connection", "kB", idle),
        curve("memory of a connection with a call in flight", "kB", busy),
        curve("server CPU of a hit, one call in flight on each", "us", cpu),
        curve("answers a second, one call in flight on each", "answers/s", rate),
        curve("p99 of a hit, one call in flight on each", "us", p99),
    ])
}
