//! Measures three servers that share a Redis: `regret servers`. It compares generations, answers and CPU with
//! `cache.bypass = "auto"` and `"off"`, alternating.
//!
//! All settings but the chain are the defaults. Each round starts with an empty Redis and new servers:
//!
//! 1. *cold*: 60,000 calls for 5,000 floors, evenly to all servers;
//! 2. *joining*: one call for every floor to a fourth server, which starts when Redis is full;
//! 3. *small memory*: again an empty Redis and new servers, each with 4 MiB of memory, and 150,000 calls.

use std::{
    collections::HashSet,
    fmt::Write as _,
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::ensure;
use benches::{
    floors,
    load::{ClosedLoop, Rpc, TimedRun},
    process::wait_until,
    redis_cluster::RedisCluster,
    redis_server::RedisServer,
    regret::{Cell, Keys, Ratio, Sample, sample::Snapshot},
    report::{self, Origin},
    server::{Server, Setup},
    timing::mean_and_interval,
};
use bytes::Bytes;
use clap::Args;
use floor_cache::Bypass;
use serde::Serialize;

#[derive(Debug, Clone, Args)]
pub(crate) struct ServersArgs {
    /// Number of rounds, each with auto and with off
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Use a Redis Cluster of six nodes instead of one Redis
    #[arg(long)]
    cluster: bool,
}

const SERVERS: usize = 3;

/// Calls in the parts *cold* and *small memory*.
const COLD_CALLS: u64 = 60_000;
const SMALL_CALLS: u64 = 150_000;

/// Memory in the part *small memory*: a sixth of the floors.
const SMALL: &str = "4MiB";

/// How long the servers may take to write all floors to Redis.
const WRITE_TIMEOUT: Duration = Duration::from_secs(20);

/// Targets: generations per distinct floor, rate and CPU of `auto` to `off`, the share that a joining server generates.
const MAX_GENERATIONS: f64 = 1.1;
const MIN_RATE: f64 = 0.97;
const MAX_CPU: f64 = 1.05;
const MAX_JOINING: f64 = 0.03;

#[derive(Debug, Clone, Serialize)]
struct Round {
    round: usize,
    #[serde(serialize_with = "benches::regret::as_text")]
    bypass: Bypass,
    cold: Sample,
    small: Sample,
    /// Floors requested from a joining server, and those of them that it generated.
    asked: u64,
    joining: u64,
}

#[derive(Debug, Serialize)]
struct Report {
    #[serde(flatten)]
    origin: Origin,
    /// Distinct floors of the calls in the parts *cold* and *small memory*.
    cold_distinct: usize,
    small_distinct: usize,
    rounds: Vec<Round>,
}

pub(crate) fn run(args: &ServersArgs, common: &crate::Common) -> anyhow::Result<bool> {
    ensure!(Setup::is_available() && RedisServer::is_available(), "this needs the server and redis-server");
    let runner = Runner {
        redis: if args.cluster { RedisCluster::start()? } else { RedisCluster::single()? },
        setup: common.setup()?,
        messages: Cell::PLAIN.messages(),
    };
    let distinct = |calls: u64| {
        let asked = runner.messages.iter().cycle().take(calls as usize);
        asked.collect::<HashSet<_>>().len()
    };
    let mut report = Report {
        origin: Origin::of("regret"),
        cold_distinct: distinct(COLD_CALLS),
        small_distinct: distinct(SMALL_CALLS),
        rounds: Vec::new(),
    };
    for round in 0..args.rounds {
        let mut order = [Bypass::Auto, Bypass::Off];
        if round % 2 == 1 {
            order.reverse();
        }
        for bypass in order {
            let started = Instant::now();
            report.rounds.push(runner.round(round, bypass, report.cold_distinct as u64)?);
            eprintln!("round {} of {}, {bypass}: {:.0?}", round + 1, args.rounds, started.elapsed());
        }
    }
    let name = if args.cluster { "regret-cluster" } else { "regret-servers" };
    common.record.report(&report.origin, name, "Servers that share a Redis", &report.markdown(), &report)?;
    Ok(report.passes())
}

struct Runner {
    redis: RedisCluster,
    setup: Setup,
    messages: Arc<[Bytes]>,
}

impl Runner {
    fn round(&self, round: usize, bypass: Bypass, distinct: u64) -> anyhow::Result<Round> {
        self.redis.flush()?;
        let servers = self.start(SERVERS, bypass, &[])?;
        let cold = self.load(bypass, &servers, COLD_CALLS)?;
        // Servers write to Redis after the answers.
        wait_until("every floor in Redis", WRITE_TIMEOUT, || Ok(self.redis.keys()? >= distinct))?;
        let (asked, joining) = self.join(bypass)?;
        drop(servers);
        self.redis.flush()?;
        let servers = self.start(SERVERS, bypass, &[("CACHE__LRU__CAPACITY", SMALL)])?;
        let small = self.load(bypass, &servers, SMALL_CALLS)?;
        Ok(Round { round, bypass, cold, small, asked, joining })
    }

    fn start(&self, count: usize, bypass: Bypass, settings: &[(&str, &str)]) -> anyhow::Result<Vec<Server>> {
        let setup = self.setup.clone().with("CACHE__CHAIN", "[\"lru\",\"redis\"]");
        let setup = setup.with("CACHE__REDIS__URL", self.redis.url()).with("CACHE__BYPASS", bypass.name());
        let setup = settings.iter().fold(setup, |setup, (key, value)| setup.with(key, *value));
        (0..count).map(|_| setup.start()).collect()
    }

    fn load(&self, bypass: Bypass, servers: &[Server], calls: u64) -> anyhow::Result<Sample> {
        let addresses: Vec<_> = servers.iter().map(|server| server.grpc).collect();
        let mut load = ClosedLoop::new(&addresses, Rpc::GetFloor, 4, 10, Arc::clone(&self.messages));
        let snapshot = || Snapshot::of(servers, self.redis.nodes());
        let before = snapshot()?;
        let tally = load.run_calls(calls)?;
        Ok(Sample::of(bypass, &TimedRun { tally, slices: Vec::new(), before, after: snapshot()? }))
    }

    /// Requests every floor once from a new server on a full Redis. Returns the floors requested and those generated.
    fn join(&self, bypass: Bypass) -> anyhow::Result<(u64, u64)> {
        let started = self.start(1, bypass, &[])?;
        let scan = Cell { keys: Keys::Scan, ..Cell::PLAIN }.messages();
        // In an order that is no climb, so that the server does not prefetch.
        let messages: Arc<[Bytes]> =
            (0..scan.len() as u64).map(|step| scan[floors::index_at(step, scan.len())].clone()).collect();
        let asked = messages.len() as u64;
        let mut load = ClosedLoop::new(&[started[0].grpc], Rpc::GetFloor, 4, 10, messages);
        let tally = load.run_calls(asked)?;
        Ok((asked, tally.served_by.get("generated").copied().unwrap_or(0)))
    }
}

impl Report {
    fn of(&self, bypass: Bypass, figure: impl Fn(&Round) -> f64) -> Vec<f64> {
        let mut rounds: Vec<&Round> = self.rounds.iter().filter(|it| it.bypass == bypass).collect();
        rounds.sort_by_key(|it| it.round);
        rounds.into_iter().map(figure).collect()
    }

    fn ratio(&self, figure: impl Fn(&Round) -> f64) -> Ratio {
        Ratio::of(self.of(Bypass::Auto, &figure).into_iter().zip(self.of(Bypass::Off, &figure)))
    }

    /// Each target, and whether it is met.
    fn targets(&self) -> Vec<(String, bool)> {
        let mean = |figure: &dyn Fn(&Round) -> f64| mean_and_interval(&self.of(Bypass::Auto, figure));
        let mut targets = Vec::new();
        let mut at_most = |what: &str, (mean, half): (f64, f64), limit: f64| {
            targets.push((format!("{what}: {mean:.3} ± {half:.3}, at most {limit}"), mean - half <= limit));
        };
        let (cold, small) = (self.cold_distinct as f64, self.small_distinct as f64);
        at_most("cold, generations a distinct floor", mean(&|it| it.cold.generations as f64 / cold), MAX_GENERATIONS);
        at_most("small memory, the same", mean(&|it| it.small.generations as f64 / small), MAX_GENERATIONS);
        at_most("joining, share generated", mean(&|it| it.joining as f64 / it.asked as f64), MAX_JOINING);
        for (what, rate, cpu) in [
            ("cold", self.ratio(|it| it.cold.rate), self.ratio(|it| it.cold.server_cpu_us)),
            ("small memory", self.ratio(|it| it.small.rate), self.ratio(|it| it.small.server_cpu_us)),
        ] {
            targets
                .push((format!("{what}, answers/s, auto to off: {rate}, at least {MIN_RATE}"), rate.high >= MIN_RATE));
            targets.push((format!("{what}, CPU, auto to off: {cpu}, at most {MAX_CPU}"), cpu.low <= MAX_CPU));
        }
        targets
    }

    fn passes(&self) -> bool {
        self.targets().iter().all(|(_, is_met)| *is_met)
    }

    fn markdown(&self) -> String {
        let header =
            ["bypass", "part", "generations", "a distinct floor", "answers/s", "p99 us", "CPU us/answer", "Redis"];
        let mut table = report::table(header);
        for bypass in [Bypass::Auto, Bypass::Off] {
            let mean = |figure: &dyn Fn(&Round) -> f64| mean_and_interval(&self.of(bypass, figure)).0;
            type Phase = fn(&Round) -> &Sample;
            let parts: [(&str, Phase, usize); 2] =
                [("cold", |it| &it.cold, self.cold_distinct), ("small memory", |it| &it.small, self.small_distinct)];
            for (name, part, distinct) in parts {
                let generations = mean(&|it| part(it).generations as f64);
                table.add_row([
                    bypass.to_string(),
                    name.to_owned(),
                    format!("{generations:.0}"),
                    format!("{:.3}", generations / distinct as f64),
                    format!("{:.0}", mean(&|it| part(it).rate)),
                    format!("{:.0}", mean(&|it| part(it).p99_us)),
                    format!("{:.1}", mean(&|it| part(it).server_cpu_us)),
                    format!("{:.1}", mean(&|it| part(it).redis_cpu_us)),
                ]);
            }
            let joining = mean(&|it| it.joining as f64);
            let share = mean(&|it| it.joining as f64 / it.asked as f64);
            let none = String::new;
            let (joining, share) = (format!("{joining:.0}"), format!("{share:.3}"));
            table.add_row([bypass.to_string(), "joining".to_owned(), joining, share, none(), none(), none(), none()]);
        }
        let mut text = format!(
            "{}. Three servers, 5,000 floors of 100x100, {} rounds, alternating; means, and ratios with 95 % \
             intervals (Student's t).\n\n{table}\n\n",
            self.origin,
            self.rounds.len() / 2
        );
        for (target, is_met) in self.targets() {
            let _ = writeln!(text, "- {} {target}", if is_met { "met:" } else { "MISSED:" });
        }
        text
    }
}
