//! The tables of `serving`, with medians over rounds and ratios within a round, and its record.

use std::{fmt::Write as _, fs, path::Path};

use benches::{machine::Machine, timing::median};
use comfy_table::{Table, presets::ASCII_MARKDOWN};
use serde::Serialize;

use crate::latency::LatencySample;

/// The figures of one server under one load in one round.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Round {
    pub(crate) who: &'static str,
    pub(crate) method: &'static str,
    pub(crate) streams: usize,
    pub(crate) round: usize,
    /// Answers a second.
    pub(crate) rate: f64,
    /// Server CPU for each call, user and system, in microseconds.
    pub(crate) cpu_us: f64,
}

#[derive(Debug, Serialize)]
pub(crate) struct Report {
    date: String,
    machine: String,
    command: String,
    rounds: usize,
    connections: usize,
    samples: Vec<Round>,
    #[serde(rename = "waits")]
    latencies: Vec<LatencySample>,
}

impl Report {
    pub(crate) fn new(rounds: usize, connections: usize) -> Self {
        let machine = Machine::current();
        let command = std::env::args().skip(1).collect::<Vec<_>>().join(" ");
        let command = format!("cargo run --release -p benches --bin serving -- {command}");
        Self {
            date: Machine::today(),
            machine: machine.to_string(),
            command,
            rounds,
            connections,
            samples: Vec::new(),
            latencies: Vec::new(),
        }
    }

    pub(crate) fn add(&mut self, round: Round) {
        self.samples.push(round);
    }

    pub(crate) fn add_latencies(&mut self, latencies: Vec<LatencySample>) {
        self.latencies.extend(latencies);
    }

    /// A table for each load: rate and CPU as medians over rounds, and the ratio of our server to each as the median of
    /// the rounds' ratios, with the least and the greatest.
    pub(crate) fn markdown(&self) -> String {
        let mut text = format!(
            "{}\n\n`{}`, {}. {} connections, h2load in one thread on the same cores, {} rounds, interleaved.\n",
            self.machine, self.command, self.date, self.connections, self.rounds
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
        let _ = write!(
            text,
            "\n### How long a caller waits at half of what the server can do\n\n{}\n",
            self.latency_table()
        );
        text
    }

    fn latency_table(&self) -> Table {
        let mut table = Table::new();
        table.load_preset(ASCII_MARKDOWN).set_header([
            "server",
            "calls/s",
            "p50 us",
            "p99 us",
            "p99 / p50",
            "sent late, p99 us",
            "clock alone late, p99 us",
        ]);
        let mut servers: Vec<&str> = Vec::new();
        for wait in &self.latencies {
            if !servers.contains(&wait.who) {
                servers.push(wait.who);
            }
        }
        for who in servers {
            let middle = |figure: fn(&LatencySample) -> f64| {
                median(&mut self.latencies.iter().filter(|wait| wait.who == who).map(figure).collect::<Vec<_>>())
            };
            table.add_row([
                who.to_owned(),
                format!("{:.0}", middle(|wait| wait.pace)),
                format!("{:.0}", middle(|wait| wait.p50_us)),
                format!("{:.0}", middle(|wait| wait.p99_us)),
                format!("{:.1}", middle(|wait| wait.p99_us / wait.p50_us)),
                format!("{:.1}", middle(|wait| wait.late_p99_us)),
                format!("{:.1}", middle(|wait| wait.clock_p99_us)),
            ]);
        }
        table
    }

    fn table(&self, method: &str, streams: usize) -> Table {
        let mut table = Table::new();
        table.load_preset(ASCII_MARKDOWN).set_header([
            "server",
            "answers/s",
            "CPU us/answer",
            "ours to it, answers/s",
            "ours to it, CPU",
        ]);
        let mut servers: Vec<&str> = Vec::new();
        for sample in self.samples.iter().filter(|sample| (sample.method, sample.streams) == (method, streams)) {
            if !servers.contains(&sample.who) {
                servers.push(sample.who);
            }
        }
        servers.sort_by_key(|who| (!who.starts_with("ours"), who.len()));
        for who in servers {
            let of = |who: &str| -> Vec<&Round> {
                let mut rounds: Vec<&Round> = (self.samples.iter())
                    .filter(|sample| (sample.who, sample.method, sample.streams) == (who, method, streams))
                    .collect();
                rounds.sort_by_key(|round| round.round);
                rounds
            };
            let (its, ours) = (of(who), of("ours"));
            let rate = median(&mut its.iter().map(|round| round.rate).collect::<Vec<_>>());
            let cpu = median(&mut its.iter().map(|round| round.cpu_us).collect::<Vec<_>>());
            let rates = ours.iter().zip(&its).map(|(ours, its)| ours.rate / its.rate).collect();
            // Inverted, so that above 1 our server needs less CPU.
            let cpus = ours.iter().zip(&its).map(|(ours, its)| its.cpu_us / ours.cpu_us).collect();
            table.add_row([who.to_owned(), format!("{rate:.0}"), format!("{cpu:.1}"), spread(rates), spread(cpus)]);
        }
        table
    }

    /// Writes every sample to `DATE-serving.json` and the tables to `DATE-serving.md`.
    pub(crate) fn write(&self, directory: &Path) -> anyhow::Result<()> {
        let path = |end| directory.join(format!("{}-serving.{end}", self.date));
        fs::write(path("json"), serde_json::to_string_pretty(self)? + "\n")?;
        fs::write(path("md"), format!("# Serving, {}\n\n{}", self.date, self.markdown()))?;
        Ok(())
    }
}

/// The median of `ratios`, with the least and the greatest.
fn spread(mut ratios: Vec<f64>) -> String {
    let middle = median(&mut ratios);
    format!("{middle:.2} ({:.2} .. {:.2})", ratios[0], ratios[ratios.len() - 1])
}
