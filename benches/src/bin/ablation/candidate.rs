//! A cold and a warm run of a chain under a load.

use std::{sync::Arc, time::Duration};

use anyhow::{Context, ensure};
use benches::{
    chains::{Candidate, Stores},
    load::{ClosedLoop, Rpc, Shape},
    open_loop::{OpenLoop, Pace},
    process::{CpuPartition, resident_bytes},
    sample::{Sample, Snapshot},
    server::{Server, Setup},
};
use bytes::Bytes;

use crate::workload::Workload;

/// Capacity of the tier `lru`: a quarter of the requested floors, so that the lower tiers matter.
const LRU_CAPACITY: &str = "2MiB";

/// Capacity of the tier `lru` for paced loads: a whole climb fits, so that repeating it shows the cost of hits.
const FULL_CAPACITY: &str = "256MiB";

/// Few connections with many calls each, as from a gateway.
const SHAPE: Shape = Shape::new(4, 10);

/// Whether `candidate` runs under `workload`. Under paced loads only memory alone and the default chain run.
pub(crate) fn supports(candidate: Candidate, workload: Workload) -> bool {
    workload.calls_per_second().is_none() || matches!(candidate, Candidate::Lru | Candidate::LruLmdb)
}

/// A cold run of `candidate`, and a warm run on the stores that it filled.
pub(crate) fn run(candidate: Candidate, workload: Workload, calls: u64) -> anyhow::Result<[Sample; 2]> {
    let requests = workload.requests(calls);
    let stores = Stores::empty(candidate.tiers())?;
    let cold = measured(workload, &stores, &requests).context("a cold run")?;
    let warm = measured(workload, &stores, &requests).context("a warm run")?;
    Ok([cold, warm])
}

fn measured(workload: Workload, stores: &Stores, requests: &Arc<[Bytes]>) -> anyhow::Result<Sample> {
    let capacity = if workload.calls_per_second().is_some() { FULL_CAPACITY } else { LRU_CAPACITY };
    let setup =
        Setup::new().with("CACHE__LRU__CAPACITY", capacity).with("PREFETCH__AHEAD", workload.ahead().to_string());
    let (servers, redis) = ([stores.serve(&setup)?], &stores.redis[..]);
    let closed_loop = || {
        let mut load = ClosedLoop::new([servers[0].grpc], Rpc::GetFloor, SHAPE, Arc::clone(requests));
        load.run_calls(requests.len() as u64)
    };
    if workload.is_repeated() {
        closed_loop()?;
    }
    let before = Snapshot::of(&servers, redis)?;
    let tally = match workload.calls_per_second() {
        None => closed_loop()?,
        Some(pace) => {
            let _partition = CpuPartition::isolate(servers[0].pid())?;
            let tally = open_loop(&servers[0], pace, requests).run()?;
            ensure!(tally.unanswered == 0, "{} calls were not answered in time", tally.unanswered);
            tally
        }
    };
    let mut sample = Sample::of(&tally, &before, &Snapshot::of(&servers, redis)?);
    sample.memory_bytes = resident_bytes(servers[0].pid())?;
    for redis in redis {
        sample.memory_bytes += resident_bytes(redis.pid())?;
    }
    // The server writes its queue, so that the next run's stores are complete.
    let [server] = servers;
    server.stop()?;
    Ok(sample)
}

/// Calls at a fixed rate, from a processor of its own.
fn open_loop(server: &Server, calls_per_second: f64, requests: &Arc<[Bytes]>) -> OpenLoop {
    OpenLoop {
        target: server.grpc.into(),
        rpc: Rpc::GetFloor,
        messages: Arc::clone(requests),
        answer_bytes: None,
        may_be_refused: false,
        connections: SHAPE.connections,
        pace: Pace::PerSecond(calls_per_second),
        settle: Duration::ZERO,
        measured: Duration::from_secs_f64(requests.len() as f64 / calls_per_second),
    }
}
