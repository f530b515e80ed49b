//! What a client that asks for ten times its quota does to another client: `serving --fairness`.
//!
//! Each has a token of its own. The measured client stays within its quota: most of its calls are for a floor in memory,
//! the others for new floors. In every second turn the other client calls beside it. Both are open loops in one thread,
//! which has its own processor.

use std::fmt::Write as _;

use anyhow::ensure;
use benches::{
    floors::{NUMBER, TOWER},
    load::{self, Rpc, Target, Window},
    open_loop::{OpenLoop, Pace},
    process::CpuPartition,
    report::Record,
    sample::{Column, P50, P99, RATE, Sample, Snapshot},
    server::Setup,
    timing::median,
};

use crate::{
    credentials::{Credentials, QUOTA_FLOORS, TOKENS},
    latency::LATE,
};

/// Calls a second of the measured client, and of the other one, all for new floors.
const CALM_RATE: u64 = 1000;
const GREEDY_RATE: u64 = 10 * QUOTA_FLOORS;

/// One in this many calls of the measured client is for a new floor. That is a quarter of its quota.
const NEW_IN: u64 = 4;

/// The greatest p99 beside the other client, relative to that alone.
const TARGET: f64 = 1.2;

const CONNECTIONS: usize = 8;

/// The two kinds of turn.
const LOAD: &str = "a client within its quota";
const ALONE: &str = "alone";
const BESIDE: &str = "beside a client at ten times its quota";

pub(crate) fn run(window: Window, rounds: usize, record: &mut Record) -> anyhow::Result<()> {
    let credentials = Credentials::new()?;
    let setup = Setup::new().with("CACHE__CHAIN", r#"["lru"]"#);
    let server = credentials.with_tokens(setup).start()?;
    let _partition = CpuPartition::isolate(server.pid())?;
    let mut next_tower = TOWER + 1;
    let mut client = |number: usize, rate: u64, new_in: u64| {
        let calls = (window.settle + window.measured).as_secs() * rate + rate;
        let messages = (0..calls).map(|call| {
            // A tower for each new floor: several floors of one tower would be a climb, and be prefetched.
            next_tower += u64::from(call % new_in == 0);
            load::floor_request(if call % new_in == 0 { next_tower } else { TOWER }, NUMBER)
        });
        OpenLoop {
            target: Target { token: Some(TOKENS[number].to_owned()), ..server.grpc.into() },
            rpc: Rpc::GetFloor,
            messages: messages.collect(),
            answer_bytes: None,
            may_be_refused: number == 1,
            connections: CONNECTIONS,
            pace: Pace::PerSecond(rate as f64),
            settle: window.settle,
            measured: window.measured,
        }
    };
    for round in 0..rounds {
        for turn in 0..2 {
            let is_beside = turn == 1 - round % 2;
            let mut loads = vec![client(0, CALM_RATE, NEW_IN)];
            if is_beside {
                loads.push(client(1, GREEDY_RATE, 1));
            }
            let tallies = OpenLoop::run_together(&loads)?;
            if let Some(greedy) = tallies.get(1) {
                let refused = greedy.refused as f64 / (greedy.refused + greedy.latency.len()).max(1) as f64;
                ensure!(refused > 0.5, "only {:.0} % of its calls were refused: quotas are off", refused * 100.0);
            }
            for (who, tally) in [if is_beside { BESIDE } else { ALONE }, "the other client"].iter().zip(&tallies) {
                let load = if *who == ALONE || *who == BESIDE { LOAD } else { "at ten times its quota" };
                record.add(Sample::of(tally, &Snapshot::default(), &Snapshot::default()).named(load, who, round))?;
            }
        }
        eprintln!("round {} of {rounds} done", round + 1);
    }
    record.finish("Fairness", &markdown(record))
}

fn markdown(record: &Record) -> String {
    let mut text = format!(
        "{CALM_RATE} calls a second, one in {NEW_IN} for a new floor; the other client makes {GREEDY_RATE} for new floors, \
         with a quota of {QUOTA_FLOORS} floors a second each. Medians, with the least and the greatest.\n"
    );
    let refused: Column = ("refused", 0, |it| it.refused as f64);
    for load in record.samples.loads() {
        let table = record.samples.table(load, &[RATE, P50, P99, LATE, refused], &[]);
        let _ = write!(text, "\n### {load}\n\n{table}\n");
    }
    for (name, _, figure) in [P50, P99] {
        let of = |who| record.samples.figures(LOAD, who, figure);
        let mut ratios: Vec<f64> = of(BESIDE).iter().zip(of(ALONE)).map(|(beside, alone)| beside / alone).collect();
        let middle = median(&mut ratios);
        let (least, greatest) = (ratios[0], ratios[ratios.len() - 1]);
        let _ =
            write!(text, "\n- {name}, beside to alone: median {middle:.2}, least {least:.2}, greatest {greatest:.2}");
        if name == P99.0 {
            let verdict = if middle <= TARGET { "met" } else { "MISSED" };
            let _ = write!(text, "; at most {TARGET}: {verdict}");
        }
    }
    text + "\n"
}
