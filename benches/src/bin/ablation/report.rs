//! The tables of `ablation`: means with intervals, the effect of prefetching, and how the chains compare.

use std::{collections::BTreeMap, fmt::Write as _};

use benches::{
    regret::Ratio,
    report::{self, Origin},
    timing::mean_and_interval,
};
use clap::ValueEnum;
use comfy_table::Table;
use serde::Serialize;

use crate::{candidate::Figures, workload::Workload};

#[derive(Debug, Serialize)]
pub(crate) struct Sample {
    pub(crate) chain: String,
    #[serde(rename = "track", serialize_with = "benches::regret::as_text")]
    pub(crate) workload: Workload,
    pub(crate) warm: bool,
    pub(crate) run: usize,
    #[serde(flatten)]
    pub(crate) figures: Figures,
}

#[derive(Debug, Serialize)]
pub(crate) struct Report {
    #[serde(flatten)]
    pub(crate) origin: Origin,
    runs: usize,
    calls: u64,
    samples: Vec<Sample>,
}

/// The runs of one chain under one load.
struct Cell<'a> {
    chain: &'a str,
    runs: Vec<&'a Figures>,
}

impl Report {
    pub(crate) fn new(runs: usize, calls: u64) -> Self {
        Self { origin: Origin::of("ablation"), runs, calls, samples: Vec::new() }
    }

    pub(crate) fn add(&mut self, sample: Sample) {
        self.samples.push(sample);
    }

    pub(crate) fn markdown(&self) -> String {
        let mut text = format!(
            "{}. {} calls a run, means of {} interleaved runs with 95 % intervals (Student's t). CPU and memory are \
             the server's and its Redis's together.\n",
            self.origin, self.calls, self.runs
        );
        for (workload, warm) in loads() {
            let cells = self.cells(workload, warm);
            if cells.is_empty() {
                continue;
            }
            let start = if warm { "warm" } else { "cold" };
            let _ = write!(text, "\n### {workload}, {start}\n\n{}\n", table(&cells));
        }
        let prefetching = self.prefetching();
        if !prefetching.is_empty() {
            let _ = write!(text, "\n### Prefetching\n\nWith it to without, run by run:\n\n{prefetching}");
        }
        if self.samples.iter().any(|sample| sample.workload.is_compared()) {
            let _ = write!(text, "\n### Answers a second, as shares of the best chain's\n\n{}\n", self.shares());
        }
        text
    }

    /// The effect of prefetching on each load that runs with it and without, as the geometric mean of the runs' ratios.
    fn prefetching(&self) -> String {
        let mut text = String::new();
        let pairs = [
            (Workload::PrefetchedZipf, Workload::Zipf),
            (Workload::PrefetchedUniform, Workload::Uniform),
            (Workload::PrefetchedClimb, Workload::PacedClimb),
        ];
        for (with, without) in pairs {
            for warm in [false, true] {
                let without_it = self.cells(without, warm);
                for cell in self.cells(with, warm) {
                    let Some(plain) = without_it.iter().find(|plain| plain.chain == cell.chain) else { continue };
                    let ratio = |figure: fn(&Figures) -> f64| {
                        let runs = cell.runs.iter().zip(&plain.runs);
                        Ratio::of(runs.map(|(it, plain)| (figure(it), figure(plain))))
                    };
                    let _ = writeln!(
                        text,
                        "- {without}, {}, {}: answers a second {}, p50 {}, p99 {}, CPU {}",
                        cell.chain,
                        if warm { "warm" } else { "cold" },
                        ratio(|run| run.rate),
                        ratio(|run| run.p50_us),
                        ratio(|run| run.p99_us),
                        ratio(|run| run.cpu_seconds)
                    );
                }
            }
        }
        text
    }

    /// Answers a second of each chain as a share of the best chain's, in all and by start. They are geometric means over
    /// the loads that are neither paced nor prefetched. Each tier must be operated, so a chain with fewer tiers is the
    /// better choice where shares are close.
    fn shares(&self) -> Table {
        let mut logs: BTreeMap<&str, [Vec<f64>; 2]> = BTreeMap::new();
        for (workload, warm) in loads().filter(|(workload, _)| workload.is_compared()) {
            let cells = self.cells(workload, warm);
            let best = cells.iter().map(|cell| cell.of(|run| run.rate).0).fold(f64::MIN_POSITIVE, f64::max);
            for cell in &cells {
                let log = (cell.of(|run| run.rate).0 / best).ln();
                logs.entry(cell.chain).or_default()[usize::from(warm)].push(log);
            }
        }
        let mut table = report::table(["chain", "all", "cold", "warm"]);
        for (chain, [cold, warm]) in logs {
            let mean = |logs: &[f64]| format!("{:.2}", (logs.iter().sum::<f64>() / logs.len() as f64).exp());
            table.add_row([chain.to_owned(), mean(&[&cold[..], &warm].concat()), mean(&cold), mean(&warm)]);
        }
        table
    }

    fn cells(&self, workload: Workload, warm: bool) -> Vec<Cell<'_>> {
        let mut cells: Vec<Cell<'_>> = Vec::new();
        for sample in self.samples.iter().filter(|sample| sample.workload == workload && sample.warm == warm) {
            match cells.iter_mut().find(|cell| cell.chain == sample.chain) {
                Some(cell) => cell.runs.push(&sample.figures),
                None => cells.push(Cell { chain: &sample.chain, runs: vec![&sample.figures] }),
            }
        }
        cells
    }
}

fn loads() -> impl Iterator<Item = (Workload, bool)> {
    Workload::value_variants().iter().flat_map(|workload| [(*workload, false), (*workload, true)])
}

impl Cell<'_> {
    fn of(&self, figure: impl Fn(&Figures) -> f64) -> (f64, f64) {
        mean_and_interval(&self.runs.iter().map(|run| figure(run)).collect::<Vec<_>>())
    }

    /// The share of answers by tier, in percent.
    fn shares(&self) -> String {
        let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
        for (tier, count) in self.runs.iter().flat_map(|run| &run.served_by) {
            *counts.entry(tier).or_default() += count;
        }
        let all: u64 = counts.values().sum();
        let share = |(tier, count): (&&str, &u64)| format!("{tier} {:.0} %", *count as f64 * 100.0 / all as f64);
        counts.iter().map(share).collect::<Vec<_>>().join(", ")
    }
}

fn table(cells: &[Cell<'_>]) -> Table {
    let header = ["chain", "answers/s", "p50 us", "p99 us", "sent late, p99 us", "CPU ms", "memory MB", "served by"];
    let mut table = report::table(header);
    for cell in cells {
        let show = |(mean, half): (f64, f64)| format!("{mean:.0} ± {half:.0}");
        table.add_row([
            cell.chain.to_owned(),
            show(cell.of(|run| run.rate)),
            show(cell.of(|run| run.p50_us)),
            show(cell.of(|run| run.p99_us)),
            format!("{:.0}", cell.of(|run| run.late_p99_us).0),
            show(cell.of(|run| run.cpu_seconds * 1e3)),
            show(cell.of(|run| run.memory_bytes as f64 / 1e6)),
            cell.shares(),
        ]);
    }
    table
}
