//! What one client does to the latency of another: `serving fairness`, `serving generating` and `serving writing`.
//!
//! In every second turn the other client calls beside the measured one. Both are open loops in one thread, which has its
//! own processor, so the server has the rest.

use std::fmt::{self, Write as _};

use anyhow::ensure;
use benches::{
    floors::{NUMBER, TOWER},
    load::{self, Rpc, Target, Window},
    open_loop::{OpenLoop, Pace},
    process::CpuPartition,
    report::Record,
    sample::{Column, P50, P99, RATE, Sample, Snapshot},
    server::{Server, Setup},
    timing::Spread,
};

use crate::{
    credentials::{Credentials, QUOTA_FLOORS, TOKENS},
    latency::{CONNECTIONS, LATE},
};

/// The calls of a client.
struct Client {
    /// Calls a second.
    rate: u64,
    /// One in this many calls is for a new floor, the others are for a floor in memory. `None`: no call is.
    new_in: Option<u64>,
}

/// A measured client, and the other one.
pub(crate) struct Trial {
    /// The name of the record.
    pub(crate) name: &'static str,
    title: &'static str,
    /// What the turns are called.
    alone: &'static str,
    beside: &'static str,
    measured: Client,
    other: Client,
    /// Whether each client has a token with a quota, and the other one is over it.
    has_quotas: bool,
    /// Settings of the server.
    settings: &'static [(&'static str, &'static str)],
    most: Most,
}

/// The target: the greatest p99 beside the other client.
#[derive(Clone, Copy)]
enum Most {
    /// Relative to that alone.
    Ratio(f64),
    /// More than that alone, in microseconds.
    AddedMicros(f64),
}

/// Memory as the only tier.
const MEMORY: &[(&str, &str)] = &[("CACHE__CHAIN", r#"["lru"]"#)];

/// The other client asks for ten times its quota. Of the measured client's calls, the new floors are a quarter of its
/// quota.
pub(crate) const FAIRNESS: Trial = Trial {
    name: "fairness",
    title: "Fairness",
    alone: "alone",
    beside: "beside a client at ten times its quota",
    measured: Client { rate: 1000, new_in: Some(4) },
    other: Client { rate: 10 * QUOTA_FLOORS, new_in: Some(1) },
    has_quotas: true,
    settings: MEMORY,
    most: Most::Ratio(1.2),
};

/// A fifth of all calls are for new floors.
pub(crate) const GENERATING: Trial = Trial {
    name: "generating",
    title: "Hits beside generation",
    alone: "alone",
    beside: "beside a client of new floors",
    measured: Client { rate: 5000, new_in: None },
    other: Client { rate: 1250, new_in: Some(1) },
    has_quotas: false,
    settings: MEMORY,
    most: Most::Ratio(2.0),
};

/// As [`GENERATING`], and each new floor is written: the writes of every 5 ms are a commit of LMDB. Memory is small, so
/// that floors are evicted.
pub(crate) const WRITING: Trial = Trial {
    name: "writing",
    title: "Hits beside writes",
    beside: "beside new floors, commits and evictions",
    settings: &[("CACHE__CHAIN", r#"["lru", "lmdb"]"#), ("CACHE__LRU__CAPACITY", "4MiB")],
    most: Most::AddedMicros(1000.0),
    ..GENERATING
};

/// The loads of the measured client and of the other one.
const MEASURED: &str = "the measured client";
const OTHER: &str = "the other client";

impl Trial {
    /// Measures on a server of its own.
    pub(crate) fn run(&self, window: Window, rounds: usize, record: &mut Record) -> anyhow::Result<()> {
        let setup = Setup::new().with_all(self.settings);
        let credentials = self.has_quotas.then(Credentials::new).transpose()?;
        let server = match &credentials {
            Some(credentials) => credentials.with_tokens(setup).start()?,
            None => setup.start()?,
        };
        let _partition = CpuPartition::isolate(server.pid())?;
        let mut next_tower = TOWER + 1;
        for round in 0..rounds {
            for turn in 0..2 {
                let mut load = |client| self.load(client, &server, window, &mut next_tower);
                let mut loads = vec![load(&self.measured)];
                let is_beside = turn == 1 - round % 2;
                if is_beside {
                    loads.push(OpenLoop { may_be_refused: self.has_quotas, ..load(&self.other) });
                }
                if self.has_quotas {
                    for (load, token) in loads.iter_mut().zip(TOKENS) {
                        load.target.token = Some(token.to_owned());
                    }
                }
                let tallies = OpenLoop::run_together(&loads)?;
                if let Some(greedy) = tallies.get(1).filter(|_| self.has_quotas) {
                    let refused = greedy.refused as f64 / (greedy.refused + greedy.latency.len()).max(1) as f64;
                    ensure!(refused > 0.5, "only {:.0} % of its calls were refused: quotas are off", refused * 100.0);
                }
                let who = if is_beside { self.beside } else { self.alone };
                for (load, tally) in [MEASURED, OTHER].into_iter().zip(&tallies) {
                    let sample = Sample::of(tally, &Snapshot::default(), &Snapshot::default());
                    record.add(sample.named(load, who, round))?;
                }
            }
            eprintln!("round {} of {rounds} done", round + 1);
        }
        record.finish(self.title, &self.markdown(record))
    }

    fn load(&self, client: &Client, server: &Server, window: Window, next_tower: &mut u64) -> OpenLoop {
        let calls = (window.settle + window.measured).as_secs() * client.rate + client.rate;
        let messages = (0..calls).map(|call| {
            let is_new = client.new_in.is_some_and(|new_in| call % new_in == 0);
            // A tower for each new floor: several floors of one tower would be a climb, and be prefetched.
            *next_tower += u64::from(is_new);
            load::floor_request(if is_new { *next_tower } else { TOWER }, NUMBER)
        });
        OpenLoop {
            target: Target::from(server.grpc),
            rpc: Rpc::GetFloor,
            messages: messages.collect(),
            answer_bytes: None,
            may_be_refused: false,
            connections: CONNECTIONS,
            pace: Pace::PerSecond(client.rate as f64),
            settle: window.settle,
            measured: window.measured,
        }
    }

    fn markdown(&self, record: &Record) -> String {
        let mut text = format!("{MEASURED}: {}; {OTHER}: {}", self.measured, self.other);
        if self.has_quotas {
            let _ = write!(text, "; each has a quota of {QUOTA_FLOORS} new floors a second");
        }
        text += ". Medians, with the least and the greatest.\n";
        let refused: Column = ("refused", 0, |it| it.refused as f64);
        for load in record.samples.loads() {
            let table = record.samples.table(load, &[RATE, P50, P99, LATE, refused], &[]);
            let _ = write!(text, "\n### {load}\n\n{table}\n");
        }
        for (name, _, figure) in [P50, P99] {
            let of = |who| record.samples.figures(MEASURED, who, figure);
            let pairs: Vec<(f64, f64)> = of(self.beside).into_iter().zip(of(self.alone)).collect();
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

impl fmt::Display for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} calls a second, ", self.rate)?;
        match self.new_in {
            None => f.write_str("all for a floor in memory"),
            Some(1) => f.write_str("all for new floors"),
            Some(new_in) => write!(f, "one in {new_in} for a new floor"),
        }
    }
}
