//! How long a caller waits while the server is half busy: open loop, so that a stall is charged with the calls that it
//! kept waiting. The caller has a processor of its own, while it finds out the pace and while it keeps it.

use std::sync::Arc;

use benches::{
    load::{self, Method},
    open_loop::OpenLoop,
    peers::servers::PeerServer,
    process::CpuPartition,
};
use serde::Serialize;

use crate::{
    fleet::{Fleet, ServerUnderTest},
    h2load,
};

/// Calls in flight on each connection while the most that a server can do is found out.
const STREAMS: usize = 10;

/// Calls of a paced load, and of the one that finds the pace.
const CALLS: u64 = 40_000;

/// Those whose callers are timed: ours, what a server costs that does nothing, and what most would write.
const SERVERS: [ServerUnderTest; 5] = [
    ServerUnderTest::Ours,
    ServerUnderTest::Peer(PeerServer::BareHyper),
    ServerUnderTest::Peer(PeerServer::CoalescingHyper),
    ServerUnderTest::Peer(PeerServer::StaticTonic),
    ServerUnderTest::Peer(PeerServer::CachedMessage),
];

/// One server at half of what it could do, in one round.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct LatencySample {
    pub(crate) who: &'static str,
    pub(crate) round: usize,
    /// Calls a second.
    pub(crate) pace: f64,
    pub(crate) p50_us: f64,
    pub(crate) p99_us: f64,
    /// How late calls were sent, at the 99th percentile: what of the wait is the client's own.
    pub(crate) late_p99_us: f64,
    /// How late the same moments were met right afterwards with nobody asked: what is the machine's.
    pub(crate) clock_p99_us: f64,
}

pub(crate) fn measure(fleet: &Fleet, connections: usize, round: usize) -> anyhow::Result<Vec<LatencySample>> {
    SERVERS.into_iter().map(|who| measure_server(fleet, connections, round, who)).collect()
}

fn measure_server(
    fleet: &Fleet,
    connections: usize,
    round: usize,
    who: ServerUnderTest,
) -> anyhow::Result<LatencySample> {
    let (server, method) = (fleet.server(who), Method::GetFloor);
    let _partition = CpuPartition::isolate(server.pid())?;
    let most = h2load::run(server.address, method, &fleet.body(method), connections, STREAMS, CALLS)?;
    let pace = CALLS as f64 / most.took.as_secs_f64() / 2.0;
    let load = OpenLoop {
        server: server.address,
        method,
        messages: Arc::new([load::framed(&crate::fleet::one_floor())]),
        answer_bytes: Some(server.answer_bytes(method)?),
        connections,
        calls: CALLS,
        calls_per_second: pace,
    };
    let (latencies, timer_lateness) = (load.run()?, load.timer_lateness());
    let micros = |nanos: u64| nanos as f64 / 1e3;
    Ok(LatencySample {
        who: who.name(),
        round,
        pace,
        p50_us: micros(latencies.latency.value_at_quantile(0.5)),
        p99_us: micros(latencies.latency.value_at_quantile(0.99)),
        late_p99_us: micros(latencies.lateness.value_at_quantile(0.99)),
        clock_p99_us: micros(timer_lateness.value_at_quantile(0.99)),
    })
}
