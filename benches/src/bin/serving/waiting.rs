//! How long a caller waits while the server is half busy: open loop, so that a stall is charged with the calls that it
//! kept waiting.

use benches::{
    load::{self, Load, Method, Tally},
    peers::servers::Rival,
};
use serde::Serialize;
use tokio::runtime::Runtime;

use crate::fleet::{Fleet, Who};

/// Calls in flight on each connection while the most that a server can do is found out.
const STREAMS: usize = 10;

/// Calls of a paced load, and of the one that finds the pace.
const CALLS: u64 = 20_000;

/// Those whose callers are timed: ours, what a server costs that does nothing, and what most would write.
const WHO: [Who; 5] = [
    Who::Ours,
    Who::Rival(Rival::GatheredHyper),
    Who::Rival(Rival::BareHyper),
    Who::Rival(Rival::StaticTonic),
    Who::Rival(Rival::CachedMessage),
];

/// One server at half of what it could do, in one round.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Wait {
    pub(crate) who: &'static str,
    pub(crate) round: usize,
    /// Calls a second.
    pub(crate) pace: f64,
    pub(crate) p50_us: f64,
    pub(crate) p99_us: f64,
}

pub(crate) fn measure(fleet: &Fleet, runtime: &Runtime, connections: usize, round: usize) -> anyhow::Result<Vec<Wait>> {
    WHO.into_iter().map(|who| wait(fleet, runtime, connections, round, who)).collect()
}

fn wait(fleet: &Fleet, runtime: &Runtime, connections: usize, round: usize, who: Who) -> anyhow::Result<Wait> {
    let (server, method) = (fleet.server(who).address, Method::GetFloor);
    let run = |pace, streams| -> anyhow::Result<Tally> {
        let request = load::framed(&crate::fleet::one_floor());
        let load = Load { server, method, connections, streams, calls: CALLS, pace };
        runtime.block_on(load.run(move |_| request.clone()))
    };
    let pace = run(None, STREAMS)?.rate() / 2.0;
    // Twice the streams: a call that is due finds one free unless the server has fallen far behind.
    let tally = run(Some(pace), 2 * STREAMS)?;
    Ok(Wait { who: who.name(), round, pace, p50_us: tally.micros(50.0), p99_us: tally.micros(99.0) })
}
