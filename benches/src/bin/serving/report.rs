//! The tables of `serving`: medians over rounds, and ratios within a round.

use std::fmt::Write as _;

use benches::{
    regret::Ratio,
    report::{self, Origin},
    timing::median,
};
use comfy_table::Table;
use serde::Serialize;

use crate::{Rpc, fleet::Fleet, latency::LatencySample};

/// The figures of one server under one load in one round.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Round {
    pub(crate) who: String,
    pub(crate) method: &'static str,
    pub(crate) streams: usize,
    pub(crate) round: usize,
    /// Answers a second.
    pub(crate) rate: f64,
    /// Server CPU for each call, user and system, in microseconds.
    pub(crate) cpu_us: f64,
}

/// A figure of a round.
type Figure = fn(&Round) -> f64;

#[derive(Debug, Serialize)]
pub(crate) struct Report {
    #[serde(flatten)]
    pub(crate) origin: Origin,
    /// The names of the servers. The first is compared with all.
    servers: Vec<String>,
    rounds: usize,
    connections: usize,
    pub(crate) samples: Vec<Round>,
    #[serde(rename = "waits")]
    pub(crate) latencies: Vec<LatencySample>,
}

impl Report {
    pub(crate) fn new(fleet: &Fleet, rounds: usize, connections: usize) -> Self {
        Self {
            origin: Origin::of("serving"),
            servers: fleet.order(Rpc::GetFloor).iter().map(|server| server.name.clone()).collect(),
            rounds,
            connections,
            samples: Vec::new(),
            latencies: Vec::new(),
        }
    }

    pub(crate) fn markdown(&self) -> String {
        let first = &self.servers[0];
        let mut text = format!(
            "{}. {} connections, one client thread on the same cores, {} rounds, interleaved. Medians, and ratios of \
             {first} to each server within a round: geometric means with 95 % intervals (Student's t), above 1 where \
             {first} is better.\n",
            self.origin, self.connections, self.rounds
        );
        let mut loads: Vec<(&str, usize)> = Vec::new();
        for sample in &self.samples {
            if !loads.contains(&(sample.method, sample.streams)) {
                loads.push((sample.method, sample.streams));
            }
        }
        for (method, streams) in loads {
            let _ = write!(text, "\n### {method}, {streams} streams a connection\n\n{}\n", self.table(method, streams));
        }
        if !self.latencies.is_empty() {
            let _ = write!(text, "\n### Latency at half of the maximum rate\n\n{}\n", self.latency_table());
        }
        text
    }

    fn latency_table(&self) -> Table {
        let header =
            ["server", "calls/s", "p50 us", "p99 us", "p99 / p50", "sent late, p99 us", "clock alone late, p99 us"];
        let mut table = report::table(header);
        for who in &self.servers {
            let own: Vec<&LatencySample> = self.latencies.iter().filter(|sample| sample.who == who).collect();
            if own.is_empty() {
                continue;
            }
            let middle = |figure: fn(&LatencySample) -> f64| {
                median(&mut own.iter().map(|sample| figure(sample)).collect::<Vec<_>>())
            };
            table.add_row([
                who.clone(),
                format!("{:.0}", middle(|sample| sample.pace)),
                format!("{:.0}", middle(|sample| sample.p50_us)),
                format!("{:.0}", middle(|sample| sample.p99_us)),
                format!("{:.1}", middle(|sample| sample.p99_us / sample.p50_us)),
                format!("{:.1}", middle(|sample| sample.late_p99_us)),
                format!("{:.1}", middle(|sample| sample.clock_p99_us)),
            ]);
        }
        table
    }

    fn table(&self, method: &str, streams: usize) -> Table {
        let mut table = report::table(["server", "answers/s", "CPU us/answer", "ratio, answers/s", "ratio, CPU"]);
        // In the order of rounds.
        let of = |who: &str, figure: Figure| -> Vec<f64> {
            let of_load = |it: &&Round| (it.who.as_str(), it.method, it.streams) == (who, method, streams);
            self.samples.iter().filter(of_load).map(figure).collect()
        };
        let rate: Figure = |it| it.rate;
        let cpu: Figure = |it| it.cpu_us;
        let first = &self.servers[0];
        for who in self.servers.iter().filter(|who| !of(who, rate).is_empty()) {
            let ratio = |one: Vec<f64>, other: Vec<f64>| Ratio::of(one.into_iter().zip(other));
            table.add_row([
                who.clone(),
                format!("{:.0}", median(&mut of(who, rate))),
                format!("{:.1}", median(&mut of(who, cpu))),
                ratio(of(first, rate), of(who, rate)).to_string(),
                ratio(of(who, cpu), of(first, cpu)).to_string(),
            ]);
        }
        table
    }
}
