//! The chains under comparison, and one run of one of them.

use std::{collections::BTreeMap, sync::Arc};

use anyhow::Context;
use benches::{
    load::{Load, Method, Tally},
    process::{cpu_time, resident_bytes},
    redis_server::RedisServer,
    server::{Server, Setup},
};
use bytes::Bytes;
use serde::Serialize;
use tempfile::TempDir;

use crate::track::Track;

/// Memory for the tier in front: a quarter of the floors that are asked for, so that what stands behind it matters.
const LRU_CAPACITY: &str = "2MiB";

/// Few connections with many calls each, as a gateway in front of players has it.
const CONNECTIONS: usize = 4;
const STREAMS: usize = 10;

/// A chain.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Candidate(&'static [&'static str]);

/// What a run came to.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Figures {
    /// Answers a second.
    pub(crate) rate: f64,
    pub(crate) p50_us: f64,
    pub(crate) p99_us: f64,
    /// Of the server, and of its Redis if it has one.
    pub(crate) cpu_seconds: f64,
    /// Resident at the end, of both.
    pub(crate) memory_bytes: u64,
    /// Answers by the tier that had them.
    pub(crate) served_by: BTreeMap<String, u64>,
}

impl Candidate {
    pub(crate) const ALL: [Self; 6] = [
        Self(&[]),
        Self(&["lru"]),
        Self(&["lru", "lmdb"]),
        Self(&["lru", "sled"]),
        Self(&["lru", "redis"]),
        Self(&["lru", "lmdb", "redis"]),
    ];

    pub(crate) fn name(self) -> String {
        if self.0.is_empty() { "generation only".to_owned() } else { self.0.join(" + ") }
    }

    pub(crate) fn needs_redis(self) -> bool {
        self.0.contains(&"redis")
    }

    /// A cold run, and a warm one on what it left.
    pub(crate) async fn run(self, track: Track, calls: u64) -> anyhow::Result<(Figures, Figures)> {
        let requests = track.requests(calls);
        let data = tempfile::tempdir()?;
        let redis = if self.needs_redis() { Some(RedisServer::start()?) } else { None };
        let cold = self.measured(track, &data, redis.as_ref(), &requests).await.context("a cold run")?;
        let warm = self.measured(track, &data, redis.as_ref(), &requests).await.context("a warm run")?;
        Ok((cold, warm))
    }

    async fn measured(
        self,
        track: Track,
        data: &TempDir,
        redis: Option<&RedisServer>,
        requests: &Arc<[Bytes]>,
    ) -> anyhow::Result<Figures> {
        let tiers: Vec<String> = self.0.iter().map(|tier| format!("{tier:?}")).collect();
        let mut setup = Setup::new()
            .with("CACHE__CHAIN", format!("[{}]", tiers.join(",")))
            .with("CACHE__LRU__CAPACITY", LRU_CAPACITY)
            .with("PREFETCH__AHEAD", track.ahead().to_string());
        if let Some(redis) = redis {
            setup = setup.with("CACHE__REDIS__URL", redis.tcp_url());
        }
        let server = setup.start(data)?;
        let cpu = || -> anyhow::Result<f64> {
            let redis = redis.map_or(Ok(std::time::Duration::ZERO), |redis| cpu_time(redis.pid()))?;
            Ok((cpu_time(server.pid())? + redis).as_secs_f64())
        };
        let before = cpu()?;
        let tally = put(&server, track.pace(), requests).await?;
        let cpu_seconds = cpu()? - before;
        let memory_bytes = resident_bytes(server.pid())? + redis.map_or(Ok(0), |redis| resident_bytes(redis.pid()))?;
        // Queued writes are part of the next run's warm stores.
        server.stop()?;
        Ok(Figures {
            rate: tally.rate(),
            p50_us: tally.micros(50.0),
            p99_us: tally.micros(99.0),
            cpu_seconds,
            memory_bytes,
            served_by: tally.served_by,
        })
    }
}

async fn put(server: &Server, pace: Option<f64>, requests: &Arc<[Bytes]>) -> anyhow::Result<Tally> {
    let load = Load {
        server: server.grpc,
        method: Method::GetFloor,
        connections: CONNECTIONS,
        streams: STREAMS,
        calls: requests.len() as u64,
        pace,
    };
    let requests = Arc::clone(requests);
    load.run(move |call| requests[call as usize].clone()).await
}
