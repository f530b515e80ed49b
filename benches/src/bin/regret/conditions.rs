//! Measures bad conditions: `regret conditions`. They are a Redis whose speed changes, a busy machine, a server that
//! generates on one thread, and a Redis that sometimes stalls, with and without hedging.

use std::{
    fmt::Write as _,
    process::Command,
    sync::mpsc::{self, RecvTimeoutError},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, ensure};
use benches::{
    delay_proxy::DelayProxy,
    load::Window,
    process::KillOnDrop,
    redis_server::RedisServer,
    regret::{Cell, EVERY_BYPASS, Fleet, Plan, Ratio, Sample, Shape, StoreKind, VariantSpec, Verdict},
    report::{self, Origin},
    server::Setup,
    timing::mean_and_interval,
};
use clap::Args;
use comfy_table::Table;
use floor_cache::Bypass;
use serde::Serialize;

#[derive(Debug, Clone, Args)]
pub(crate) struct ConditionsArgs {
    /// Only conditions whose name contains this (alternating, one thread, busy, stalls)
    #[arg(long, value_name = "FILTER")]
    only: Option<String>,
    /// Number of rounds of ten seconds for each variant; with the alternating Redis each has one round of a minute
    #[arg(long, default_value_t = 3)]
    rounds: usize,
}

/// The alternating Redis: its two delays, the duration of each, and the measured time of a variant.
const FAST: Duration = Duration::ZERO;
const SLOW: Duration = Duration::from_millis(6);
const PHASE: Duration = Duration::from_secs(2);
const MINUTE: Duration = Duration::from_secs(60);

/// Slices of a phase.
const SLICE: Duration = Duration::from_millis(250);

/// The least ratio of `auto` to the better fixed choice, with the alternating Redis and with busy processes.
const ALTERNATING: f64 = 0.9;
const BUSY: f64 = 0.95;

/// Processes that each keep a processor busy.
const BUSY_PROCESSES: usize = 2;

/// The stalls: their share of deliveries and their duration.
const STALLS: f64 = 0.01;
const STALL: Duration = Duration::from_millis(20);

/// The variants that are compared while Redis stalls.
const HEDGING: [VariantSpec; 4] = [
    (Bypass::Off, &[("CACHE__HEDGE", "true")]),
    (Bypass::Off, &[("CACHE__HEDGE", "false")]),
    (Bypass::Auto, &[("CACHE__HEDGE", "true")]),
    (Bypass::Auto, &[("CACHE__HEDGE", "false")]),
];

/// After this time a busy process ends by itself.
const MAX_BUSY_TIME: Duration = Duration::from_secs(1800);

#[derive(Debug, Serialize)]
struct Outcome {
    name: String,
    /// The report in Markdown.
    text: String,
    passes: bool,
    samples: Vec<Sample>,
}

#[derive(Debug, Serialize)]
struct Report {
    #[serde(flatten)]
    origin: Origin,
    outcomes: Vec<Outcome>,
}

type Measure = fn(&Runner) -> anyhow::Result<Outcome>;

struct Runner {
    setup: Setup,
    plan: Plan,
}

const CONDITIONS: [(&str, Measure); 8] = [
    ("alternating Redis", Runner::alternating),
    ("one thread, Redis", |runner| runner.one_thread(Cell::PLAIN)),
    ("one thread, Redis 6 ms", |runner| runner.one_thread(slow(Shape::new(4, 10)))),
    ("busy processes, Redis", |runner| runner.busy(Cell::PLAIN)),
    ("busy processes, Redis 6 ms", |runner| runner.busy(slow(Shape::new(4, 10)))),
    ("busy processes, LMDB", |runner| runner.busy(Cell { store: StoreKind::Lmdb, ..Cell::PLAIN })),
    ("stalls, one call", |runner| runner.stalls(Shape::new(1, 1))),
    ("stalls, forty calls", |runner| runner.stalls(Shape::new(4, 10))),
];

const fn slow(shape: Shape) -> Cell {
    Cell { store: StoreKind::Redis { delay_us: 6000 }, shape, ..Cell::PLAIN }
}

pub(crate) fn run(args: &ConditionsArgs, common: &crate::Common) -> anyhow::Result<bool> {
    ensure!(Setup::is_available() && RedisServer::is_available(), "this needs the server and redis-server");
    let runner = Runner {
        setup: common.setup()?,
        plan: Plan { rounds: args.rounds, turns: 4, turn: Duration::from_millis(2500), warmup: Duration::from_secs(5) },
    };
    let mut report = Report { origin: Origin::of("regret"), outcomes: Vec::new() };
    let filter = args.only.as_deref().unwrap_or_default();
    for (name, measure) in CONDITIONS.iter().filter(|(name, _)| name.contains(filter)) {
        eprintln!("{name}");
        let mut outcome = measure(&runner).with_context(|| (*name).to_owned())?;
        outcome.name = (*name).to_owned();
        report.outcomes.push(outcome);
    }
    ensure!(!report.outcomes.is_empty(), "no condition's name contains {filter:?}");
    common.record.report(&report.origin, "regret-conditions", "Bad conditions", &report.markdown(), &report)?;
    Ok(report.outcomes.iter().all(|outcome| outcome.passes))
}

impl Report {
    fn markdown(&self) -> String {
        let mut text = format!("{}.\n", self.origin);
        for Outcome { name, text: found, passes, .. } in &self.outcomes {
            let _ = write!(text, "\n### {name}\n\n{found}\n{}\n", if *passes { "Passes." } else { "FAILS." });
        }
        text
    }
}

impl Runner {
    /// Redis alternates between two seconds fast and two slow. The target is for the minute and for each speed.
    fn alternating(&self) -> anyhow::Result<Outcome> {
        let mut fleet = Fleet::start(Cell::PLAIN, &self.setup, &EVERY_BYPASS, true)?;
        let proxy = fleet.proxy().context("a fleet that is asked for a proxy has one")?;
        fleet.warm_up(self.plan.warmup)?;
        let window = Window { settle: Duration::ZERO, measured: MINUTE, slice: SLICE };
        let mut samples = Vec::new();
        for variant in 0..Bypass::ALL.len() {
            samples.push(alternate(&proxy, || fleet.turn(variant, window))?);
        }
        let in_phase = (PHASE.as_millis() / SLICE.as_millis()) as usize;
        // Answers a second of each phase, by variant; the even phases are fast.
        let rate = |phase: &[u64]| phase.iter().sum::<u64>() as f64 / PHASE.as_secs_f64();
        let phases: Vec<Vec<f64>> =
            samples.iter().map(|sample| sample.slices.chunks(in_phase).map(rate).collect()).collect();
        let mut table = report::table(["part", "auto", "off", "forced", "auto / better", "worst phase / better"]);
        let mut passes = true;
        for (name, first, step) in [("the minute", 0, 1), ("fast phases", 0, 2), ("slow phases", 1, 2)] {
            let of = |variant: usize| phases[variant].iter().skip(first).step_by(step).copied().collect::<Vec<_>>();
            let rates = [0, 1, 2].map(|variant| mean_and_interval(&of(variant)).0);
            let better = rates[1].max(rates[2]);
            let worst = of(0).into_iter().fold(f64::INFINITY, f64::min);
            passes &= rates[0] / better >= ALTERNATING;
            table.add_row([
                name.to_owned(),
                format!("{:.0}", rates[0]),
                format!("{:.0}", rates[1]),
                format!("{:.0}", rates[2]),
                format!("{:.3}", rates[0] / better),
                if name == "the minute" { "-".to_owned() } else { format!("{:.3}", worst / better) },
            ]);
        }
        let text = format!(
            "{}, Redis alternates between fast and slow ({FAST:?} and {SLOW:?} more a reply, {PHASE:?} each), answers a second. \
             Target: {ALTERNATING} of the better fixed choice in each row.\n\n{table}\n",
            Cell::PLAIN
        );
        Ok(Outcome { name: String::new(), text, passes, samples })
    }

    fn one_thread(&self, cell: Cell) -> anyhow::Result<Outcome> {
        self.compare(cell, &self.setup.clone().with("GENERATION__THREADS", "1"), Verdict::TARGET)
    }

    fn busy(&self, cell: Cell) -> anyhow::Result<Outcome> {
        let _busy = (0..BUSY_PROCESSES).map(|_| start_busy()).collect::<anyhow::Result<Vec<_>>>()?;
        self.compare(cell, &self.setup, BUSY)
    }

    /// Compares the variants as the grid does.
    fn compare(&self, cell: Cell, setup: &Setup, target: f64) -> anyhow::Result<Outcome> {
        let samples = self.plan.run(cell, setup)?;
        let verdict = Verdict::of(cell, &samples);
        let mut table = variants_table("bypass");
        for bypass in Bypass::ALL {
            let own: Vec<&Sample> = samples.iter().filter(|it| it.bypass == bypass).collect();
            table.add_row(row(bypass.name(), &own));
        }
        let text = format!(
            "{cell}. auto to {}: {}, CPU {}. Target: the interval reaches {target}.\n\n{table}\n",
            verdict.best, verdict.primary, verdict.cpu
        );
        Ok(Outcome { name: String::new(), text, passes: verdict.primary.high >= target, samples })
    }

    /// Some replies of Redis stall. Compares hedging on and off, for bypass off and auto, without a target.
    fn stalls(&self, shape: Shape) -> anyhow::Result<Outcome> {
        let cell = Cell { shape, ..Cell::PLAIN };
        let mut fleet = Fleet::start(cell, &self.setup, &HEDGING, true)?;
        let proxy = fleet.proxy().context("a fleet that is asked for a proxy has one")?;
        proxy.set_stalls(STALLS, STALL);
        let blocks = self.plan.turns(&mut fleet)?;
        let mut table = variants_table("variant");
        let mut text = format!(
            "{cell}, {} % of the deliveries of Redis wait {STALL:?}, and what follows on the connection behind them.\n\n",
            STALLS * 100.0
        );
        for (number, (bypass, settings)) in HEDGING.iter().enumerate() {
            let own: Vec<&Sample> = blocks.iter().map(|block| &block[number]).collect();
            table.add_row(row(&format!("{bypass}, hedge = {}", settings[0].1), &own));
        }
        let _ = writeln!(text, "{table}\n");
        for (with, without) in [(0, 1), (2, 3)] {
            let ratio = |figure: fn(&Sample) -> f64| {
                Ratio::of(blocks.iter().map(|block| (figure(&block[with]), figure(&block[without]))))
            };
            let _ = writeln!(
                text,
                "- bypass = {}, with hedging to without: answers/s {}, p99 {}, CPU {}",
                HEDGING[with].0,
                ratio(|it| it.rate),
                ratio(|it| it.p99_us),
                ratio(|it| it.server_cpu_us)
            );
        }
        let samples = blocks.into_iter().flatten().collect();
        Ok(Outcome { name: String::new(), text, passes: true, samples })
    }
}

/// Runs `work` while another thread changes the speed of Redis, which starts fast.
fn alternate<T>(proxy: &DelayProxy, work: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<T> {
    proxy.set_delay(FAST);
    thread::scope(|scope| {
        let (done, ended) = mpsc::channel::<()>();
        let started = Instant::now();
        scope.spawn(move || {
            for phase in 1.. {
                let until = (started + PHASE * phase).saturating_duration_since(Instant::now());
                if ended.recv_timeout(until) != Err(RecvTimeoutError::Timeout) {
                    break;
                }
                proxy.set_delay(if phase % 2 == 1 { SLOW } else { FAST });
            }
            proxy.set_delay(FAST);
        });
        let result = work();
        drop(done);
        result
    })
}

fn variants_table(first: &str) -> Table {
    report::table([first, "answers/s", "p50 us", "p99 us", "CPU us/answer", "generated/answer"])
}

fn row(name: &str, samples: &[&Sample]) -> [String; 6] {
    let summary = Sample::of_all(samples);
    [
        name.to_owned(),
        format!("{:.0}", summary.rate),
        format!("{:.0}", summary.p50_us),
        format!("{:.0}", summary.p99_us),
        format!("{:.1}", summary.server_cpu_us),
        format!("{:.3}", summary.generations_per_answer()),
    ]
}

/// Starts a process that keeps a processor busy.
fn start_busy() -> anyhow::Result<KillOnDrop> {
    let child = Command::new(std::env::current_exe()?).arg("busy").spawn();
    Ok(KillOnDrop(child.context("a busy process does not start")?))
}

/// The main function of a busy process. Returns when the parent has ended, or after half an hour.
pub(crate) fn keep_processor_busy() {
    let (parent, started) = (rustix::process::getppid(), Instant::now());
    let mut state = 1_u64;
    while rustix::process::getppid() == parent && started.elapsed() < MAX_BUSY_TIME {
        for _ in 0..10_000_000 {
            state = std::hint::black_box(state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
        }
    }
}
