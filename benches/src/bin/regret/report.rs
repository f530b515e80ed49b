//! The report of the grid: its tables, with the worst cell first.

use std::fmt::Write as _;

use benches::{
    regret::{Cell, Plan, Sample, Verdict},
    report::{self, Origin},
};
use comfy_table::Table;
use floor_cache::Bypass;
use serde::Serialize;

/// A cell with its verdict and its samples.
#[derive(Debug, Serialize)]
pub(crate) struct MeasuredCell {
    number: usize,
    verdict: Verdict,
    samples: Vec<Sample>,
}

impl MeasuredCell {
    pub(crate) fn new(number: usize, cell: Cell, samples: Vec<Sample>) -> Self {
        Self { number, verdict: Verdict::of(cell, &samples), samples }
    }

    /// The verdict in one line, for the progress output.
    pub(crate) fn line(&self) -> String {
        let figure = |bypass| {
            let summary = summary(&self.samples, bypass);
            format!("{bypass} {:.0}/s p50 {:.0} us", summary.rate, summary.p50_us)
        };
        let verdict = &self.verdict;
        format!(
            "{}: {} to {} {}; {}",
            verdict.cell,
            Bypass::Auto,
            verdict.best,
            verdict.primary,
            Bypass::ALL.map(figure).join(", ")
        )
    }
}

fn summary(samples: &[Sample], bypass: Bypass) -> Sample {
    Sample::of_all(&samples.iter().filter(|it| it.bypass == bypass).collect::<Vec<_>>())
}

#[derive(Debug, Serialize)]
pub(crate) struct Report {
    #[serde(flatten)]
    pub(crate) origin: Origin,
    blocks: usize,
    turn_seconds: f64,
    cells: Vec<MeasuredCell>,
}

impl Report {
    pub(crate) fn new(plan: &Plan) -> Self {
        Self {
            origin: Origin::of("regret"),
            blocks: plan.blocks(),
            turn_seconds: plan.turn.as_secs_f64(),
            cells: Vec::new(),
        }
    }

    pub(crate) fn add(&mut self, cell: MeasuredCell) {
        self.cells.push(cell);
        self.cells.sort_by(|one, other| one.verdict.primary.value.total_cmp(&other.verdict.primary.value));
    }

    pub(crate) fn passes(&self) -> bool {
        self.cells.iter().all(|cell| cell.verdict.passes())
    }

    pub(crate) fn markdown(&self) -> String {
        let failed = self.cells.iter().filter(|cell| !cell.verdict.passes()).count();
        let mut text = format!(
            "{}. {} blocks of turns of {} s. Ratios are geometric means over blocks with 95 % intervals \
             (Student's t). {failed} of {} cells fail: the interval of the primary ratio stays below {}.\n\n",
            self.origin,
            self.blocks,
            self.turn_seconds,
            self.cells.len(),
            Verdict::TARGET
        );
        let _ = writeln!(text, "### auto to the better fixed choice, worst cell first\n\n{}\n", self.verdicts());
        let _ = writeln!(text, "### Figures\n\n{}", self.figures());
        text
    }

    fn verdicts(&self) -> Table {
        let header = ["cell", "", "primary", "better", "auto / better", "answers/s", "p99 (better / auto)", "CPU", ""];
        let mut table = report::table(header);
        for MeasuredCell { number, verdict, .. } in &self.cells {
            table.add_row([
                number.to_string(),
                verdict.cell.to_string(),
                if verdict.cell.shape.is_low_load() { "p50" } else { "answers/s" }.to_owned(),
                verdict.best.to_string(),
                verdict.primary.to_string(),
                verdict.rate.to_string(),
                verdict.p99.to_string(),
                verdict.cpu.to_string(),
                if verdict.passes() { "passes" } else { "FAILS" }.to_owned(),
            ]);
        }
        table
    }

    fn figures(&self) -> Table {
        let mut table = report::table([
            "cell",
            "bypass",
            "answers/s",
            "p50 us",
            "p99 us",
            "CPU us/answer",
            "Redis",
            "client",
            "generated/answer",
            "floors by tier, %",
        ]);
        for MeasuredCell { verdict, samples, .. } in &self.cells {
            for bypass in Bypass::ALL {
                let summary = summary(samples, bypass);
                let tiers: Vec<String> =
                    summary.shares().iter().map(|(tier, share)| format!("{tier} {share:.1}")).collect();
                table.add_row([
                    verdict.cell.to_string(),
                    bypass.to_string(),
                    format!("{:.0}", summary.rate),
                    format!("{:.0}", summary.p50_us),
                    format!("{:.0}", summary.p99_us),
                    format!("{:.1}", summary.server_cpu_us),
                    format!("{:.1}", summary.redis_cpu_us),
                    format!("{:.1}", summary.client_cpu_us),
                    format!("{:.3}", summary.generations_per_answer()),
                    tiers.join(", "),
                ]);
            }
        }
        table
    }
}
