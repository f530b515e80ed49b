//! Measures three servers that share a Redis: `regret servers`. It compares generations, answers and CPU with
//! `cache.bypass = "auto"` and `"off"`, alternating.
//!
//! All settings but the chain are the defaults. Each round starts with an empty Redis and new servers:
//!
//! 1. *cold*: 60,000 calls for 5,000 floors, evenly to all servers;
//! 2. *joining*: one call for every floor to a fourth server, which starts when Redis is full;
//! 3. *small memory*: again an empty Redis and new servers, each with 4 MiB of memory, and 150,000 calls.

use std::{collections::HashSet, fmt::Write as _, slice, sync::Arc, time::Duration};

use anyhow::ensure;
use benches::{
    floors,
    load::{ClosedLoop, Rpc},
    process::wait_until,
    progress::Progress,
    redis_server::RedisServer,
    regret::{Cell, Keys},
    report::Report,
    sample::{CPU, Column, Figure, P99, RATE, REDIS_CPU, Sample, Samples, Snapshot},
    server::{Server, Setup},
    timing::{alternate, mean_and_interval},
};
use bytes::Bytes;
use floor_cache::Bypass;

const SERVERS: usize = 3;

/// Calls in the parts *cold* and *small memory*.
const COLD_CALLS: u64 = 60_000;
const SMALL_CALLS: u64 = 150_000;

/// About what a round of one setting takes.
const ROUND: Duration = Duration::from_secs(13);

/// Memory in the part *small memory*: a sixth of the floors.
const SMALL: &str = "4MiB";

/// How long the servers may take to write all floors to Redis.
const WRITE_TIMEOUT: Duration = Duration::from_secs(20);

/// Targets: generations per distinct floor, rate and CPU of `auto` to `off`, the share that a joining server generates.
const MAX_GENERATIONS: f64 = 1.1;
const MIN_RATE: f64 = 0.97;
const MAX_CPU: f64 = 1.05;
const MAX_JOINING: f64 = 0.03;

/// The parts of a round.
const COLD: &str = "cold";
const JOINING: &str = "joining";
const SMALL_MEMORY: &str = "small memory";

/// Floors generated for each distinct floor that was requested.
const GENERATED: Column = ("generations a distinct floor", 3, |it| it.generations as f64 / it.distinct as f64);

pub(crate) fn run(common: &crate::Common) -> anyhow::Result<()> {
    ensure!(Setup::is_available() && RedisServer::is_available(), "this needs the server and redis-server");
    let runner = Runner { redis: RedisServer::start()?, setup: common.setup()?, messages: Cell::PLAIN.messages() };
    let mut report = Report::start("regret");
    let rounds = if common.quick { 1 } else { common.rounds };
    let progress = Progress::start(ROUND * 2 * rounds as u32);
    for round in 0..rounds {
        for bypass in alternate(round, &[Bypass::Auto, Bypass::Off]) {
            progress.show(format!("round {} of {rounds}, {bypass}", round + 1));
            for (part, sample) in runner.round(bypass)? {
                report.add(sample.named(part, bypass, round));
            }
            progress.advance(ROUND);
        }
    }
    drop(progress);
    let (samples, mut text) = (&report.samples, String::new());
    let _ = writeln!(text, "Three servers, 5,000 floors of 100x100, {rounds} rounds; ratios with 95 % intervals.");
    for part in [COLD, JOINING, SMALL_MEMORY] {
        let _ = write!(text, "\n### {part}\n\n{}\n", samples.table(part, &[GENERATED, RATE, P99, CPU, REDIS_CPU], &[]));
    }
    text.push('\n');
    for (target, is_met) in targets(samples) {
        let _ = writeln!(text, "- {} {target}", if is_met { "met:" } else { "MISSED:" });
    }
    report.finish("Servers that share a Redis", &text);
    Ok(())
}

/// Each target, and whether it is met.
fn targets(samples: &Samples) -> Vec<(String, bool)> {
    let (auto, off) = (Bypass::Auto.name(), Bypass::Off.name());
    let mut targets = Vec::new();
    for (part, limit) in [(COLD, MAX_GENERATIONS), (SMALL_MEMORY, MAX_GENERATIONS), (JOINING, MAX_JOINING)] {
        let (mean, half) = mean_and_interval(&samples.figures(part, auto, GENERATED.2));
        let text = format!("{part}, {}: {mean:.3} ± {half:.3}, at most {limit}", GENERATED.0);
        targets.push((text, mean - half <= limit));
    }
    for part in [COLD, SMALL_MEMORY] {
        let ratio = |figure: Figure| samples.ratio(part, auto, off, figure);
        let (rate, cpu) = (ratio(RATE.2), ratio(CPU.2));
        targets.push((format!("{part}, answers/s, auto to off: {rate}, at least {MIN_RATE}"), rate.high >= MIN_RATE));
        targets.push((format!("{part}, CPU, auto to off: {cpu}, at most {MAX_CPU}"), cpu.low <= MAX_CPU));
    }
    targets
}

struct Runner {
    redis: RedisServer,
    setup: Setup,
    messages: Arc<[Bytes]>,
}

impl Runner {
    /// The parts of a round, with their samples.
    fn round(&self, bypass: Bypass) -> anyhow::Result<[(&'static str, Sample); 3]> {
        self.redis.flush()?;
        let servers = self.start(SERVERS, bypass, &[])?;
        let cold = self.load(&servers, &self.messages, COLD_CALLS)?;
        // Servers write to Redis after the answers.
        wait_until("every floor in Redis", WRITE_TIMEOUT, || Ok(self.redis.keys()? >= cold.distinct))?;
        let mut joining = self.load(&self.start(1, bypass, &[])?, &every_floor(), Cell::PLAIN.floors().into())?;
        joining.generations = joining.served_by.get("generated").copied().unwrap_or(0);
        drop(servers);
        self.redis.flush()?;
        let servers = self.start(SERVERS, bypass, &[("CACHE__LRU__CAPACITY", SMALL)])?;
        let small = self.load(&servers, &self.messages, SMALL_CALLS)?;
        Ok([(COLD, cold), (JOINING, joining), (SMALL_MEMORY, small)])
    }

    fn start(&self, count: usize, bypass: Bypass, settings: &[(&str, &str)]) -> anyhow::Result<Vec<Server>> {
        let setup = self.setup.clone().with("CACHE__CHAIN", "[\"lru\",\"redis\"]");
        let setup = setup.with("CACHE__REDIS__URL", self.redis.tcp_url()).with("CACHE__BYPASS", bypass.name());
        let setup = setup.with_all(settings);
        (0..count).map(|_| setup.start()).collect()
    }

    fn load(&self, servers: &[Server], messages: &Arc<[Bytes]>, calls: u64) -> anyhow::Result<Sample> {
        let addresses = servers.iter().map(|server| server.grpc);
        let mut load = ClosedLoop::new(addresses, Rpc::GetFloor, Cell::PLAIN.shape, Arc::clone(messages));
        let before = Snapshot::of(servers, slice::from_ref(&self.redis))?;
        let tally = load.run_calls(calls)?;
        let sample = Sample::of(&tally, &before, &Snapshot::of(servers, slice::from_ref(&self.redis))?);
        let distinct: HashSet<&Bytes> = messages.iter().cycle().take(calls as usize).collect();
        Ok(Sample { distinct: distinct.len() as u64, ..sample })
    }
}

/// A call for every floor, in an order that is no climb, so that a server does not prefetch.
fn every_floor() -> Arc<[Bytes]> {
    let scan = Cell { keys: Keys::Scan, ..Cell::PLAIN }.messages();
    (0..scan.len() as u64).map(|step| scan[floors::index_at(step, scan.len())].clone()).collect()
}
