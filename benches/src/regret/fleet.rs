//! The servers of a cell: for each of the settings `auto`, `off` and `forced` as many as the cell has, all of them up, on
//! stores that hold every floor already.

use std::{fmt, path::PathBuf, sync::Arc, time::Duration};

use anyhow::{Context, ensure};
use bytes::Bytes;
use serde::Serialize;
use tempfile::TempDir;
use tokio::runtime::Runtime;

use super::{
    cell::{Cell, StoreKind},
    sample::{Reading, Sample},
};
use crate::{
    delay_proxy::DelayProxy,
    load::{ClosedLoop, Method, Timed, Window},
    process::cpu_time,
    redis_server::RedisServer,
    server::{Server, Setup},
};

/// The value of `cache.bypass`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Bypass {
    /// The policy decides.
    Auto,
    /// The tier is always asked.
    Off,
    /// The tier is never asked.
    Forced,
}

impl Bypass {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Auto, Self::Off, Self::Forced];

    /// As the configuration has it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Off => "off",
            Self::Forced => "forced",
        }
    }
}

impl fmt::Display for Bypass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What all servers have in common.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The server's binary, if it is not the one beside this.
    pub binary: Option<PathBuf>,
    /// Settings by key and value, as [`Setup::with`] takes them.
    pub settings: Vec<(String, String)>,
}

/// Memory has room for one floor in so many.
const LRU_PART: u64 = 10;

/// A queue of generation for every floor that can be asked for at once: a call that is refused ends the measurement.
const QUEUE: &str = "16384";

/// Passes over all floors until the store has them. Writes go on behind the answers and may be dropped.
const FILLING_PASSES: usize = 40;
const BETWEEN_PASSES: Duration = Duration::from_millis(50);

/// Answers are counted for each second too.
const SLICE: Duration = Duration::from_secs(1);

impl Options {
    fn setup(&self, settings: &[(&str, &str)]) -> Setup {
        let mut setup = self.binary.as_ref().map_or_else(Setup::new, Setup::of);
        let own = self.settings.iter().map(|(key, value)| (key.as_str(), value.as_str()));
        for (key, value) in [("PREFETCH__AHEAD", "0"), ("GENERATION__QUEUE", QUEUE)].into_iter().chain(own) {
            setup = setup.with(key, value);
        }
        settings.iter().fold(setup, |setup, (key, value)| setup.with(key, *value))
    }
}

/// The servers of a cell, its Redis and its proxy.
pub struct Fleet<'r> {
    runtime: &'r Runtime,
    cell: Cell,
    variants: Vec<Variant>,
    proxy: Option<DelayProxy>,
    redis: Option<RedisServer>,
}

/// The servers with one setting, and the load on them.
struct Variant {
    bypass: Bypass,
    servers: Vec<Server>,
    load: ClosedLoop,
    _data: Vec<TempDir>,
}

impl<'r> Fleet<'r> {
    /// Fills the stores of `cell` and starts its servers, for each of `variants` and its additional settings.
    ///
    /// # Errors
    /// When a process does not start, or a store does not take the floors.
    pub fn start(
        runtime: &'r Runtime,
        cell: Cell,
        options: &Options,
        variants: &[Bypass],
        is_proxied: bool,
    ) -> anyhow::Result<Self> {
        let redis = if cell.store.is_shared() { Some(RedisServer::start()?) } else { None };
        let proxy = match &redis {
            Some(redis) if is_proxied || !cell.store.delay().is_zero() => {
                Some(DelayProxy::start(redis.address(), cell.store.delay())?)
            }
            _ => None,
        };
        let mut fleet = Self { runtime, cell, variants: Vec::new(), proxy, redis };
        // The servers of all variants share a Redis; it is filled once. A store on disk is each server's own.
        let mut lru_bytes = 0;
        if let Some(redis) = &fleet.redis {
            lru_bytes = fleet.fill(options, &redis.tcp_url(), &tempfile::tempdir()?)? / LRU_PART;
        }
        let url = match (&fleet.proxy, &fleet.redis) {
            (Some(proxy), _) => format!("redis://{}", proxy.address()),
            (None, Some(redis)) => redis.tcp_url(),
            _ => String::new(),
        };
        let messages = cell.messages();
        for &bypass in variants {
            let (mut servers, mut data) = (Vec::new(), Vec::new());
            for _ in 0..cell.servers {
                let directory = tempfile::tempdir()?;
                if fleet.redis.is_none() {
                    lru_bytes = fleet.fill(options, "", &directory)? / LRU_PART;
                }
                let chain = format!("[\"lru\",{:?}]", cell.store.tier());
                let mut settings = vec![("CACHE__CHAIN", chain.as_str()), ("CACHE__BYPASS", bypass.name())];
                let capacity = format!("{lru_bytes}B");
                settings.push(("CACHE__LRU__CAPACITY", &capacity));
                if fleet.redis.is_some() {
                    settings.push(("CACHE__REDIS__URL", &url));
                }
                servers.push(options.setup(&settings).start(&directory)?);
                data.push(directory);
            }
            let load = fleet.open(&servers, &messages)?;
            fleet.variants.push(Variant { bypass, servers, load, _data: data });
        }
        Ok(fleet)
    }

    /// The proxy in front of Redis, if there is one.
    #[must_use]
    pub fn proxy(&self) -> Option<&DelayProxy> {
        self.proxy.as_ref()
    }

    /// Loads the servers of each variant for `time`, and forgets what came of it.
    ///
    /// # Errors
    /// When a call fails.
    pub fn warm_up(&self, time: Duration) -> anyhow::Result<()> {
        for variant in &self.variants {
            self.run(variant, Window { settle: Duration::ZERO, measured: time, slice: SLICE })?;
        }
        Ok(())
    }

    /// Loads the servers with `bypass` for the time of `window`; the other servers are idle.
    ///
    /// # Errors
    /// When a call fails, or a server does not tell its counts.
    pub fn turn(&self, bypass: Bypass, window: Window) -> anyhow::Result<Sample> {
        let timed = self.run(self.variant(bypass)?, window)?;
        Ok(Sample::of(bypass, &timed))
    }

    fn variant(&self, bypass: Bypass) -> anyhow::Result<&Variant> {
        let found = self.variants.iter().find(|variant| variant.bypass == bypass);
        found.with_context(|| format!("no server was started with bypass = {bypass}"))
    }

    fn run(&self, variant: &Variant, window: Window) -> anyhow::Result<Timed<Reading>> {
        let timed = self.runtime.block_on(variant.load.run_for(window, || self.read(variant)));
        timed.with_context(|| format!("{}, bypass = {}", self.cell, variant.bypass))
    }

    fn read(&self, variant: &Variant) -> anyhow::Result<Reading> {
        let mut reading = Reading::default();
        for server in &variant.servers {
            reading.generations += server.generations()? as u64;
            reading.server_cpu += cpu_time(server.pid())?;
        }
        if let Some(redis) = &self.redis {
            reading.redis_cpu = cpu_time(redis.pid())?;
        }
        reading.client_cpu = cpu_time(std::process::id())?;
        Ok(reading)
    }

    fn open(&self, servers: &[Server], messages: &Arc<[Bytes]>) -> anyhow::Result<ClosedLoop> {
        let addresses: Vec<_> = servers.iter().map(|server| server.grpc).collect();
        let Cell { shape, .. } = self.cell;
        let (method, messages) = (self.cell.method(), Arc::clone(messages));
        self.runtime.block_on(ClosedLoop::open(&addresses, method, shape.connections, shape.streams, messages))
    }

    /// Has a server without memory make every floor and store it. Returns their bytes.
    fn fill(&self, options: &Options, url: &str, data: &TempDir) -> anyhow::Result<u64> {
        let chain = format!("[{:?}]", self.cell.store.tier());
        let mut settings = vec![("CACHE__CHAIN", chain.as_str()), ("CACHE__BYPASS", "off")];
        if self.redis.is_some() {
            settings.extend([("CACHE__REDIS__URL", url), ("CACHE__REDIS__TIMEOUT", "10s")]);
        }
        // A floor that is missing is to be made once, and none beside a slow answer.
        settings.extend([("CACHE__HEDGE", "false"), ("CACHE__AUDIT", "0")]);
        let server = options.setup(&settings).start(data)?;
        let messages = self.cell.filling();
        let calls = messages.len() as u64;
        self.runtime
            .block_on(async {
                let load = ClosedLoop::open(&[server.grpc], Method::BatchGetFloors, 1, 4, messages).await?;
                for _ in 0..FILLING_PASSES {
                    let tally = load.run_calls(calls).await?;
                    if tally.served_by.keys().all(|tier| tier == self.cell.store.tier()) {
                        return Ok(tally.bytes);
                    }
                    tokio::time::sleep(BETWEEN_PASSES).await;
                }
                anyhow::bail!("after {FILLING_PASSES} passes {} does not have every floor", self.cell.store)
            })
            .and_then(|bytes| {
                ensure!(bytes > 0, "floors have bytes");
                server.stop()?;
                Ok(bytes)
            })
    }
}

/// Whether every process that `cell` needs can be started on this machine.
#[must_use]
pub fn can_run(cell: &Cell) -> bool {
    Setup::is_here() && (!matches!(cell.store, StoreKind::Redis { .. }) || RedisServer::is_here())
}
