//! The chains that are compared, and the cost of a load on a server with one of them.

use std::{str::FromStr, sync::Arc, thread, time::Duration};

use anyhow::Context;
use benches::{
    load::{ClosedLoop, Rpc, Shape, Tally},
    open_loop::{OpenLoop, Pace},
    process::CpuPartition,
    redis_server::RedisServer,
    sample::{Sample, Snapshot},
    server::{Server, Setup},
};
use bytes::Bytes;
use tempfile::TempDir;

/// A chain, by the names of its tiers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Candidate(pub(crate) &'static [&'static str]);

/// Generating every floor, then the chains, which begin with memory; with LMDB it is the default of the server.
const CANDIDATES: [Candidate; 6] = [
    Candidate(&[]),
    Candidate(&["lru"]),
    Candidate(&["lru", "lmdb"]),
    Candidate(&["lru", "sled"]),
    Candidate(&["lru", "redis"]),
    Candidate(&["lru", "lmdb", "redis"]),
];

impl Candidate {
    /// The candidates of `named`, in the order of the list; all of them when it is empty. Without redis-server, those
    /// without Redis.
    pub(crate) fn available(named: &[Self]) -> Vec<Self> {
        let has_redis = RedisServer::is_available();
        let is_chosen = |it: &Self| named.is_empty() || named.contains(it);
        CANDIDATES.into_iter().filter(|it| is_chosen(it) && (has_redis || !it.0.contains(&"redis"))).collect()
    }

    /// The name on the command line and in tables.
    pub(crate) fn name(self) -> String {
        if self.0.is_empty() { "generation only".to_owned() } else { self.0.join(" + ") }
    }
}

impl FromStr for Candidate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = CANDIDATES.into_iter().find(|candidate| candidate.name() == text);
        found.ok_or_else(|| format!("write one of {:?}", CANDIDATES.map(Self::name)))
    }
}

/// Calls in flight, on few connections, as from a gateway.
pub(crate) const SHAPE: Shape = Shape::new(4, 10);

/// Time in which the server writes what it has queued.
const WRITES: Duration = Duration::from_millis(200);

/// A call for each of some messages.
#[derive(Debug, Clone)]
pub(crate) struct Replay {
    /// The framed messages.
    pub(crate) messages: Arc<[Bytes]>,
    /// When each call is due after the first; without it [`SHAPE`] is in flight.
    pub(crate) schedule: Option<Arc<[Duration]>>,
}

impl Replay {
    fn run(&self, server: &Server) -> anyhow::Result<Tally> {
        let Some(schedule) = &self.schedule else {
            let mut load = ClosedLoop::new([server.grpc], Rpc::GetFloor, SHAPE, Arc::clone(&self.messages));
            return load.run_calls(self.messages.len() as u64);
        };
        let _partition = CpuPartition::isolate(server.pid())?;
        let load = OpenLoop {
            target: server.grpc.into(),
            rpc: Rpc::GetFloor,
            messages: Arc::clone(&self.messages),
            answer_bytes: None,
            may_be_refused: true,
            connections: SHAPE.connections,
            pace: Pace::At(Arc::clone(schedule)),
            settle: Duration::ZERO,
            measured: schedule.last().copied().unwrap_or_default(),
        };
        load.run()
    }
}

/// New stores for a chain: a directory, and a Redis if the chain has one. Removed when dropped.
#[derive(Debug)]
pub(crate) struct Stores {
    /// The directory of LMDB and sled.
    pub(crate) data: TempDir,
    /// The Redis, if the chain has one.
    pub(crate) redis: Vec<RedisServer>,
    tiers: Vec<&'static str>,
}

impl Stores {
    /// Empty stores for a chain of `tiers`.
    pub(crate) fn empty(tiers: &[&'static str]) -> anyhow::Result<Self> {
        let redis = if tiers.contains(&"redis") { vec![RedisServer::start()?] } else { Vec::new() };
        Ok(Self { data: tempfile::tempdir().context("a directory for the stores")?, redis, tiers: tiers.to_vec() })
    }

    /// Starts a server on these stores, with `setup` and this chain. Without prefetching, which would answer some calls
    /// from memory that a store is meant to answer.
    pub(crate) fn serve(&self, setup: &Setup) -> anyhow::Result<Server> {
        let mut setup = setup.clone().with("CACHE__CHAIN", format!("{:?}", self.tiers));
        setup = setup.with_default("GENERATION__PREFETCH", "false");
        for redis in &self.redis {
            setup = setup.with("CACHE__REDIS__URL", redis.tcp_url());
        }
        setup.start_in(self.data.path())
    }

    /// Measures `replay` on a new server on these stores. The writes that the calls cause count too. At its end the
    /// server writes its queue, so that the next one finds complete stores.
    pub(crate) fn measure(&self, setup: &Setup, replay: &Replay) -> anyhow::Result<Sample> {
        let servers = [self.serve(setup)?];
        let before = Snapshot::of(&servers, &self.redis)?;
        let tally = replay.run(&servers[0])?;
        thread::sleep(WRITES);
        let sample = Sample::of(&tally, &before, &Snapshot::of(&servers, &self.redis)?);
        let [server] = servers;
        server.stop()?;
        Ok(sample)
    }
}
