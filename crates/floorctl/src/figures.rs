//! What floors cost a server: measured for `capacity` with calls to it and with its own metrics.

use std::{
    io::Write as _,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use anyhow::{Context as _, bail, ensure};
use floor_client::{FloorClient, ServedBy, limits};
use floor_proto::operations::{Stats, TierHoldings};
use serde::Serialize;
use tokio::time::sleep;

use crate::{
    load::{self, LoadStream, Measurements, Period},
    metrics::Metrics,
    operations::Operations,
    output,
    server::Server,
    target::Tower,
};

/// How long the CPU time of new floors is measured.
const NEW_PERIOD: Duration = Duration::from_secs(6);
/// How long the CPU time of hits is measured: longer, because the load uses as much of it as the server.
const HIT_PERIOD: Duration = Duration::from_secs(15);
/// The share of its limit from which a tier may evict floors, which hides what new ones take.
const NEARLY_FULL: f64 = 0.9;
/// How long one stream alone measures latency.
const LATENCY_PERIOD: Duration = Duration::from_secs(1);
/// Calls before each measurement. They put the floors of the hits into memory.
const WARM_UP: Duration = Duration::from_secs(1);
/// Time between two readings of the CPU time, which the server counts in whole seconds.
const READING: Duration = Duration::from_millis(100);
/// Connections that are opened to measure their memory. A server accepts 256 from one address by default.
const IDLE_CONNECTIONS: u16 = 100;
/// How long the writers of the tiers get to finish.
const WRITES: Duration = Duration::from_millis(500);
/// Floors of a stream that are asked for again as hits.
const HIT_FLOORS: u64 = 32;
/// The share of calls that may be answered from another place than meant.
const MAX_STRAY: f64 = 0.01;
/// The step from a floor number of a stream to the next. It has no divisor in common with the number of floors, so none
/// comes twice, and a server does not take the stream for a climber and generate ahead.
const STEP: u64 = 500_009;

/// The costs of floors of one size on one server.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Figures {
    /// CPU time of the server for a new floor, with storing it, in seconds.
    pub(crate) new_floor_cpu_seconds: f64,
    /// CPU time of the server for a floor that it has in memory, in seconds.
    pub(crate) hit_cpu_seconds: f64,
    /// Median time until a new floor is answered to a client alone, in microseconds.
    pub(crate) new_floor_us: u64,
    /// The same for a hit.
    pub(crate) hit_us: u64,
    /// The mean message of a floor, in bytes.
    pub(crate) floor_bytes: f64,
    /// Memory of the server besides its floors, in bytes.
    pub(crate) base_bytes: f64,
    /// Memory of an open connection, in bytes.
    pub(crate) connection_bytes: f64,
    /// What a floor takes in memory, in bytes; null if the chain has no memory tier.
    pub(crate) memory_bytes_per_floor: Option<f64>,
    /// What a floor takes in the stores on disk together, in bytes; null if the chain has none.
    pub(crate) disk_bytes_per_floor: Option<f64>,
    /// What a floor takes in Redis, in bytes; null if the chain has none.
    pub(crate) redis_bytes_per_floor: Option<f64>,
}

impl Figures {
    /// How long [`measure`](Self::measure) takes.
    pub(crate) const TIME: Duration = Duration::from_secs(28);

    /// Measures floors of `size` for [`TIME`](Self::TIME). `streams` load the server, each on a connection of its own.
    pub(crate) async fn measure(server: &Server, size: (u32, u32), streams: u16) -> anyhow::Result<Self> {
        let operations = server.operations()?;
        let stats_before: Stats = operations.get("/stats").await?;
        if let Some(tier) = stats_before.tiers.iter().find(|tier| is_nearly_full(tier)) {
            let tier = &tier.tier;
            bail!("{tier} is nearly full, which hides what new floors take: measure a server that has just started");
        }
        let clients = server.connect_many(streams).await?;
        // Before the load, because after it the server has free memory from which connections would take theirs.
        let connection_bytes = connection_bytes(server, &operations).await?;
        let load = Load { operations, clients: &clients, size, seed: unused_seed()? };
        let new_alone = load.run(Calls::New(0), 1, LATENCY_PERIOD).await?;
        let (new, new_floor_cpu_seconds) = load.cpu_of(Calls::New(1), NEW_PERIOD).await?;
        sleep(WRITES).await;
        let stats = of_all_tenants(load.operations.get("/stats").await?);
        let stats_before = of_all_tenants(stats_before);
        let after = load.operations.metrics().await?;
        if after.sum("floors_build_info", "profile=\"debug\"").is_ok() {
            writeln!(output::stderr(), "note: the server is a debug build, which takes more CPU than a release build")?;
        }
        let hit_alone = load.run(Calls::Hits, 1, LATENCY_PERIOD).await?;
        let (_, hit_cpu_seconds) = load.cpu_of(Calls::Hits, HIT_PERIOD).await?;
        let bytes = |is_meant: fn(&TierHoldings) -> bool| bytes_per_floor(&stats_before, &stats, is_meant);
        Ok(Self {
            new_floor_cpu_seconds,
            hit_cpu_seconds,
            new_floor_us: new_alone.latency.value_at_quantile(0.5),
            hit_us: hit_alone.latency.value_at_quantile(0.5),
            floor_bytes: new.bytes as f64 / new.requests() as f64,
            base_bytes: memory(&after)? - after.sum("floors_tier_bytes", MEMORY_TIER).unwrap_or(0.0),
            connection_bytes,
            memory_bytes_per_floor: bytes(|tier| tier.writes.is_none()),
            disk_bytes_per_floor: bytes(|tier| tier.disk_bytes.is_some()),
            redis_bytes_per_floor: bytes(|tier| tier.tier == "redis"),
        })
    }
}

/// The label of the memory tier.
const MEMORY_TIER: &str = "tier=\"lru\"";

/// The floors that calls ask for.
#[derive(Debug, Clone, Copy)]
enum Calls {
    /// Floors that nobody has asked for. Each number has floors of its own.
    New(u64),
    /// Floors of the load [`Calls::New`] of number 1, over and over.
    Hits,
}

impl Calls {
    /// Whether the source of an answer is the one that is measured.
    fn is_meant(self, tier: &str) -> bool {
        (tier == "generated") == matches!(self, Self::New(_))
    }
}

/// The calls of a measurement.
struct Load<'a> {
    operations: Operations<'a>,
    clients: &'a [FloorClient],
    size: (u32, u32),
    /// The seed of the first tower. Each stream has towers of its own.
    seed: u64,
}

impl Load<'_> {
    /// Calls for `time`, after a warm-up, with one call in flight on each of `streams` connections. Fails if a call
    /// fails, or if the floors come from another source than is measured.
    async fn run(&self, calls: Calls, streams: usize, time: Duration) -> anyhow::Result<Measurements> {
        let streams =
            self.clients.iter().take(streams).zip(0..).map(|(client, number)| self.stream(client, number, calls));
        let load = load::closed_loop(streams.collect(), Period::starting_now(WARM_UP, time)).await?;
        if let Some((failure, count)) = load.failures.iter().next() {
            bail!("{count} calls of the measurement failed: {failure}");
        }
        ensure!(load.requests() > 0, "the server answered no call within {time:?}");
        let by: &ServedBy = &load.served.by;
        let stray: u64 = by.iter().filter(|(tier, _)| !calls.is_meant(tier)).map(|(_, count)| count).sum();
        ensure!(
            stray as f64 <= MAX_STRAY * load.requests() as f64,
            "{} answers were to be {}, but the sources were: {by}",
            load.requests(),
            if matches!(calls, Calls::Hits) { "hits" } else { "generated" },
        );
        Ok(load)
    }

    fn stream(&self, client: &FloorClient, number: u64, calls: Calls) -> LoadStream {
        let (tower, floors) = match calls {
            Calls::New(tower) => (tower, u64::from(limits::MAX_FLOOR)),
            Calls::Hits => (1, HIT_FLOORS),
        };
        let seed = self.seed.wrapping_add(2 * number + tower);
        let mut next = (0..floors).map(floor_number).cycle();
        let next_floor = move || next.next().expect("it has no end");
        LoadStream { client: client.clone(), tower: Tower::of(seed, self.size), next_floor: Box::new(next_floor) }
    }

    /// The calls of all streams, and the CPU time of the server for one.
    async fn cpu_of(&self, calls: Calls, time: Duration) -> anyhow::Result<(Measurements, f64)> {
        let run = self.run(calls, self.clients.len(), time);
        let mut run = std::pin::pin!(run);
        let mut edges = Vec::new();
        let mut last = None;
        let load = loop {
            tokio::select! {
                load = &mut run => break load?,
                () = sleep(READING) => {}
            }
            let reading = Reading::of(&self.operations.metrics().await?)?;
            if last.is_some_and(|last| last != reading.cpu_seconds) {
                edges.push(reading);
            }
            last = Some(reading.cpu_seconds);
        };
        Ok((load, cpu_per_call(&edges)?))
    }
}

/// The number of the floor that the call of a stream asks for.
fn floor_number(call: u64) -> u32 {
    let before = call * STEP % u64::from(limits::MAX_FLOOR);
    u32::try_from(before).map_or(limits::MAX_FLOOR, |before| before + 1)
}

/// The counts of the server at one time.
#[derive(Debug, Clone, Copy)]
struct Reading {
    cpu_seconds: f64,
    calls: f64,
}

impl Reading {
    fn of(metrics: &Metrics) -> anyhow::Result<Self> {
        Ok(Self {
            cpu_seconds: metrics.sum("process_cpu_seconds_total", "")?,
            calls: metrics.sum("floors_requests_total", "rpc=\"GetFloor\"")?,
        })
    }
}

/// The CPU time of a call, from the readings in which the CPU time was a new one. It has whole seconds, so only such
/// readings have the CPU time of their time. They are late by [`READING`] at most, which is little against the time between
/// the first and the last, also if the server uses little CPU.
fn cpu_per_call(edges: &[Reading]) -> anyhow::Result<f64> {
    let (first, last) = edges.first().zip(edges.last()).context(TOO_LITTLE_CPU)?;
    let (cpu, calls) = (last.cpu_seconds - first.cpu_seconds, last.calls - first.calls);
    ensure!(cpu > 0.0 && calls > 0.0, TOO_LITTLE_CPU);
    Ok(cpu / calls)
}

const TOO_LITTLE_CPU: &str = "the load used too little CPU time of the server to measure it; run a release build of \
                              floorctl, nearer to the server or with more --streams";

/// The memory of the server that the system cannot take back.
fn memory(metrics: &Metrics) -> anyhow::Result<f64> {
    metrics.sum("floors_memory_anonymous_bytes", "").context("only a server on Linux can be measured")
}

/// What an open connection takes after a call, in the memory of the server.
async fn connection_bytes(server: &Server, operations: &Operations<'_>) -> anyhow::Result<f64> {
    let before = memory(&operations.metrics().await?)?;
    let clients = server.connect_many(IDLE_CONNECTIONS).await?;
    for client in &clients {
        client.server_info().await?;
    }
    let after = memory(&operations.metrics().await?)?;
    Ok((after - before).max(0.0) / f64::from(IDLE_CONNECTIONS))
}

fn is_nearly_full(tier: &TierHoldings) -> bool {
    let bytes = tier.limit_bytes.zip(tier.bytes);
    bytes.is_some_and(|(limit, bytes)| limit > 0 && bytes as f64 >= NEARLY_FULL * limit as f64)
}

/// Each tier once, with what it holds for all tenants together: the token of the calls may be any tenant's.
fn of_all_tenants(stats: Stats) -> Stats {
    let mut sum: Vec<TierHoldings> = Vec::new();
    for tier in stats.tiers {
        let Some(known) = sum.iter_mut().find(|known| known.tier == tier.tier) else {
            sum.push(tier);
            continue;
        };
        known.entries = known.entries.zip(tier.entries).map(|(known, more)| known + more);
        known.bytes = known.bytes.zip(tier.bytes).map(|(known, more)| known + more);
        known.limit_bytes = known.limit_bytes.zip(tier.limit_bytes).map(|(known, more)| known + more);
        known.disk_bytes = known.disk_bytes.zip(tier.disk_bytes).map(|(known, more)| known + more);
    }
    Stats { tiers: sum }
}

/// The bytes that each new floor took in the tiers that are meant, together; of every floor in a tier that they filled.
fn bytes_per_floor(before: &Stats, after: &Stats, is_meant: fn(&TierHoldings) -> bool) -> Option<f64> {
    let of_tier = |tier: &TierHoldings| {
        let earlier = before.tiers.iter().find(|earlier| earlier.tier == tier.tier)?;
        let (all_bytes, all_entries) = tier.bytes.zip(tier.entries)?;
        let entries = all_entries.saturating_sub(earlier.entries?);
        let bytes = all_bytes.saturating_sub(earlier.bytes?);
        let (bytes, entries) =
            if entries > 0 && !is_nearly_full(tier) { (bytes, entries) } else { (all_bytes, all_entries) };
        (entries > 0).then(|| bytes as f64 / entries as f64)
    };
    after.tiers.iter().filter(|tier| is_meant(tier)).filter_map(of_tier).reduce(|sum, bytes| sum + bytes)
}

/// A seed of towers that have not been asked for, from the time.
fn unused_seed() -> anyhow::Result<u64> {
    let time = SystemTime::now().duration_since(UNIX_EPOCH).context("the clock is before 1970")?;
    u64::try_from(time.as_nanos()).context("the clock is after 2554")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_time_is_divided_by_the_calls_between_its_first_and_its_last_change() {
        let edges =
            [(3.0, 1000.0), (4.0, 1900.0), (6.0, 4000.0)].map(|(cpu_seconds, calls)| Reading { cpu_seconds, calls });
        assert_eq!(cpu_per_call(&edges).unwrap(), 0.001);
        for too_few in [&edges[..0], &edges[..1]] {
            assert_eq!(cpu_per_call(too_few).unwrap_err().to_string(), TOO_LITTLE_CPU);
        }
    }

    fn stats(tiers: &[(&str, u64, u64, Option<u64>)]) -> Stats {
        let tier = |&(tier, entries, bytes, disk_bytes): &(&str, u64, u64, Option<u64>)| TierHoldings {
            tier: tier.to_owned(),
            tenant: None,
            entries: Some(entries),
            bytes: Some(bytes),
            limit_bytes: Some(10_000),
            disk_bytes,
            corrupt: 0,
            writes: None,
        };
        Stats { tiers: tiers.iter().map(tier).collect() }
    }

    #[test]
    fn bytes_of_a_floor_are_those_of_new_ones_or_of_all_in_a_tier_that_they_filled() {
        let before = stats(&[("lru", 10, 1000, None), ("lmdb", 10, 8000, Some(0)), ("sled", 10, 500, Some(0))]);
        let after = stats(&[("lru", 20, 5000, None), ("lmdb", 14, 9800, Some(0)), ("sled", 30, 600, Some(0))]);
        assert_eq!(bytes_per_floor(&before, &after, |tier| tier.tier == "lru"), Some(400.0));
        let on_disk = bytes_per_floor(&before, &after, |tier| tier.disk_bytes.is_some());
        assert_eq!(on_disk, Some(700.0 + 5.0), "both stores hold the floor");
        assert_eq!(bytes_per_floor(&before, &after, |tier| tier.tier == "redis"), None);
    }

    #[test]
    fn tiers_of_tenants_count_together() {
        let of_tenants =
            |floors: u64| stats(&[("lru", 10, 1000, None), ("lru", 20 + floors, 2000 + 300 * floors, None)]);
        let (before, after) = (of_all_tenants(of_tenants(0)), of_all_tenants(of_tenants(5)));
        assert_eq!(
            (before.tiers.len(), before.tiers[0].entries, before.tiers[0].limit_bytes),
            (1, Some(30), Some(20_000))
        );
        assert_eq!(bytes_per_floor(&before, &after, |tier| tier.tier == "lru"), Some(300.0));
    }

    #[test]
    fn a_stream_repeats_no_floor() {
        let numbers = (0..u64::from(limits::MAX_FLOOR)).map(floor_number).collect::<std::collections::BTreeSet<_>>();
        assert_eq!((numbers.len(), numbers.last()), (1_000_000, Some(&1_000_000)));
    }
}
