//! The cost of connections: the server's memory while they are idle, and its CPU while each has a call in flight.

use std::{sync::Arc, thread, time::Duration};

use benches::{
    floors::{NUMBER, TOWER},
    load::{self, ClosedLoop, Rpc},
    process::{cpu_time, resident_bytes},
    server::Setup,
};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::Curve;

/// Connections in each step.
const COUNTS: [usize; 5] = [1, 10, 100, 1000, 10_000];

/// Files that this process or the server opens in addition to its connections, with a reserve.
const OTHER_FILES: u64 = 200;

/// Calls of a load, over all its connections.
const CALLS: u64 = 20_000;

/// Time between opening idle connections and reading the server's memory.
const SETTLE: Duration = Duration::from_millis(500);

pub(crate) fn measure(most: usize) -> anyhow::Result<Vec<Curve>> {
    let (mut idle, mut active) = (Vec::new(), Vec::new());
    let messages: Arc<[_]> = Arc::new([load::floor_request(TOWER, NUMBER)]);
    let allowed = raise_open_files()?;
    for connections in COUNTS.into_iter().filter(|count| *count <= most) {
        if connections as u64 + OTHER_FILES > allowed {
            eprintln!("skipped: {connections} connections, where a process may open {allowed} files (`ulimit -Hn`)");
            continue;
        }
        let server = Setup::new().start()?;
        let mut load = ClosedLoop::new(&[server.grpc], Rpc::GetFloor, connections, 1, Arc::clone(&messages));
        let empty = resident_bytes(server.pid())?;
        load.connect()?;
        thread::sleep(SETTLE);
        let full = resident_bytes(server.pid())?;
        if connections >= 100 {
            idle.push((connections as f64, full.saturating_sub(empty) as f64 / 1e3 / connections as f64));
        }
        let before = cpu_time(server.pid())?;
        let tally = load.run_calls(CALLS.max(2 * connections as u64))?;
        let cpu = cpu_time(server.pid())? - before;
        active.push((connections as f64, cpu.as_secs_f64() * 1e6 / tally.latency.len() as f64));
    }
    let curve = |what: &str, cost, points| Curve { what: what.to_owned(), size: "connections", cost, points };
    Ok(vec![
        curve("memory of an idle connection", "kB", idle),
        curve("server CPU of a hit, one call in flight on each", "us", active),
    ])
}

/// Raises the limit on open files of this process, and of the servers that it starts, to the maximum. Returns it.
fn raise_open_files() -> anyhow::Result<u64> {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum })?;
    Ok(maximum.unwrap_or(u64::MAX))
}
