//! What a client of new floors does to the latency of another client: `serving generating` and `serving writing`.
//!
//! In every second turn the other client calls beside the measured one. Both are open loops in one thread, which has its
//! own processor, so the server has the rest.

use std::{fmt::Write as _, iter};

use benches::{
    floors::{NUMBER, TOWER},
    load::{self, Rpc, Window},
    open_loop::{OpenLoop, Pace},
    process::CpuPartition,
    progress::Progress,
    report::Report,
    sample::{LATE, P50, P99, RATE, Sample, Snapshot},
    server::{Server, Setup},
    timing::Spread,
};

use crate::{Rounds, fleet::CONNECTIONS};

/// Calls a second of the measured client, all for a floor in memory, and of the other one, all for new floors: a fifth
/// of all calls.
const MEASURED_RATE: u64 = 5000;
const OTHER_RATE: u64 = 1250;

/// The loads, and the turns.
const MEASURED: &str = "the measured client";
const OTHER: &str = "the other client";
const ALONE: &str = "alone";
const BESIDE: &str = "beside a client of new floors";

/// A server for two clients.
pub(crate) struct Trial {
    title: &'static str,
    /// Settings of the server.
    settings: &'static [(&'static str, &'static str)],
    /// The target: the greatest p99 beside the other client, relative to that alone, or as microseconds more.
    most: Most,
}

enum Most {
    Ratio(f64),
    AddedMicros(f64),
}

/// Memory as the only tier.
pub(crate) const GENERATING: Trial =
    Trial { title: "Hits beside generation", settings: &[("CACHE__CHAIN", r#"["lru"]"#)], most: Most::Ratio(2.0) };

/// Each new floor is also written: the writes of every 5 ms are a commit of LMDB. Memory is small, so that floors are
/// evicted.
pub(crate) const WRITING: Trial = Trial {
    title: "Hits beside writes",
    settings: &[("CACHE__CHAIN", r#"["lru", "lmdb"]"#), ("CACHE__LRU__CAPACITY", "4MiB")],
    most: Most::AddedMicros(1000.0),
};

impl Trial {
    /// Measures on a server of its own.
    pub(crate) fn run(&self, rounds: &Rounds) -> anyhow::Result<()> {
        let window = Window { settle: rounds.window(0)?.settle, ..rounds.window(1)? };
        // Before the partition: the report says how many cores this process may use.
        let (mut report, mut towers) = (Report::start("serving"), TOWER + 1..);
        let server = Setup::new().with_all(self.settings).start()?;
        let _partition = CpuPartition::isolate(server.pid())?;
        let progress = Progress::start(window.total() * 2 * rounds.count() as u32);
        for round in 0..rounds.count() {
            for turn in 0..2 {
                let mut loads = vec![load(&server, window, MEASURED_RATE, iter::repeat(TOWER))];
                let is_beside = turn == 1 - round % 2;
                if is_beside {
                    // A tower for each new floor: several floors of one tower would be a climb, and be prefetched.
                    loads.push(load(&server, window, OTHER_RATE, towers.by_ref()));
                }
                let who = if is_beside { BESIDE } else { ALONE };
                progress.show(format!("round {} of {}, {who}", round + 1, rounds.count()));
                for (load, tally) in [MEASURED, OTHER].into_iter().zip(&OpenLoop::run_together(&loads)?) {
                    let sample = Sample::of(tally, &Snapshot::default(), &Snapshot::default());
                    report.add(sample.named(load, who, round));
                }
                progress.advance(window.total());
            }
        }
        drop(progress);
        report.finish(self.title, &self.markdown(&report));
        Ok(())
    }

    fn markdown(&self, report: &Report) -> String {
        let mut text = format!(
            "{MEASURED}: {MEASURED_RATE} calls a second for a floor in memory; {OTHER}: {OTHER_RATE} for new floors. \
             Medians, with the least and the greatest.\n"
        );
        for load in report.samples.loads() {
            let _ = write!(text, "\n### {load}\n\n{}\n", report.samples.table(load, &[RATE, P50, P99, LATE], &[]));
        }
        for (name, _, figure) in [P50, P99] {
            let of = |who| report.samples.figures(MEASURED, who, figure);
            let pairs: Vec<(f64, f64)> = of(BESIDE).into_iter().zip(of(ALONE)).collect();
            let ratios = Spread::of(pairs.iter().map(|(beside, alone)| beside / alone));
            let added = Spread::of(pairs.iter().map(|(beside, alone)| beside - alone));
            let _ = write!(text, "\n- {name}, beside to alone: {ratios:.2}; added: {added:.0}");
            if name == P99.0 {
                let (is_met, most) = match self.most {
                    Most::Ratio(most) => (ratios.median <= most, format!("{most} times")),
                    Most::AddedMicros(most) => (added.median <= most, format!("{most} us more")),
                };
                let _ = write!(text, "; at most {most}: {}", if is_met { "met" } else { "MISSED" });
            }
        }
        text + "\n"
    }
}

/// `rate` calls a second, each for the same floor of the next of `towers`.
fn load(server: &Server, window: Window, rate: u64, towers: impl Iterator<Item = u64>) -> OpenLoop {
    let calls = (window.settle + window.measured).as_secs() * rate + rate;
    OpenLoop {
        target: server.grpc.into(),
        rpc: Rpc::GetFloor,
        messages: towers.take(calls as usize).map(|tower| load::floor_request(tower, NUMBER)).collect(),
        answer_bytes: None,
        may_be_refused: false,
        connections: CONNECTIONS,
        pace: Pace::PerSecond(rate as f64),
        settle: window.settle,
        measured: window.measured,
    }
}
