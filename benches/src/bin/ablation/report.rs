//! The tables of `ablation`: means with intervals, the effect of prefetching, and the chain to deploy.

use std::{
    collections::BTreeMap,
    fmt::{self, Write as _},
};

use benches::{
    regret::Ratio,
    report::{self, Origin},
    timing::mean_and_interval,
};
use comfy_table::Table;
use serde::Serialize;

use crate::{candidate::Figures, workload::Workload};

#[derive(Debug, Serialize)]
pub(crate) struct Sample {
    pub(crate) chain: String,
    #[serde(rename = "track")]
    pub(crate) workload: &'static str,
    pub(crate) warm: bool,
    pub(crate) run: usize,
    #[serde(flatten)]
    pub(crate) figures: Figures,
}

/// A chain's rate under each load relative to the best chain's: whether the start was warm, and the logarithm.
struct RelativeRate<'a> {
    chain: &'a str,
    logs: Vec<(bool, f64)>,
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
            let cells = self.cells(workload.name(), warm);
            if cells.is_empty() {
                continue;
            }
            let start = if warm { "warm" } else { "cold" };
            let _ = write!(text, "\n### {}, {start}\n\n{}\n", workload.name(), table(&cells));
        }
        let prefetching = self.prefetching();
        if !prefetching.is_empty() {
            let _ = write!(text, "\n### Prefetching\n\nWith it to without, run by run:\n\n{prefetching}");
        }
        let compared = loads().filter(|(workload, _)| workload.is_compared());
        if compared.clone().all(|(workload, warm)| self.cells(workload.name(), warm).len() > 1) {
            let _ = write!(text, "\n### Choice\n\n{}\n", self.choice());
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
                let without_it = self.cells(without.name(), warm);
                for cell in self.cells(with.name(), warm) {
                    let Some(plain) = without_it.iter().find(|plain| plain.chain == cell.chain) else { continue };
                    let ratio = |figure: fn(&Figures) -> f64| {
                        let runs = cell.runs.iter().zip(&plain.runs);
                        Ratio::of(&runs.map(|(it, plain)| (figure(it), figure(plain))).collect::<Vec<_>>())
                    };
                    let _ = writeln!(
                        text,
                        "- {}, {}, {}: answers a second {}, p50 {}, p99 {}, CPU {}",
                        without.name(),
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

    /// The chain to deploy, and the loads under which it is worse than another. Chains are ranked by answers a second
    /// relative to the best chain, as the geometric mean over all loads that are neither paced nor prefetched. Of those
    /// within [`TIE`] of the best, the one with the fewest tiers is chosen, since each tier must be operated.
    fn choice(&self) -> String {
        let mut shares: Vec<RelativeRate<'_>> = Vec::new();
        for (workload, warm) in loads().filter(|(workload, _)| workload.is_compared()) {
            let cells = self.cells(workload.name(), warm);
            let best = cells.iter().map(|cell| cell.of(|run| run.rate).0).fold(f64::MIN_POSITIVE, f64::max);
            for cell in &cells {
                let log = (cell.of(|run| run.rate).0 / best).ln();
                match shares.iter_mut().find(|share| share.chain == cell.chain) {
                    Some(share) => share.logs.push((warm, log)),
                    None => shares.push(RelativeRate { chain: cell.chain, logs: vec![(warm, log)] }),
                }
            }
        }
        let best = shares.iter().map(RelativeRate::overall).fold(0.0, f64::max);
        let tiers = |chain: &str| chain.matches('+').count();
        let near = shares.iter().filter(|share| share.overall() >= best * (1.0 - TIE));
        let Some(chosen) = near.min_by_key(|share| tiers(share.chain)) else { return "none".to_owned() };
        let list: Vec<String> = shares.iter().map(RelativeRate::to_string).collect();
        let losses: Vec<String> =
            loads().filter_map(|(workload, warm)| self.loss(chosen.chain, workload, warm)).collect();
        let losses = if losses.is_empty() { "nowhere".to_owned() } else { losses.join("; ") };
        format!(
            "**{}**: of the chains within {:.0} % of the best over all loads that are neither paced nor prefetched, it has the \
             fewest tiers. Answers a second as a share of the best chain's, geometric mean over cold and warm starts \
             (cold alone, warm alone): {}. A warm run asks for what the cold one before it asked for, so that a store on \
             disk has all of it. Behind another chain, the intervals apart: {losses}.",
            chosen.chain,
            TIE * 100.0,
            list.join(", ")
        )
    }

    /// How much worse `chain` is than the best other chain under a load, if the intervals do not overlap.
    fn loss(&self, chain: &str, workload: Workload, warm: bool) -> Option<String> {
        let cells = self.cells(workload.name(), warm);
        let rated = cells.iter().map(|cell| (cell.chain, cell.of(|run| run.rate)));
        let (others, own): (Vec<_>, Vec<_>) = rated.partition(|(name, _)| *name != chain);
        let (_, (rate, half)) = own.first()?;
        let (other, (best, best_half)) = others.into_iter().max_by(|a, b| a.1.0.total_cmp(&b.1.0))?;
        let start = if warm { "warm" } else { "cold" };
        (workload.is_compared() && best - rate > half + best_half)
            .then(|| format!("{}, {start}: {:.0} % behind {other}", workload.name(), (1.0 - rate / best) * 100.0))
    }

    fn cells(&self, workload: &str, warm: bool) -> Vec<Cell<'_>> {
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

impl RelativeRate<'_> {
    fn overall(&self) -> f64 {
        self.mean(|_| true)
    }

    /// The geometric mean over the starts for which `counts(is_warm)` is true.
    fn mean(&self, counts: impl Fn(bool) -> bool) -> f64 {
        let logs: Vec<f64> = self.logs.iter().filter(|(warm, _)| counts(*warm)).map(|(_, log)| *log).collect();
        (logs.iter().sum::<f64>() / logs.len() as f64).exp()
    }
}

impl fmt::Display for RelativeRate<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (cold, warm) = (self.mean(|warm| !warm), self.mean(|warm| warm));
        write!(f, "{} {:.2} ({cold:.2}, {warm:.2})", self.chain, self.overall())
    }
}

/// Two chains whose relative rates differ by less than this count as equal.
const TIE: f64 = 0.05;

fn loads() -> impl Iterator<Item = (Workload, bool)> + Clone {
    Workload::ALL.into_iter().flat_map(|workload| [(workload, false), (workload, true)])
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
