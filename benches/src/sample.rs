//! The figures of one load on one variant in one round, and the tables and ratios over many of them. Every command that
//! loads servers makes its samples and its tables here.

use std::{collections::BTreeMap, fmt, time::Duration};

use comfy_table::Table;

use crate::{
    load::Tally,
    process::{cpu_time, resident_bytes},
    redis_server::RedisServer,
    server::Server,
    table::table,
    timing::{Spread, mean_and_interval},
};

/// The counters of the processes at one moment.
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    server_cpu: Duration,
    redis_cpu: Duration,
    /// That of this process: the load generator and the proxy.
    client_cpu: Duration,
    generations: u64,
    /// That of the servers and of Redis.
    memory_bytes: u64,
}

impl Snapshot {
    /// The counters of `servers`, of the nodes of `redis`, and of this process.
    pub fn of(servers: &[Server], redis: &[RedisServer]) -> anyhow::Result<Self> {
        let mut snapshot = Self::of_processes(servers.iter().map(Server::pid))?;
        for server in servers {
            snapshot.generations += server.generations()? as u64;
        }
        for node in redis {
            snapshot.redis_cpu += cpu_time(node.pid())?;
            snapshot.memory_bytes += resident_bytes(node.pid())?;
        }
        Ok(snapshot)
    }

    /// The CPU time of the server processes `pids` and of this process, and the memory of the servers.
    pub fn of_processes(pids: impl IntoIterator<Item = u32>) -> anyhow::Result<Self> {
        let mut snapshot = Self { client_cpu: cpu_time(std::process::id())?, ..Self::default() };
        for pid in pids {
            snapshot.server_cpu += cpu_time(pid)?;
            snapshot.memory_bytes += resident_bytes(pid)?;
        }
        Ok(snapshot)
    }
}

/// The figures of one load on one variant in one round.
#[derive(Debug, Clone, Default)]
pub struct Sample {
    /// The load.
    pub load: String,
    /// The variant: a server, a chain or a setting.
    pub who: String,
    /// The round.
    pub round: usize,
    /// Answers in the measured time.
    pub answers: u64,
    /// Answers a second.
    pub rate: f64,
    /// Median latency in microseconds.
    pub p50_us: f64,
    /// 99th percentile of the latency in microseconds.
    pub p99_us: f64,
    /// 99th percentile of how late calls were sent, in microseconds: the part of the latency that the client adds. 0 in a
    /// closed loop.
    pub late_p99_us: f64,
    /// CPU microseconds of the servers for each answer.
    pub server_cpu_us: f64,
    /// CPU microseconds of Redis for each answer.
    pub redis_cpu_us: f64,
    /// CPU microseconds of the load generator and the proxy for each answer.
    pub client_cpu_us: f64,
    /// Resident memory of the servers and of Redis at the end.
    pub memory_bytes: u64,
    /// Floors generated, whether or not a caller waited for them.
    pub generations: u64,
    /// Distinct floors of the load, where they are known.
    pub distinct: u64,
    /// Calls that were answered RESOURCE_EXHAUSTED.
    pub refused: u64,
    /// Calls of an open loop that were not answered in time.
    pub unanswered: u64,
    /// Floors by tier, from `floor-served-by`.
    pub served_by: BTreeMap<String, u64>,
}

impl Sample {
    /// The figures of `tally`, with the counters of the processes `before` and `after` it.
    pub fn of(tally: &Tally, before: &Snapshot, after: &Snapshot) -> Self {
        let answers = tally.latency.len() - tally.unanswered;
        // CPU time can decrease: that of a thread that ended is lost.
        let us = |cpu: fn(&Snapshot) -> Duration| {
            cpu(after).saturating_sub(cpu(before)).as_secs_f64() * 1e6 / answers as f64
        };
        let micros = |nanos: &hdrhistogram::Histogram<u64>, percent| nanos.value_at_percentile(percent) as f64 / 1e3;
        Self {
            answers,
            rate: tally.rate(),
            p50_us: micros(&tally.latency, 50.0),
            p99_us: micros(&tally.latency, 99.0),
            late_p99_us: micros(&tally.lateness, 99.0),
            server_cpu_us: us(|snapshot| snapshot.server_cpu),
            redis_cpu_us: us(|snapshot| snapshot.redis_cpu),
            client_cpu_us: us(|snapshot| snapshot.client_cpu),
            memory_bytes: after.memory_bytes,
            generations: after.generations.saturating_sub(before.generations),
            refused: tally.refused,
            unanswered: tally.unanswered,
            served_by: tally.served_by.clone(),
            ..Self::default()
        }
    }

    /// As the sample of `round` of `who` under `load`.
    pub fn named(self, load: impl fmt::Display, who: impl fmt::Display, round: usize) -> Self {
        Self { load: load.to_string(), who: who.to_string(), round, ..self }
    }
}

/// A figure of a sample.
pub type Figure = fn(&Sample) -> f64;

/// A column of a table: its header, its decimals and its figure.
pub type Column = (&'static str, usize, Figure);

/// Answers a second.
pub const RATE: Column = ("answers/s", 0, |it| it.rate);
/// Median latency.
pub const P50: Column = ("p50 us", 0, |it| it.p50_us);
/// 99th percentile of the latency.
pub const P99: Column = ("p99 us", 0, |it| it.p99_us);
/// How late an open loop sends: the part of the latency that the client adds.
pub const LATE: Column = ("sent late, p99 us", 1, |it| it.late_p99_us);
/// CPU of the servers.
pub const CPU: Column = ("CPU us/answer", 1, |it| it.server_cpu_us);
/// CPU of Redis.
pub const REDIS_CPU: Column = ("Redis CPU us", 1, |it| it.redis_cpu_us);
/// CPU of the load generator.
pub const CLIENT_CPU: Column = ("client CPU us", 1, |it| it.client_cpu_us);
/// Resident memory of the servers and of Redis.
pub const MEMORY: Column = ("memory MB", 0, |it| it.memory_bytes as f64 / 1e6);
/// Floors generated for each answer.
pub const GENERATED: Column = ("generated/answer", 3, |it| it.generations as f64 / it.answers as f64);

/// Samples of any loads and variants, in the order in which they were measured.
#[derive(Debug, Clone, Default)]
pub struct Samples(Vec<Sample>);

impl Samples {
    /// Adds a sample.
    pub fn push(&mut self, sample: Sample) {
        self.0.push(sample);
    }

    /// The loads, in the order of their first samples.
    pub fn loads(&self) -> Vec<&str> {
        distinct(self.0.iter().map(|it| it.load.as_str()))
    }

    /// The variants under `load`, in the order of their first samples.
    pub fn names(&self, load: &str) -> Vec<&str> {
        distinct(self.0.iter().filter(|it| it.load == load).map(|it| it.who.as_str()))
    }

    /// The samples of `who` under `load`, in the order of rounds.
    pub fn of(&self, load: &str, who: &str) -> Vec<&Sample> {
        let mut samples: Vec<&Sample> = self.0.iter().filter(|it| it.load == load && it.who == who).collect();
        samples.sort_by_key(|it| it.round);
        samples
    }

    /// The figures of `who` under `load`, in the order of rounds.
    pub fn figures(&self, load: &str, who: &str, figure: Figure) -> Vec<f64> {
        self.of(load, who).into_iter().map(figure).collect()
    }

    /// The ratio of a figure of `one` to that of `other` under `load`, within rounds.
    pub fn ratio(&self, load: &str, one: &str, other: &str, figure: Figure) -> Ratio {
        Ratio::of(self.figures(load, one, figure).into_iter().zip(self.figures(load, other, figure)))
    }

    /// A table of the variants under `load`: the median of each column with the least and the greatest value, the
    /// share of floors by tier, and the ratios of the first variant to each.
    pub fn table(&self, load: &str, columns: &[Column], ratios: &[(&'static str, Figure)]) -> Table {
        let headers = columns.iter().map(|column| column.0).chain(ratios.iter().map(|ratio| ratio.0));
        let names = self.names(load);
        let has_tiers = |name: &&str| self.of(load, name).iter().any(|it| !it.served_by.is_empty());
        let tiers = names.iter().any(has_tiers).then_some("floors by tier, %");
        let mut table = table([""].into_iter().chain(headers).chain(tiers));
        for name in &names {
            let mut row = vec![(*name).to_owned()];
            row.extend(
                columns.iter().map(|&(_, decimals, figure)| {
                    format!("{:.decimals$}", Spread::of(self.figures(load, name, figure)))
                }),
            );
            row.extend(ratios.iter().map(|(_, figure)| self.ratio(load, names[0], name, *figure).to_string()));
            row.extend(tiers.map(|_| self.shares(load, name)));
            table.add_row(row);
        }
        table
    }

    /// The share of floors by tier, in percent, in descending order.
    fn shares(&self, load: &str, who: &str) -> String {
        let mut counts = BTreeMap::<&str, u64>::new();
        for (tier, floors) in self.of(load, who).into_iter().flat_map(|it| &it.served_by) {
            *counts.entry(tier).or_default() += floors;
        }
        let all: u64 = counts.values().sum();
        let mut counts: Vec<_> = counts.into_iter().collect();
        counts.sort_by_key(|(_, floors)| std::cmp::Reverse(*floors));
        let share = |(tier, floors): &(&str, u64)| format!("{tier} {:.1}", *floors as f64 * 100.0 / all as f64);
        counts.iter().map(share).collect::<Vec<_>>().join(", ")
    }
}

fn distinct<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut found = Vec::new();
    for name in names {
        if !found.contains(&name) {
            found.push(name);
        }
    }
    found
}

/// A ratio with the ends of its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ratio {
    /// The geometric mean.
    pub value: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end; infinite with one sample.
    pub high: f64,
}

impl Ratio {
    /// The ratio of the first to the second value of each of `pairs`.
    pub fn of(pairs: impl IntoIterator<Item = (f64, f64)>) -> Self {
        let logs: Vec<f64> = pairs.into_iter().map(|(one, other)| (one / other).ln()).collect();
        let (mean, half) = mean_and_interval(&logs);
        Self { value: mean.exp(), low: (mean - half).exp(), high: (mean + half).exp() }
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.3} ({:.3} .. {:.3})", self.value, self.low, self.high)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_medians_ranges_ratios_and_tiers() {
        let mut samples = Samples::default();
        for (round, speed) in [1.0, 0.5, 0.75].into_iter().enumerate() {
            for (who, rate) in [("ours", 100.0), ("peer", 50.0)] {
                let served_by = [("lru".to_owned(), 25), ("redis".to_owned(), 75)].into();
                let sample = Sample { rate: rate * speed, served_by, ..Sample::default() };
                samples.push(sample.named("hit", who, round));
            }
        }
        assert_eq!((samples.loads(), samples.names("hit")), (vec!["hit"], vec!["ours", "peer"]));
        let ratio = samples.ratio("hit", "ours", "peer", RATE.2);
        assert!((ratio.value - 2.0).abs() < 1e-9 && (ratio.high - 2.0).abs() < 1e-6, "{ratio}");
        let table = samples.table("hit", &[RATE], &[("ratio", RATE.2)]).to_string();
        for expected in ["38 (25 .. 50)", "2.000 (2.000 .. 2.000)", "redis 75.0, lru 25.0"] {
            assert!(table.contains(expected), "no {expected} in\n{table}");
        }
    }
}
