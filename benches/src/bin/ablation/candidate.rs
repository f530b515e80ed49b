//! The chains under comparison, and a cold and a warm run of one of them.

use std::{sync::Arc, time::Duration};

use anyhow::{Context, ensure};
use benches::{
    load::{ClosedLoop, Rpc, Shape},
    open_loop::OpenLoop,
    process::{CpuPartition, resident_bytes},
    redis_server::RedisServer,
    sample::{Sample, Snapshot},
    server::{Server, Setup},
};
use bytes::Bytes;
use clap::ValueEnum;
use tempfile::TempDir;

use crate::workload::Workload;

/// Capacity of the tier `lru`: a quarter of the requested floors, so that the lower tiers matter.
const LRU_CAPACITY: &str = "2MiB";

/// Capacity of the tier `lru` for paced loads: a whole climb fits, so that repeating it shows the cost of hits.
const FULL_CAPACITY: &str = "256MiB";

/// Few connections with many calls each, as from a gateway.
const SHAPE: Shape = Shape::new(4, 10);

/// A chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Candidate {
    #[value(name = "generation only")]
    GenerationOnly,
    #[value(name = "lru")]
    Lru,
    #[value(name = "lru + lmdb")]
    LruLmdb,
    #[value(name = "lru + sled")]
    LruSled,
    #[value(name = "lru + redis")]
    LruRedis,
    #[value(name = "lru + lmdb + redis")]
    LruLmdbRedis,
}

impl Candidate {
    /// The names of its tiers.
    const fn tiers(self) -> &'static [&'static str] {
        match self {
            Self::GenerationOnly => &[],
            Self::Lru => &["lru"],
            Self::LruLmdb => &["lru", "lmdb"],
            Self::LruSled => &["lru", "sled"],
            Self::LruRedis => &["lru", "redis"],
            Self::LruLmdbRedis => &["lru", "lmdb", "redis"],
        }
    }

    /// Whether it runs under `workload`. Under paced loads only memory alone and the default chain run.
    pub(crate) fn supports(self, workload: Workload) -> bool {
        workload.calls_per_second().is_none() || matches!(self, Self::Lru | Self::LruLmdb)
    }

    pub(crate) fn needs_redis(self) -> bool {
        self.tiers().contains(&"redis")
    }

    /// A cold run, and a warm run on the stores that it filled.
    pub(crate) fn run(self, workload: Workload, calls: u64) -> anyhow::Result<[Sample; 2]> {
        let requests = workload.requests(calls);
        let data = tempfile::tempdir()?;
        let redis = if self.needs_redis() { vec![RedisServer::start()?] } else { Vec::new() };
        let cold = self.measured(workload, &data, &redis, &requests).context("a cold run")?;
        let warm = self.measured(workload, &data, &redis, &requests).context("a warm run")?;
        Ok([cold, warm])
    }

    fn measured(
        self,
        workload: Workload,
        data: &TempDir,
        redis: &[RedisServer],
        requests: &Arc<[Bytes]>,
    ) -> anyhow::Result<Sample> {
        let capacity = if workload.calls_per_second().is_some() { FULL_CAPACITY } else { LRU_CAPACITY };
        let mut setup = Setup::new()
            .with("CACHE__CHAIN", format!("{:?}", self.tiers()))
            .with("CACHE__LRU__CAPACITY", capacity)
            .with("PREFETCH__AHEAD", workload.ahead().to_string());
        for redis in redis {
            setup = setup.with("CACHE__REDIS__URL", redis.tcp_url());
        }
        let servers = [setup.start_in(data.path())?];
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
        calls_per_second,
        settle: Duration::ZERO,
        measured: Duration::from_secs_f64(requests.len() as f64 / calls_per_second),
    }
}
