//! Means with their intervals, who wins each load, and the record.

use std::{collections::BTreeMap, fmt::Write as _, fs, path::Path};

use benches::{bars, machine::Machine, timing::interval};
use comfy_table::{Table, presets::ASCII_MARKDOWN};
use serde::Serialize;

use crate::{candidate::Figures, track::Track};

/// One run.
#[derive(Debug, Serialize)]
pub(crate) struct Sample {
    pub(crate) chain: String,
    pub(crate) track: &'static str,
    pub(crate) warm: bool,
    pub(crate) run: usize,
    #[serde(flatten)]
    pub(crate) figures: Figures,
}

/// All runs.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    date: String,
    machine: String,
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
        Self { date: Machine::today(), machine: Machine::here().to_string(), runs, calls, samples: Vec::new() }
    }

    pub(crate) fn add(&mut self, sample: Sample) {
        self.samples.push(sample);
    }

    pub(crate) fn markdown(&self) -> String {
        let mut text = format!(
            "{}\n\n`cargo run --release -p benches --bin ablation -- --runs {} --calls {}`, {}. {} calls a run, means of \
             {} interleaved runs with 95 % intervals (Student's t). CPU and memory are the server's and its Redis's \
             together.\n",
            self.machine, self.runs, self.calls, self.date, self.calls, self.runs
        );
        let mut wins: BTreeMap<&str, usize> = BTreeMap::new();
        for (track, warm) in loads() {
            let cells = self.cells(track, warm);
            let start = if warm { "warm" } else { "cold" };
            let _ = write!(text, "\n### {track}, {start}\n\n{}\n\n", table(&cells));
            if let Some((winner, verdict)) = verdict(&cells) {
                *wins.entry(winner).or_default() += 1;
                let _ = writeln!(text, "{verdict}");
            }
        }
        if let Some((chain, count)) = wins.iter().max_by_key(|(_, count)| **count) {
            let of = loads().count();
            let _ = writeln!(text, "\n### Choice\n\n**{chain}**: it has the highest mean under {count} of {of} loads.");
        }
        text
    }

    fn cells(&self, track: &str, warm: bool) -> Vec<Cell<'_>> {
        let mut cells: Vec<Cell<'_>> = Vec::new();
        for sample in self.samples.iter().filter(|sample| sample.track == track && sample.warm == warm) {
            match cells.iter_mut().find(|cell| cell.chain == sample.chain) {
                Some(cell) => cell.runs.push(&sample.figures),
                None => cells.push(Cell { chain: &sample.chain, runs: vec![&sample.figures] }),
            }
        }
        cells
    }

    /// Writes `DATE-ablation.json` (every run), `.md` (the tables) and a plot a load.
    pub(crate) fn write(&self, directory: &Path) -> anyhow::Result<()> {
        let path = |end: &str| directory.join(format!("{}-ablation{end}", self.date));
        fs::write(path(".json"), serde_json::to_string_pretty(self)? + "\n")?;
        let mut text = format!("# Which chain, {}\n\n{}", self.date, self.markdown());
        for warm in [false, true] {
            let start = if warm { "warm" } else { "cold" };
            let groups: Vec<(String, Vec<bars::Bar>)> = Track::ALL
                .into_iter()
                .map(|track| {
                    let cells = self.cells(track.name(), warm);
                    (track.name().to_owned(), cells.iter().map(Cell::bar).collect())
                })
                .collect();
            let title = format!("Answers a second, {start} start, {}", self.date);
            fs::write(path(&format!("-{start}.svg")), bars::svg(&title, &groups))?;
            let _ = write!(text, "\n![{title}]({}-ablation-{start}.svg)\n", self.date);
        }
        fs::write(path(".md"), text)?;
        Ok(())
    }
}

fn loads() -> impl Iterator<Item = (&'static str, bool)> {
    Track::ALL.into_iter().flat_map(|track| [(track.name(), false), (track.name(), true)])
}

impl Cell<'_> {
    fn of(&self, figure: impl Fn(&Figures) -> f64) -> (f64, f64) {
        interval(&self.runs.iter().map(|run| figure(run)).collect::<Vec<_>>())
    }

    fn bar(&self) -> bars::Bar {
        let (mean, half) = self.of(|run| run.rate);
        bars::Bar { label: self.chain.to_owned(), value: mean, half_interval: half }
    }

    /// The tiers that answered, in hundredths of all answers.
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
    let mut table = Table::new();
    table.load_preset(ASCII_MARKDOWN).set_header([
        "chain",
        "answers/s",
        "p50 us",
        "p99 us",
        "CPU ms",
        "memory MB",
        "served by",
    ]);
    for cell in cells {
        let show = |(mean, half): (f64, f64)| format!("{mean:.0} ± {half:.0}");
        table.add_row([
            cell.chain.to_owned(),
            show(cell.of(|run| run.rate)),
            show(cell.of(|run| run.p50_us)),
            show(cell.of(|run| run.p99_us)),
            show(cell.of(|run| run.cpu_seconds * 1e3)),
            show(cell.of(|run| run.memory_bytes as f64 / 1e6)),
            cell.shares(),
        ]);
    }
    table
}

/// The chain with the highest mean, and whether its interval stands clear of the next one's.
fn verdict<'a>(cells: &[Cell<'a>]) -> Option<(&'a str, String)> {
    let mut ranked: Vec<(&str, (f64, f64))> = cells.iter().map(|cell| (cell.chain, cell.of(|run| run.rate))).collect();
    ranked.sort_by(|a, b| b.1.0.total_cmp(&a.1.0));
    let [(winner, (best, half)), (second, (next, next_half)), ..] = ranked[..] else { return None };
    let by = (best / next - 1.0) * 100.0;
    let clear = best - half > next + next_half;
    let sure = if clear { "clear of it" } else { "within the intervals of both, so no winner is proven" };
    Some((winner, format!("{winner} leads {second} by {by:.0} %, {sure}.")))
}
