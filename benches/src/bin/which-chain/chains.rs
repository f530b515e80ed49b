//! The chains that are compared, and the cost of a load on a server with one of them.

use std::{sync::Arc, thread, time::Duration};

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
use clap::ValueEnum;
use tempfile::TempDir;

/// A chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Candidate {
    /// No tier: every floor is generated.
    #[value(name = "generation only")]
    GenerationOnly,
    /// Memory.
    #[value(name = "lru")]
    Lru,
    /// Memory above LMDB, the default of the server.
    #[value(name = "lru + lmdb")]
    LruLmdb,
    /// Memory above sled.
    #[value(name = "lru + sled")]
    LruSled,
    /// Memory above Redis.
    #[value(name = "lru + redis")]
    LruRedis,
    /// Memory above LMDB above Redis.
    #[value(name = "lru + lmdb + redis")]
    LruLmdbRedis,
}

impl Candidate {
    /// The names of its tiers.
    pub(crate) const fn tiers(self) -> &'static [&'static str] {
        match self {
            Self::GenerationOnly => &[],
            Self::Lru => &["lru"],
            Self::LruLmdb => &["lru", "lmdb"],
            Self::LruSled => &["lru", "sled"],
            Self::LruRedis => &["lru", "redis"],
            Self::LruLmdbRedis => &["lru", "lmdb", "redis"],
        }
    }

    /// Whether one of its tiers is Redis.
    pub(crate) fn needs_redis(self) -> bool {
        self.tiers().contains(&"redis")
    }

    /// The candidates of `named`, in the order of the list; all of them when it is empty. Without redis-server, those
    /// without Redis.
    pub(crate) fn available(named: &[Self]) -> Vec<Self> {
        let has_redis = RedisServer::is_available();
        let is_chosen = |it: &Self| named.is_empty() || named.contains(it);
        Self::value_variants().iter().copied().filter(|it| is_chosen(it) && (has_redis || !it.needs_redis())).collect()
    }

    /// The name on the command line and in tables.
    pub(crate) fn name(self) -> String {
        self.to_possible_value().expect("no chain is hidden").get_name().to_owned()
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
        setup = setup.with_default("PREFETCH__AHEAD", "0");
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
