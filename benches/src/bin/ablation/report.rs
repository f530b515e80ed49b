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
        for (track, warm) in loads() {
            let cells = self.cells(track.name(), warm);
            let start = if warm { "warm" } else { "cold" };
            let verdict = verdict(track, &cells);
            let _ = write!(text, "\n### {}, {start}\n\n{}\n\n{verdict}\n", track.name(), table(&cells));
        }
        let _ = write!(text, "\n### Choice\n\n{}\n", self.choice());
        text
    }

    /// Each chain's answers a second as a share of the best chain's, as the geometric mean over all loads that are
    /// neither paced nor prefetched. Of those within [`TIE`] of the best, the one with the fewest tiers: a tier is something to run.
    fn choice(&self) -> String {
        let mut shares: Vec<(&str, f64, u32)> = Vec::new();
        for (track, warm) in loads().filter(|(track, _)| track.compares()) {
            let cells = self.cells(track.name(), warm);
            let rates: Vec<(&str, f64)> = cells.iter().map(|cell| (cell.chain, cell.of(|run| run.rate).0)).collect();
            let best = rates.iter().map(|(_, rate)| *rate).fold(f64::MIN_POSITIVE, f64::max);
            for (chain, rate) in rates {
                let log = (rate / best).ln();
                match shares.iter_mut().find(|(known, ..)| *known == chain) {
                    Some((_, sum, count)) => (*sum, *count) = (*sum + log, *count + 1),
                    None => shares.push((chain, log, 1)),
                }
            }
        }
        let shares: Vec<(&str, f64)> =
            shares.into_iter().map(|(chain, sum, count)| (chain, (sum / f64::from(count)).exp())).collect();
        let best = shares.iter().map(|(_, share)| *share).fold(0.0, f64::max);
        let tiers = |chain: &str| chain.matches('+').count();
        let chosen =
            shares.iter().filter(|(_, share)| *share >= best * (1.0 - TIE)).min_by_key(|(chain, _)| tiers(chain));
        let list: Vec<String> = shares.iter().map(|(chain, share)| format!("{chain} {share:.2}")).collect();
        let chosen = chosen.map_or("none", |(chain, _)| *chain);
        format!(
            "**{chosen}**: of the chains within {:.0} % of the best over all loads that are neither paced nor prefetched, it has \
             the fewest tiers. Answers a second as a share of the best chain's, geometric mean: {}.",
            TIE * 100.0,
            list.join(", ")
        )
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
                .filter(|track| track.compares())
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

/// Two chains whose overall shares differ by less than this are taken to be equals.
const TIE: f64 = 0.05;

fn loads() -> impl Iterator<Item = (Track, bool)> {
    Track::ALL.into_iter().flat_map(|track| [(track, false), (track, true)])
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

/// Who leads: by answers a second, or by the median wait when the load sets the pace; and by CPU, which a busy machine
/// blurs least.
fn verdict(track: Track, cells: &[Cell<'_>]) -> String {
    let by_time = if track.pace().is_some() {
        leader(cells, "In the median wait", false, |run| run.p50_us)
    } else {
        leader(cells, "In answers a second", true, |run| run.rate)
    };
    let by_cpu = leader(cells, "In CPU", false, |run| run.cpu_seconds);
    [by_time, by_cpu].into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// The chain with the best mean, and whether its interval stands clear of the next one's.
fn leader(cells: &[Cell<'_>], what: &str, more_is_better: bool, figure: fn(&Figures) -> f64) -> Option<String> {
    let mut ranked: Vec<(&str, (f64, f64))> = cells.iter().map(|cell| (cell.chain, cell.of(figure))).collect();
    ranked.sort_by(|a, b| a.1.0.total_cmp(&b.1.0));
    if more_is_better {
        ranked.reverse();
    }
    let [(first, (best, half)), (second, (next, next_half)), ..] = ranked[..] else { return None };
    let by = if more_is_better { best / next - 1.0 } else { next / best - 1.0 };
    let clear = (best - next).abs() > half + next_half;
    let sure = if clear { "the intervals apart" } else { "the intervals overlapping, so it is not proven" };
    Some(format!("{what}, **{first}** leads {second} by {:.0} %, {sure}.", by * 100.0))
}
