//! The servers of a cell: a set for each variant. All run at the same time, on stores that already hold every floor, and
//! are loaded in short turns, alternating.

use std::{path::Path, sync::Arc, time::Duration};

use anyhow::Context;
use floor_cache::Bypass;

use super::{cell::Cell, delay_proxy};
use crate::{
    load::{ClosedLoop, Rpc, Shape, Window},
    progress::Progress,
    redis_server::RedisServer,
    sample::{Sample, Snapshot},
    server::{Server, Setup},
    timing::alternate,
};

/// Memory holds one in this many floors.
const LRU_DIVISOR: u64 = 10;

/// The start of a turn that does not count: the processors' caches hold another variant's floors.
const SETTLE: Duration = Duration::from_millis(500);

/// The number of turns and their lengths.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    /// Turns of each variant.
    pub turns: usize,
    /// The measured part of a turn.
    pub turn: Duration,
    /// Load on each variant before its first turn.
    pub warmup: Duration,
}

impl Plan {
    /// The time of a cell, without the time in which its stores are filled.
    pub fn total(&self) -> Duration {
        let turns = (SETTLE + self.turn) * self.turns as u32;
        (self.warmup + turns) * Bypass::ALL.len() as u32
    }
}

/// The servers with one value of `cache.bypass`, and their load.
struct Variant {
    bypass: Bypass,
    servers: Vec<Server>,
    load: ClosedLoop,
}

/// Starts servers for `cell`, warms them up, runs the turns of `auto`, `off` and `forced`, and passes each sample to
/// `take`. The turns of a round run in an order that rotates, so that no variant always follows the same one. `setup`
/// has settings of all servers.
pub fn measure(
    cell: Cell,
    setup: &Setup,
    plan: &Plan,
    progress: &Progress,
    mut take: impl FnMut(Sample),
) -> anyhow::Result<()> {
    progress.show(format!("filling the stores of {cell}"));
    let redis = if cell.store.is_shared() { vec![RedisServer::start()?] } else { Vec::new() };
    let mut variants = start(cell, setup, redis.first())?;
    let mut turn = |variant: usize, window: Window, round: usize| {
        let Variant { bypass, servers, load } = &mut variants[variant];
        progress.show(format!("{cell}, {bypass}"));
        let timed = load.run_for(window, || Snapshot::of(servers, &redis));
        let timed = timed.with_context(|| format!("{cell}, {bypass}"))?;
        progress.advance(window.total());
        anyhow::Ok(Sample::of(&timed.tally, &timed.before, &timed.after).named(cell, *bypass, round))
    };
    let all: Vec<usize> = (0..Bypass::ALL.len()).collect();
    for variant in &all {
        turn(*variant, Window { settle: Duration::ZERO, measured: plan.warmup }, 0)?;
    }
    for round in 0..plan.turns {
        let mut order = alternate(round, &all);
        order.rotate_left(round / 2 % all.len());
        for variant in order {
            take(turn(variant, Window { settle: SETTLE, measured: plan.turn }, round)?);
        }
    }
    Ok(())
}

/// Fills the stores of `cell` and starts its servers for each value of `cache.bypass`.
fn start(cell: Cell, setup: &Setup, redis: Option<&RedisServer>) -> anyhow::Result<Vec<Variant>> {
    // Prefetching would change a scan.
    let setup = setup.clone().with_default("GENERATION__PREFETCH", "false");
    let tier = cell.store.tier.name();
    let mut serving = setup.clone().with("CACHE__CHAIN", format!("[\"lru\",{tier:?}]"));
    let mut filling = setup.with("CACHE__CHAIN", format!("[{tier:?}]"));
    filling = filling.with("CACHE__BYPASS", "off");
    let mut floor_bytes = 0;
    if let Some(redis) = redis {
        filling = filling.with("CACHE__REDIS__URL", redis.tcp_url()).with("CACHE__REDIS__TIMEOUT", "10s");
        let mut url = redis.tcp_url();
        if !cell.store.delay().is_zero() {
            url = format!("redis://{}", delay_proxy::start(redis.address(), cell.store.delay())?);
        }
        serving = serving.with("CACHE__REDIS__URL", url);
        // The servers of all variants share one Redis, which is filled once. Each has its own store on disk.
        floor_bytes = fill(&cell, &filling, tempfile::tempdir()?.path())?;
    }
    let (messages, mut variants) = (cell.messages(), Vec::new());
    for bypass in Bypass::ALL {
        let mut servers = Vec::new();
        for _ in 0..cell.servers {
            let data = tempfile::tempdir()?;
            if redis.is_none() {
                floor_bytes = fill(&cell, &filling, data.path())?;
            }
            let capacity = format!("{}B", floor_bytes / LRU_DIVISOR);
            let setup = serving.clone().with("CACHE__LRU__CAPACITY", capacity).with("CACHE__BYPASS", bypass.name());
            servers.push(setup.start_on(data)?);
        }
        let addresses = servers.iter().map(|server| server.grpc);
        let load = ClosedLoop::new(addresses, cell.rpc(), cell.shape, Arc::clone(&messages));
        variants.push(Variant { bypass, servers, load });
    }
    Ok(variants)
}

/// Fills the store of `cell` through a server without memory. Returns the bytes of all floors.
fn fill(cell: &Cell, setup: &Setup, data: &Path) -> anyhow::Result<u64> {
    let server = setup.start_in(data)?;
    let mut load = ClosedLoop::new([server.grpc], Rpc::BatchGetFloors, Shape::new(1, 4), cell.filling());
    let tally = load.fill(cell.store.tier.name())?;
    server.stop()?;
    Ok(tally.bytes)
}
