//! The servers of a cell: a set for each variant. All run at the same time, on stores that already hold every floor, and
//! are loaded in short turns, alternating.

use std::{path::Path, sync::Arc, time::Duration};

use anyhow::Context;
use floor_cache::Bypass;

use super::cell::Cell;
use crate::{
    delay_proxy::DelayProxy,
    load::{ClosedLoop, Rpc, Shape, Tally, Window},
    redis_server::RedisServer,
    sample::{Sample, Snapshot},
    server::{Server, Setup},
    timing::alternate,
};

/// A variant: its name, and the settings that distinguish its servers.
pub type VariantSpec = (String, Vec<(&'static str, &'static str)>);

/// A variant for each value of `cache.bypass`, in the order of `Bypass::ALL`.
pub fn every_bypass() -> Vec<VariantSpec> {
    Bypass::ALL.iter().map(|bypass| (bypass.name().to_owned(), vec![("CACHE__BYPASS", bypass.name())])).collect()
}

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
    /// Short runs, for the regression guard: twelve seconds for each figure.
    pub const SHORT: Self = Self { turns: 6, turn: Duration::from_secs(2), warmup: Duration::from_secs(5) };
}

/// The servers of a cell, its Redis and its proxy.
pub struct Fleet {
    cell: Cell,
    variants: Vec<Variant>,
    proxy: Option<Arc<DelayProxy>>,
    redis: Option<RedisServer>,
}

/// The servers of one variant, and their load.
struct Variant {
    name: String,
    servers: Vec<Server>,
    load: ClosedLoop,
}

impl Fleet {
    /// Fills the stores of `cell` and starts its servers for each of `variants`. With `is_proxied` Redis has a proxy
    /// even without delay. `setup` has settings of all servers.
    pub fn start(cell: Cell, setup: &Setup, variants: &[VariantSpec], is_proxied: bool) -> anyhow::Result<Self> {
        // Prefetching would change a scan.
        let setup = setup.clone().with_default("GENERATION__PREFETCH", "false");
        let tier = cell.store.tier.name();
        let mut serving = setup.clone().with("CACHE__CHAIN", format!("[\"lru\",{tier:?}]"));
        let mut filling = setup.with("CACHE__CHAIN", format!("[{tier:?}]"));
        filling = filling.with("CACHE__BYPASS", "off");
        let redis = if cell.store.is_shared() { Some(RedisServer::start()?) } else { None };
        let (mut proxy, mut floor_bytes) = (None, 0);
        if let Some(redis) = &redis {
            filling = filling.with("CACHE__REDIS__URL", redis.tcp_url()).with("CACHE__REDIS__TIMEOUT", "10s");
            let mut url = redis.tcp_url();
            if is_proxied || !cell.store.delay().is_zero() {
                let started = DelayProxy::start(redis.address(), cell.store.delay())?;
                url = format!("redis://{}", started.address());
                proxy = Some(Arc::new(started));
            }
            serving = serving.with("CACHE__REDIS__URL", url);
            // The servers of all variants share one Redis, which is filled once. Each has its own store on disk.
            floor_bytes = fill(&cell, &filling, tempfile::tempdir()?.path())?;
        }
        let messages = cell.messages();
        let mut fleet = Self { cell, variants: Vec::new(), proxy, redis };
        for (name, settings) in variants {
            let mut servers = Vec::new();
            for _ in 0..cell.servers {
                let data = tempfile::tempdir()?;
                if fleet.redis.is_none() {
                    floor_bytes = fill(&cell, &filling, data.path())?;
                }
                let capacity = format!("{}B", floor_bytes / LRU_DIVISOR);
                let setup = serving.clone().with("CACHE__LRU__CAPACITY", capacity).with_all(settings);
                servers.push(setup.start_on(data)?);
            }
            let addresses = servers.iter().map(|server| server.grpc);
            let load = ClosedLoop::new(addresses, cell.rpc(), cell.shape, Arc::clone(&messages));
            fleet.variants.push(Variant { name: name.clone(), servers, load });
        }
        Ok(fleet)
    }

    /// The proxy in front of Redis, if there is one.
    pub fn proxy(&self) -> Option<Arc<DelayProxy>> {
        self.proxy.clone()
    }

    /// Makes `calls` calls to the servers of one variant. [`turn`](Self::turn) does so for a time.
    pub fn calls(&mut self, variant: usize, calls: u64) -> anyhow::Result<Tally> {
        self.variants[variant].load.run_calls(calls)
    }

    /// Loads the servers of each variant for `time` and discards the results.
    pub fn warm_up(&mut self, time: Duration) -> anyhow::Result<()> {
        let window = Window { settle: Duration::ZERO, measured: time };
        (0..self.variants.len()).try_for_each(|variant| self.turn(variant, window, 0).map(drop))
    }

    /// Loads the servers of one variant for the time of `window`; the other servers are idle. `variant` is an index
    /// into the variants that the fleet was started with.
    pub fn turn(&mut self, variant: usize, window: Window, round: usize) -> anyhow::Result<Sample> {
        let (redis, cell) = (self.redis.as_slice(), self.cell);
        let Variant { name, servers, load } = &mut self.variants[variant];
        let timed = load.run_for(window, || Snapshot::of(servers, redis));
        let timed = timed.with_context(|| format!("{cell}, {name}"))?;
        Ok(Sample::of(&timed.tally, &timed.before, &timed.after).named(cell, name, round))
    }

    /// Warms up the variants, runs their turns and passes each sample to `take`. The turns of a round run in an order
    /// that rotates, so that no variant always follows the same one.
    pub fn run(&mut self, plan: &Plan, mut take: impl FnMut(Sample) -> anyhow::Result<()>) -> anyhow::Result<()> {
        self.warm_up(plan.warmup)?;
        let window = Window { settle: SETTLE, measured: plan.turn };
        let all: Vec<usize> = (0..self.variants.len()).collect();
        for round in 0..plan.turns {
            let mut order = alternate(round, &all);
            order.rotate_left(round / 2 % all.len());
            for variant in order {
                take(self.turn(variant, window, round)?)?;
            }
        }
        Ok(())
    }
}

/// Starts servers for `cell`, and passes the turns of `auto`, `off` and `forced` to `take`.
pub fn measure(
    cell: Cell,
    setup: &Setup,
    plan: &Plan,
    take: impl FnMut(Sample) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    Fleet::start(cell, setup, &every_bypass(), false)?.run(plan, take)
}

/// Fills the store of `cell` through a server without memory. Returns the bytes of all floors.
fn fill(cell: &Cell, setup: &Setup, data: &Path) -> anyhow::Result<u64> {
    let server = setup.start_in(data)?;
    let mut load = ClosedLoop::new([server.grpc], Rpc::BatchGetFloors, Shape::new(1, 4), cell.filling());
    let tally = load.fill(cell.store.tier.name())?;
    server.stop()?;
    Ok(tally.bytes)
}
