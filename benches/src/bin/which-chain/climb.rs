//! What a climbing player waits for, with prefetching and without: `which-chain climb`.
//!
//! Players climb floor by floor at a fixed rate, each in another tower, from empty memory. Together they need a tenth of
//! the generator's throughput, so the figures are latencies.

use anyhow::ensure;
use benches::{
    chains::{Replay, Stores},
    floors::TOWER,
    load,
    open_loop::Pace,
    report::Record,
    sample::{CPU, Column, Figure, P50, P99},
    server::Setup,
    timing::alternate,
};

use crate::Common;

/// Players, and the calls a second that they make together: each climbs a floor in eight milliseconds.
const PLAYERS: u64 = 4;
const CALLS_PER_SECOND: f64 = 500.0;

/// Calls of a run, and runs of each variant, also with `--quick`.
const CALLS: u64 = 2000;
const QUICK_CALLS: u64 = 500;
const RUNS: usize = 10;
const QUICK_RUNS: usize = 2;

/// A variant: its name, whether the server prefetches, and whether the same climb came before.
const VARIANTS: [(&str, bool, bool); 3] =
    [("without prefetching", false, false), ("with prefetching", true, false), ("every floor in memory", false, true)];

const LOAD: &str = "climb";

pub(crate) fn run(common: &Common) -> anyhow::Result<()> {
    const COLUMNS: [Column; 4] = [P50, P99, ("sent late, p99 us", 1, |it| it.late_p99_us), CPU];
    const RATIOS: [(&str, Figure); 2] =
        [("ratio, p50", |it| 1.0 / it.p50_us), ("ratio, CPU", |it| 1.0 / it.server_cpu_us)];
    let (runs, calls) = if common.quick { (QUICK_RUNS, QUICK_CALLS) } else { (RUNS, CALLS) };
    let mut record = Record::start(&common.record, "which-chain", LOAD)?;
    let floors = (0..calls).map(|call| load::floor_request(TOWER + 1 + call % PLAYERS, (call / PLAYERS) as u32 + 1));
    let climb =
        Replay { messages: floors.collect(), pace: Some(Pace::PerSecond(CALLS_PER_SECOND)), is_repeated: false };
    for run in 0..runs {
        for (name, prefetches, is_repeated) in alternate(run, &VARIANTS) {
            let setup = Setup::new().with("GENERATION__PREFETCH", prefetches.to_string());
            let sample = Stores::empty(&["lru"])?.measure(&setup, &Replay { is_repeated, ..climb.clone() })?;
            ensure!(sample.unanswered + sample.refused == 0, "{name}: calls were refused or not answered in time");
            record.add(sample.named(LOAD, name, run))?;
        }
        eprintln!("run {} of {runs} done", run + 1);
    }
    let text = format!(
        "{PLAYERS} players climb together, {CALLS_PER_SECOND} calls a second, {calls} calls a run, {runs} interleaved \
         runs. Figures are medians with the least and the greatest. Ratios of the first variant to each have 95 % \
         intervals, below 1 where the other is better.\n\n{}\n",
        record.samples.table(LOAD, &COLUMNS, &RATIOS)
    );
    record.finish("Climbs", &text)
}
