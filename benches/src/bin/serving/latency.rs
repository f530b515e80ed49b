//! The latency of calls at half of the server's maximum rate. The loop is open, so that a stall counts for all calls
//! that wait for it. The caller has its own processor, both to find the maximum rate and to measure.

use std::sync::Arc;

use benches::{
    load::{Rpc, micros},
    open_loop::OpenLoop,
    peers::servers::PeerServer,
    process::CpuPartition,
};
use serde::Serialize;

use crate::fleet::{Fleet, OURS, request};

/// Calls in flight on each connection of the load that finds the maximum rate.
const STREAMS: usize = 10;

/// Calls of the open loop, and of the load that finds the maximum rate.
const CALLS: u64 = 40_000;

/// The servers whose latency is measured.
const SERVERS: [&str; 4] =
    [OURS, PeerServer::BareHyper.name(), PeerServer::StaticTonic.name(), PeerServer::CachedMessage.name()];

/// The latency of one server at half of its maximum rate, in one round.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct LatencySample {
    pub(crate) who: &'static str,
    pub(crate) round: usize,
    /// Calls a second.
    pub(crate) pace: f64,
    pub(crate) p50_us: f64,
    pub(crate) p99_us: f64,
    /// 99th percentile of how late calls were sent: the part of the latency that the client adds.
    pub(crate) late_p99_us: f64,
    /// 99th percentile of how late the same thread is without calls: the part that the machine adds.
    pub(crate) clock_p99_us: f64,
}

pub(crate) fn measure(fleet: &Fleet, connections: usize, round: usize) -> anyhow::Result<Vec<LatencySample>> {
    SERVERS.into_iter().map(|name| measure_server(fleet, connections, round, name)).collect()
}

fn measure_server(fleet: &Fleet, connections: usize, round: usize, who: &'static str) -> anyhow::Result<LatencySample> {
    let (server, rpc) = (fleet.server(who), Rpc::GetFloor);
    let _partition = CpuPartition::isolate(server.pid())?;
    let pace = server.load(rpc, connections, STREAMS, CALLS)?.rate() / 2.0;
    let load = OpenLoop {
        server: server.address,
        rpc,
        messages: Arc::new([request(rpc)]),
        answer_bytes: Some(server.answer_bytes(rpc)?),
        connections,
        calls: CALLS,
        calls_per_second: pace,
    };
    let (latencies, timer_lateness) = (load.run()?, load.timer_lateness());
    Ok(LatencySample {
        who,
        round,
        pace,
        p50_us: micros(&latencies.latency, 50.0),
        p99_us: micros(&latencies.latency, 99.0),
        late_p99_us: micros(&latencies.lateness, 99.0),
        clock_p99_us: micros(&timer_lateness, 99.0),
    })
}
