//! The chains under comparison, and a cold and a warm run of one of them.

use std::{collections::BTreeMap, sync::Arc};

use anyhow::Context;
use benches::{
    load::{ClosedLoop, Rpc, Tally, micros},
    open_loop::OpenLoop,
    process::{CpuPartition, cpu_time, resident_bytes},
    redis_server::RedisServer,
    server::{Server, Setup},
};
use bytes::Bytes;
use clap::ValueEnum;
use serde::Serialize;
use tempfile::TempDir;

use crate::workload::Workload;

/// Capacity of the tier `lru`: a quarter of the requested floors, so that the lower tiers matter.
const LRU_CAPACITY: &str = "2MiB";

/// Capacity of the tier `lru` for paced loads: a whole climb fits, so that repeating it shows the cost of hits.
const FULL_CAPACITY: &str = "64MiB";

/// Few connections with many calls each, as from a gateway.
const CONNECTIONS: usize = 4;
const STREAMS: usize = 10;

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

/// The figures of a run.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Figures {
    /// Answers a second.
    pub(crate) rate: f64,
    pub(crate) p50_us: f64,
    pub(crate) p99_us: f64,
    /// 99th percentile of how late calls were sent: the part of the latency that the client adds. 0 in a closed loop.
    pub(crate) late_p99_us: f64,
    /// CPU time of the server, and of its Redis if it has one.
    pub(crate) cpu_seconds: f64,
    /// Resident memory of both at the end.
    pub(crate) memory_bytes: u64,
    /// Answers by tier.
    pub(crate) served_by: BTreeMap<String, u64>,
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
    pub(crate) fn run(self, workload: Workload, calls: u64) -> anyhow::Result<(Figures, Figures)> {
        let requests = workload.requests(calls);
        let data = tempfile::tempdir()?;
        let redis = if self.needs_redis() { Some(RedisServer::start()?) } else { None };
        let cold = self.measured(workload, &data, redis.as_ref(), &requests).context("a cold run")?;
        let warm = self.measured(workload, &data, redis.as_ref(), &requests).context("a warm run")?;
        Ok((cold, warm))
    }

    fn measured(
        self,
        workload: Workload,
        data: &TempDir,
        redis: Option<&RedisServer>,
        requests: &Arc<[Bytes]>,
    ) -> anyhow::Result<Figures> {
        let mut setup = Setup::new()
            .with("CACHE__CHAIN", format!("{:?}", self.tiers()))
            .with(
                "CACHE__LRU__CAPACITY",
                if workload.calls_per_second().is_some() { FULL_CAPACITY } else { LRU_CAPACITY },
            )
            .with("PREFETCH__AHEAD", workload.ahead().to_string());
        if let Some(redis) = redis {
            setup = setup.with("CACHE__REDIS__URL", redis.tcp_url());
        }
        let server = setup.start_in(data.path())?;
        let cpu = || -> anyhow::Result<f64> {
            let redis = redis.map_or(Ok(std::time::Duration::ZERO), |redis| cpu_time(redis.pid()))?;
            Ok((cpu_time(server.pid())? + redis).as_secs_f64())
        };
        if workload.is_repeated() {
            run_closed_loop(&server, requests)?;
        }
        let before = cpu()?;
        let mut figures = match workload.calls_per_second() {
            None => Figures::of(&run_closed_loop(&server, requests)?),
            Some(pace) => run_open_loop(&server, pace, requests)?,
        };
        figures.cpu_seconds = cpu()? - before;
        figures.memory_bytes =
            resident_bytes(server.pid())? + redis.map_or(Ok(0), |redis| resident_bytes(redis.pid()))?;
        // The server writes its queue, so that the next run's stores are complete.
        server.stop()?;
        Ok(figures)
    }
}

impl Figures {
    fn of(tally: &Tally) -> Self {
        Self {
            rate: tally.rate(),
            p50_us: tally.micros(50.0),
            p99_us: tally.micros(99.0),
            late_p99_us: 0.0,
            cpu_seconds: 0.0,
            memory_bytes: 0,
            served_by: tally.served_by.clone(),
        }
    }
}

/// Makes the calls at a fixed rate, from a processor of its own. Reading `floor-served-by` would delay the caller, so
/// hits of memory come from the server's metrics.
fn run_open_loop(server: &Server, pace: f64, requests: &Arc<[Bytes]>) -> anyhow::Result<Figures> {
    let load = OpenLoop {
        server: server.grpc,
        rpc: Rpc::GetFloor,
        messages: Arc::clone(requests),
        answer_bytes: None,
        connections: CONNECTIONS,
        calls: requests.len() as u64,
        calls_per_second: pace,
    };
    let before = server.hits("lru")?;
    let latencies = {
        let _partition = CpuPartition::isolate(server.pid())?;
        load.run()?
    };
    let hits = (server.hits("lru")? - before) as u64;
    Ok(Figures {
        rate: pace,
        p50_us: micros(&latencies.latency, 50.0),
        p99_us: micros(&latencies.latency, 99.0),
        late_p99_us: micros(&latencies.lateness, 99.0),
        cpu_seconds: 0.0,
        memory_bytes: 0,
        served_by: [("lru", hits), ("others", load.calls.saturating_sub(hits))]
            .map(|(by, n)| (by.to_owned(), n))
            .into(),
    })
}

fn run_closed_loop(server: &Server, requests: &Arc<[Bytes]>) -> anyhow::Result<Tally> {
    let mut load = ClosedLoop::new(&[server.grpc], Rpc::GetFloor, CONNECTIONS, STREAMS, Arc::clone(requests));
    load.run_calls(requests.len() as u64)
}
