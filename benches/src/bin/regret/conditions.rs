//! Measures bad conditions: `regret conditions`. They are a Redis whose speed changes, a busy machine, a server that
//! generates on one thread, and a Redis that sometimes stalls.

use std::{
    fmt::Write as _,
    process::Command,
    time::{Duration, Instant},
};

use anyhow::{Context, ensure};
use benches::{
    load::{Shape, Window},
    process::KillOnDrop,
    redis_server::RedisServer,
    regret::{Cell, Fleet, Plan, StoreKind, VariantSpec, Verdict, every_bypass, measure},
    report::Record,
    sample::{CPU, Column, GENERATED, P50, P99, RATE, Samples},
    server::Setup,
};
use clap::Args;
use floor_cache::{Bypass, TierKind};

#[derive(Debug, Clone, Args)]
pub(crate) struct ConditionsArgs {
    /// Only conditions whose name contains this (alternating, one thread, busy, stalls)
    #[arg(long, value_name = "FILTER")]
    only: Option<String>,
    /// Number of rounds of ten seconds for each variant; with the alternating Redis each has one round of a minute
    #[arg(long, default_value_t = 3)]
    rounds: usize,
}

/// The alternating Redis: its two delays, the duration of each phase, and the phases of a variant, a minute in all.
const DELAYS: [(&str, Duration); 2] = [("fast phases", Duration::ZERO), ("slow phases", Duration::from_millis(6))];
const PHASE: Duration = Duration::from_secs(2);
const PHASES: usize = 30;

/// The least ratio of `auto` to the better fixed choice, with the alternating Redis and with busy processes.
const ALTERNATING: f64 = 0.9;
const BUSY: f64 = 0.95;

/// Processes that each keep a processor busy.
const BUSY_PROCESSES: usize = 2;

/// The stalls: their share of deliveries and their duration.
const STALLS: f64 = 0.01;
const STALL: Duration = Duration::from_millis(20);

/// After this time a busy process ends by itself.
const MAX_BUSY_TIME: Duration = Duration::from_secs(1800);

/// Measures a condition. Returns its report in Markdown, and whether it passes.
type Measure = fn(&mut Runner) -> anyhow::Result<(String, bool)>;

struct Runner {
    setup: Setup,
    plan: Plan,
    record: Record,
    /// The name of the condition.
    condition: &'static str,
}

const CONDITIONS: [(&str, Measure); 8] = [
    ("alternating Redis", Runner::alternating),
    ("one thread, Redis", |runner| runner.one_thread(Cell::PLAIN)),
    ("one thread, Redis 6 ms", |runner| runner.one_thread(SLOW)),
    ("busy processes, Redis", |runner| runner.busy(Cell::PLAIN)),
    ("busy processes, Redis 6 ms", |runner| runner.busy(SLOW)),
    ("busy processes, LMDB", |runner| runner.busy(Cell { store: StoreKind::of(TierKind::Lmdb), ..Cell::PLAIN })),
    ("stalls, one call", |runner| runner.stalls(Shape::new(1, 1))),
    ("stalls, forty calls", |runner| runner.stalls(Shape::new(4, 10))),
];

const SLOW: Cell = Cell { store: StoreKind::redis(6000), ..Cell::PLAIN };

/// The columns of every condition.
const FIGURES: [Column; 5] = [RATE, P50, P99, CPU, GENERATED];

pub(crate) fn run(args: &ConditionsArgs, common: &crate::Common) -> anyhow::Result<bool> {
    ensure!(Setup::is_available() && RedisServer::is_available(), "this needs the server and redis-server");
    let plan = Plan { turns: 4 * args.rounds, turn: Duration::from_millis(2500), warmup: Duration::from_secs(5) };
    let mut runner = Runner {
        setup: common.setup()?,
        plan: if common.quick { crate::QUICK } else { plan },
        record: Record::start(&common.record, "regret", "regret-conditions")?,
        condition: "",
    };
    let (mut text, mut all_pass) = (String::new(), true);
    let filter = args.only.as_deref().unwrap_or_default();
    for (name, measure) in CONDITIONS.into_iter().filter(|(name, _)| name.contains(filter)) {
        eprintln!("{name}");
        runner.condition = name;
        let (found, passes) = measure(&mut runner).context(name)?;
        let _ = write!(text, "\n### {name}\n\n{found}\n{}\n", if passes { "Passes." } else { "FAILS." });
        all_pass &= passes;
    }
    ensure!(!text.is_empty(), "no condition's name contains {filter:?}");
    runner.record.finish("Bad conditions", &text)?;
    Ok(all_pass)
}

impl Runner {
    /// Redis alternates between two seconds fast and two slow. The target is for the minute and for each speed.
    fn alternating(&mut self) -> anyhow::Result<(String, bool)> {
        let mut fleet = Fleet::start(Cell::PLAIN, &self.setup, &every_bypass(), true)?;
        let proxy = fleet.proxy().context("a fleet that is asked for a proxy has one")?;
        fleet.warm_up(self.plan.warmup)?;
        let window = Window { settle: Duration::ZERO, measured: PHASE };
        for variant in 0..Bypass::ALL.len() {
            for phase in 0..PHASES {
                let (name, delay) = DELAYS[phase % DELAYS.len()];
                proxy.set_delay(delay);
                let sample = fleet.turn(variant, window, phase)?;
                let who = sample.who.clone();
                self.record.add(sample.clone().named(name, &who, phase))?;
                self.record.add(sample.named("the minute", who, phase))?;
            }
            proxy.set_delay(Duration::ZERO);
        }
        let mut text = format!(
            "{}, Redis alternates between fast and slow ({:?} more a reply, {PHASE:?} each), answers a second. Target: \
             {ALTERNATING} of the better fixed choice in each part.\n",
            Cell::PLAIN,
            DELAYS[1].1
        );
        let (samples, mut passes) = (&self.record.samples, true);
        for part in ["the minute", DELAYS[0].0, DELAYS[1].0] {
            let rate = |bypass: Bypass| samples.mean(part, bypass.name(), RATE.2);
            let ratio = rate(Bypass::Auto) / rate(Bypass::Off).max(rate(Bypass::Forced));
            passes &= ratio >= ALTERNATING;
            let table = samples.table(part, &FIGURES, &[]);
            let _ = write!(text, "\n{part}, auto / better {ratio:.3}\n\n{table}\n");
        }
        Ok((text, passes))
    }

    fn one_thread(&mut self, cell: Cell) -> anyhow::Result<(String, bool)> {
        let setup = self.setup.clone().with("GENERATION__THREADS", "1");
        self.compare(cell, &setup, Verdict::TARGET)
    }

    fn busy(&mut self, cell: Cell) -> anyhow::Result<(String, bool)> {
        let _busy = (0..BUSY_PROCESSES).map(|_| start_busy()).collect::<anyhow::Result<Vec<_>>>()?;
        let setup = self.setup.clone();
        self.compare(cell, &setup, BUSY)
    }

    /// Compares the variants as the grid does.
    fn compare(&mut self, cell: Cell, setup: &Setup, target: f64) -> anyhow::Result<(String, bool)> {
        let (mut samples, record, condition) = (Samples::default(), &mut self.record, self.condition);
        measure(cell, setup, &self.plan, |sample| {
            samples.push(sample.clone());
            let (who, round) = (sample.who.clone(), sample.round);
            record.add(sample.named(condition, who, round))
        })?;
        let verdict = Verdict::of(cell, &samples);
        let text = format!(
            "{cell}. auto to {}: {}, CPU {}. Target: the interval reaches {target}.\n\n{}\n",
            verdict.best,
            verdict.primary,
            verdict.cpu,
            samples.table(&cell.to_string(), &FIGURES, &[])
        );
        Ok((text, verdict.primary.high >= target))
    }

    /// Some replies of Redis stall. Compares bypass auto with off, without a target.
    fn stalls(&mut self, shape: Shape) -> anyhow::Result<(String, bool)> {
        let variants: Vec<VariantSpec> = [Bypass::Off, Bypass::Auto]
            .map(|bypass| (bypass.to_string(), vec![("CACHE__BYPASS", bypass.name())]))
            .to_vec();
        let cell = Cell { shape, ..Cell::PLAIN };
        let mut fleet = Fleet::start(cell, &self.setup, &variants, true)?;
        let proxy = fleet.proxy().context("a fleet that is asked for a proxy has one")?;
        proxy.set_stalls(STALLS, STALL);
        fleet.run(&self.plan, |sample| self.record.add(sample))?;
        let (samples, load) = (&self.record.samples, cell.to_string());
        let mut text = format!(
            "{cell}, {} % of the deliveries of Redis wait {STALL:?}, and what follows on the connection behind them.\n\n\
             {}\n\n",
            STALLS * 100.0,
            samples.table(&load, &FIGURES, &[])
        );
        let ratio = |column: Column| samples.ratio(&load, Bypass::Auto.name(), Bypass::Off.name(), column.2);
        let _ = writeln!(text, "- auto to off: answers/s {}, p99 {}, CPU {}", ratio(RATE), ratio(P99), ratio(CPU));
        Ok((text, true))
    }
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
