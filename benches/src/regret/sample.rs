//! The figures of one turn of one variant, from the counters before and after it.

use std::{collections::BTreeMap, time::Duration};

use floor_cache::Bypass;
use serde::Serialize;

use crate::{load::TimedRun, process::cpu_time, redis_server::RedisServer, server::Server, timing::median};

/// The counters of the processes at one moment.
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    /// CPU time of the servers.
    pub server_cpu: Duration,
    /// CPU time of Redis.
    pub redis_cpu: Duration,
    /// CPU time of this process: the load generator and the proxy.
    pub client_cpu: Duration,
    /// Floors that the servers generated.
    pub generations: u64,
}

impl Snapshot {
    /// The counters of `servers`, of the nodes of `redis`, and of this process.
    pub fn of(servers: &[Server], redis: &[RedisServer]) -> anyhow::Result<Self> {
        let mut snapshot = Self::default();
        for server in servers {
            snapshot.generations += server.generations()? as u64;
            snapshot.server_cpu += cpu_time(server.pid())?;
        }
        for node in redis {
            snapshot.redis_cpu += cpu_time(node.pid())?;
        }
        snapshot.client_cpu = cpu_time(std::process::id())?;
        Ok(snapshot)
    }
}

/// The figures of one turn.
#[derive(Debug, Clone, Serialize)]
pub struct Sample {
    /// The setting.
    #[serde(serialize_with = "super::as_text")]
    pub bypass: Bypass,
    /// Answers in the measured time.
    pub answers: u64,
    /// Answers a second.
    pub rate: f64,
    /// Median latency in microseconds.
    pub p50_us: f64,
    /// 99th percentile of the latency in microseconds.
    pub p99_us: f64,
    /// CPU microseconds of the servers for each answer.
    pub server_cpu_us: f64,
    /// CPU microseconds of Redis for each answer.
    pub redis_cpu_us: f64,
    /// CPU microseconds of the load generator and the proxy for each answer.
    pub client_cpu_us: f64,
    /// Floors generated, whether or not a caller waited for them.
    pub generations: u64,
    /// Floors by tier, from `floor-served-by`.
    pub served_by: BTreeMap<String, u64>,
    /// Answers in each slice of the measured time.
    pub slices: Vec<u64>,
}

impl Sample {
    /// The figures of a turn.
    pub fn of(bypass: Bypass, timed: &TimedRun<Snapshot>) -> Self {
        let (tally, before, after) = (&timed.tally, &timed.before, &timed.after);
        let answers = tally.latency.len();
        // CPU time can decrease: that of a thread that ended is lost.
        let us = |cpu: fn(&Snapshot) -> Duration| {
            cpu(after).saturating_sub(cpu(before)).as_secs_f64() * 1e6 / answers as f64
        };
        Self {
            bypass,
            answers,
            rate: tally.rate(),
            p50_us: tally.micros(50.0),
            p99_us: tally.micros(99.0),
            server_cpu_us: us(|snapshot| snapshot.server_cpu),
            redis_cpu_us: us(|snapshot| snapshot.redis_cpu),
            client_cpu_us: us(|snapshot| snapshot.client_cpu),
            generations: after.generations.saturating_sub(before.generations),
            served_by: tally.served_by.clone(),
            slices: timed.slices.clone(),
        }
    }

    /// The figures of all `turns` of one variant: mean rate, medians of the percentiles, CPU weighted by answers, sums.
    pub fn of_all(turns: &[&Self]) -> Self {
        let answers: u64 = turns.iter().map(|it| it.answers).sum();
        let middle = |figure: fn(&Self) -> f64| median(&mut turns.iter().map(|it| figure(it)).collect::<Vec<_>>());
        let weighted = |figure: fn(&Self) -> f64| {
            turns.iter().map(|it| figure(it) * it.answers as f64).sum::<f64>() / answers as f64
        };
        let mut served_by = BTreeMap::<String, u64>::new();
        for (tier, floors) in turns.iter().flat_map(|it| &it.served_by) {
            *served_by.entry(tier.clone()).or_default() += floors;
        }
        Self {
            bypass: turns[0].bypass,
            answers,
            rate: turns.iter().map(|it| it.rate).sum::<f64>() / turns.len() as f64,
            p50_us: middle(|it| it.p50_us),
            p99_us: middle(|it| it.p99_us),
            server_cpu_us: weighted(|it| it.server_cpu_us),
            redis_cpu_us: weighted(|it| it.redis_cpu_us),
            client_cpu_us: weighted(|it| it.client_cpu_us),
            generations: turns.iter().map(|it| it.generations).sum(),
            served_by,
            slices: Vec::new(),
        }
    }

    /// Floors generated for each answer.
    pub fn generations_per_answer(&self) -> f64 {
        self.generations as f64 / self.answers as f64
    }

    /// The share of floors by tier, in percent, in descending order.
    pub fn shares(&self) -> Vec<(&str, f64)> {
        let all: u64 = self.served_by.values().sum();
        let mut shares: Vec<(&str, f64)> =
            self.served_by.iter().map(|(tier, floors)| (tier.as_str(), *floors as f64 * 100.0 / all as f64)).collect();
        shares.sort_by(|one, other| other.1.total_cmp(&one.1));
        shares
    }
}
