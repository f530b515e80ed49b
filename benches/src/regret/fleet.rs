//! The servers of a cell: a set for each variant. All run at the same time, on stores that already hold every floor.

use std::{path::PathBuf, sync::Arc, thread, time::Duration};

use anyhow::{Context, bail};
use bytes::Bytes;
use floor_cache::Bypass;
use tempfile::TempDir;

use super::{
    cell::{Cell, StoreKind},
    sample::{Sample, Snapshot},
};
use crate::{
    delay_proxy::DelayProxy,
    load::{ClosedLoop, Method, Tally, Window},
    redis_server::RedisServer,
    server::{Server, Setup},
};

/// The options of all servers.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The server's binary, if not the default one.
    pub binary: Option<PathBuf>,
    /// Settings by key and value, as [`Setup::with`] takes them.
    pub settings: Vec<(String, String)>,
}

/// Memory holds one in this many floors.
const LRU_DIVISOR: u64 = 10;

/// Capacity of the generation queue: more than the floors in flight, since a rejected call ends the measurement.
const QUEUE: &str = "16384";

/// Passes over all floors to fill the store. Writes happen after the answers and may be dropped.
const FILLING_PASSES: usize = 40;
const BETWEEN_PASSES: Duration = Duration::from_millis(50);

/// Answers are counted for each second too.
const SLICE: Duration = Duration::from_secs(1);

impl Options {
    /// A server with these settings; all others are the defaults.
    #[must_use]
    pub fn plain_setup(&self) -> Setup {
        self.add_to(self.binary.as_ref().map_or_else(Setup::new, Setup::of_binary))
    }

    fn add_to(&self, setup: Setup) -> Setup {
        self.settings.iter().fold(setup, |setup, (key, value)| setup.with(key, value))
    }

    /// A server of a cell. It does not prefetch, which would change a scan.
    fn setup(&self, settings: &[(&str, &str)]) -> Setup {
        let setup = self.binary.as_ref().map_or_else(Setup::new, Setup::of_binary);
        let setup = self.add_to(setup.with("PREFETCH__AHEAD", "0").with("GENERATION__QUEUE", QUEUE));
        settings.iter().fold(setup, |setup, (key, value)| setup.with(key, *value))
    }
}

/// The settings that distinguish a variant's servers.
#[derive(Debug, Clone)]
pub struct VariantSpec {
    /// `cache.bypass`.
    pub bypass: Bypass,
    /// More settings by key and value.
    pub settings: Vec<(&'static str, &'static str)>,
}

impl From<Bypass> for VariantSpec {
    fn from(bypass: Bypass) -> Self {
        Self { bypass, settings: Vec::new() }
    }
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
    bypass: Bypass,
    servers: Vec<Server>,
    load: ClosedLoop,
    _data: Vec<TempDir>,
}

impl Fleet {
    /// Fills the stores of `cell` and starts its servers for each of `variants`. With `is_proxied` Redis has a proxy
    /// even without delay.
    ///
    /// # Errors
    /// When a process does not start, or a store cannot be filled.
    pub fn start(cell: Cell, options: &Options, variants: &[VariantSpec], is_proxied: bool) -> anyhow::Result<Self> {
        let redis = if cell.store.is_shared() { Some(RedisServer::start()?) } else { None };
        let proxy = match &redis {
            Some(redis) if is_proxied || !cell.store.delay().is_zero() => {
                Some(Arc::new(DelayProxy::start(redis.address(), cell.store.delay())?))
            }
            _ => None,
        };
        let mut fleet = Self { cell, variants: Vec::new(), proxy, redis };
        // The servers of all variants share one Redis, which is filled once. Each server has its own store on disk.
        let mut lru_bytes = 0;
        if let Some(redis) = &fleet.redis {
            lru_bytes = fleet.fill(options, &redis.tcp_url(), &tempfile::tempdir()?)? / LRU_DIVISOR;
        }
        let url = match (&fleet.proxy, &fleet.redis) {
            (Some(proxy), _) => format!("redis://{}", proxy.address()),
            (None, Some(redis)) => redis.tcp_url(),
            _ => String::new(),
        };
        let messages = cell.messages();
        for variant in variants {
            let bypass = variant.bypass;
            let (mut servers, mut data) = (Vec::new(), Vec::new());
            for _ in 0..cell.servers {
                let directory = tempfile::tempdir()?;
                if fleet.redis.is_none() {
                    lru_bytes = fleet.fill(options, "", &directory)? / LRU_DIVISOR;
                }
                let chain = format!("[\"lru\",{:?}]", cell.store.tier());
                let mut settings = vec![("CACHE__CHAIN", chain.as_str()), ("CACHE__BYPASS", bypass.name())];
                settings.extend(&variant.settings);
                let capacity = format!("{lru_bytes}B");
                settings.push(("CACHE__LRU__CAPACITY", &capacity));
                if fleet.redis.is_some() {
                    settings.push(("CACHE__REDIS__URL", &url));
                }
                servers.push(options.setup(&settings).start(&directory)?);
                data.push(directory);
            }
            let load = fleet.load(&servers, &messages);
            fleet.variants.push(Variant { bypass, servers, load, _data: data });
        }
        Ok(fleet)
    }

    /// The proxy in front of Redis, if there is one.
    #[must_use]
    pub fn proxy(&self) -> Option<Arc<DelayProxy>> {
        self.proxy.clone()
    }

    /// The number of variants.
    #[must_use]
    pub fn variants(&self) -> usize {
        self.variants.len()
    }

    /// Makes `calls` calls to the servers of one variant. [`turn`](Self::turn) does so for a time.
    ///
    /// # Errors
    /// When a call fails.
    ///
    /// # Panics
    /// When there is no such variant.
    pub fn calls(&mut self, variant: usize, calls: u64) -> anyhow::Result<Tally> {
        self.variants[variant].load.run_calls(calls)
    }

    /// Loads the servers of each variant for `time` and discards the results.
    ///
    /// # Errors
    /// When a call fails.
    pub fn warm_up(&mut self, time: Duration) -> anyhow::Result<()> {
        let window = Window { settle: Duration::ZERO, measured: time, slice: SLICE };
        (0..self.variants.len()).try_for_each(|variant| self.turn(variant, window).map(drop))
    }

    /// Loads the servers of one variant for the time of `window`; the other servers are idle. `variant` is an index
    /// into the variants that the fleet was started with.
    ///
    /// # Errors
    /// When a call fails, or the metrics of a server cannot be read.
    ///
    /// # Panics
    /// When there is no such variant.
    pub fn turn(&mut self, variant: usize, window: Window) -> anyhow::Result<Sample> {
        let (redis, cell) = (self.redis.as_ref(), self.cell);
        let Variant { bypass, servers, load, .. } = &mut self.variants[variant];
        let timed = load.run_for(window, || Snapshot::of(servers, redis.map(RedisServer::pid)));
        let timed = timed.with_context(|| format!("{cell}, bypass = {bypass}"))?;
        Ok(Sample::of(*bypass, &timed))
    }

    fn load(&self, servers: &[Server], messages: &Arc<[Bytes]>) -> ClosedLoop {
        let addresses: Vec<_> = servers.iter().map(|server| server.grpc).collect();
        let Cell { shape, .. } = self.cell;
        ClosedLoop::new(&addresses, self.cell.method(), shape.connections, shape.streams, Arc::clone(messages))
    }

    /// Fills the store through a server without memory. Returns the bytes of all floors.
    fn fill(&self, options: &Options, url: &str, data: &TempDir) -> anyhow::Result<u64> {
        let chain = format!("[{:?}]", self.cell.store.tier());
        let mut settings = vec![("CACHE__CHAIN", chain.as_str()), ("CACHE__BYPASS", "off")];
        if self.redis.is_some() {
            settings.extend([("CACHE__REDIS__URL", url), ("CACHE__REDIS__TIMEOUT", "10s")]);
        }
        // Without hedging and audits a missing floor is generated once.
        settings.extend([("CACHE__HEDGE", "false"), ("CACHE__AUDIT", "0")]);
        let server = options.setup(&settings).start(data)?;
        let messages = self.cell.filling();
        let calls = messages.len() as u64;
        let mut load = ClosedLoop::new(&[server.grpc], Method::BatchGetFloors, 1, 4, messages);
        for _ in 0..FILLING_PASSES {
            let tally = load.run_calls(calls)?;
            if tally.served_by.keys().all(|tier| tier == self.cell.store.tier()) {
                server.stop()?;
                return Ok(tally.bytes);
            }
            thread::sleep(BETWEEN_PASSES);
        }
        bail!("after {FILLING_PASSES} passes {} does not have every floor", self.cell.store)
    }
}

/// Whether every process that `cell` needs can be started on this machine.
#[must_use]
pub fn can_run(cell: &Cell, options: &Options) -> bool {
    (options.binary.is_some() || Setup::is_available())
        && (!matches!(cell.store, StoreKind::Redis { .. }) || RedisServer::is_available())
}
