//! Counts of instructions and allocations, and their comparison with a committed baseline. The bench `instructions`
//! makes the counts.
//!
//! Unlike times, counts hardly differ between two runs, so a tolerance of a percent finds a small regression. They
//! depend on the compiler, on the versions of dependencies, on the C library and on the processor features that it
//! chooses its copies by.

use std::{collections::BTreeMap, fs, path::Path};

use anyhow::{Context, ensure};
use serde::{Deserialize, Serialize};

use crate::table::table;

/// By how much a count may exceed its baseline.
pub const TOLERANCE: f64 = 0.015;

/// What a case costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Operations that were counted together.
    pub operations: u64,
    /// Instructions of all operations, in the calling thread, without those of the allocator.
    pub instructions: u64,
    /// Allocations of all operations, in the calling thread.
    pub allocations: u64,
}

/// Counts by case, with what they depend on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Baseline {
    /// `rustc --version`.
    pub rustc: String,
    /// `valgrind --version`.
    pub valgrind: String,
    /// The processor and the C library, which explain a difference on another machine.
    pub machine: String,
    /// The counts by the name of the case.
    pub cases: BTreeMap<String, Counts>,
}

/// The result of a comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comparison {
    /// A table with a line for each case.
    pub table: String,
    /// The cases that cost more than the tolerance permits, or that only one side has.
    pub failed: Vec<String>,
}

impl Baseline {
    /// Reads the file `path`.
    pub fn read(path: &Path) -> anyhow::Result<Self> {
        let text = fs::read(path).with_context(|| format!("cannot read the baseline {}", path.display()))?;
        serde_json::from_slice(&text).with_context(|| format!("{} is not a baseline", path.display()))
    }

    /// Writes the file `path`.
    pub fn write(&self, path: &Path) -> anyhow::Result<()> {
        let text = serde_json::to_string_pretty(self)? + "\n";
        fs::write(path, text).with_context(|| format!("cannot write the baseline {}", path.display()))
    }

    /// Compares the counts `now` with these.
    ///
    /// # Errors
    /// When the compiler differs: its counts cannot be compared.
    pub fn compare(&self, now: &Self) -> anyhow::Result<Comparison> {
        ensure!(
            self.rustc == now.rustc,
            "the baseline is from {}, and this build from {}; use the toolchain of rust-toolchain.toml, or accept a new \
             baseline with --update",
            self.rustc,
            now.rustc
        );
        let mut table = table(["case", "instructions", "baseline", "change", "allocations", "baseline", ""]);
        let mut failed = Vec::new();
        let mut names: Vec<&String> = self.cases.keys().chain(now.cases.keys()).collect();
        names.sort();
        names.dedup();
        for name in names {
            let (then, now) = (self.cases.get(name), now.cases.get(name));
            let (Some(then), Some(now)) = (then, now) else {
                let side = if then.is_some() { "no longer a case" } else { "not in the baseline" };
                table.add_row([name.as_str(), "", "", "", "", "", side]);
                failed.push(name.clone());
                continue;
            };
            let each = |count: u64, of: &Counts| count as f64 / of.operations as f64;
            let (instructions, baseline) = (each(now.instructions, now), each(then.instructions, then));
            let (allocations, allocated) = (each(now.allocations, now), each(then.allocations, then));
            let mut verdict = String::new();
            if is_regression(baseline, instructions) {
                verdict.push_str("MORE INSTRUCTIONS ");
            }
            if is_regression(allocated, allocations) {
                verdict.push_str("MORE ALLOCATIONS");
            }
            if !verdict.is_empty() {
                failed.push(name.clone());
            } else if instructions < baseline * (1.0 - TOLERANCE) || allocations < allocated * (1.0 - TOLERANCE) {
                verdict.push_str("fewer; --update keeps the gain");
            }
            table.add_row([
                name.clone(),
                format!("{instructions:.1}"),
                format!("{baseline:.1}"),
                format!("{:+.2} %", (instructions / baseline - 1.0) * 100.0),
                format!("{allocations:.2}"),
                format!("{allocated:.2}"),
                verdict.trim().to_owned(),
            ]);
        }
        Ok(Comparison { table: table.to_string(), failed })
    }
}

fn is_regression(then: f64, now: f64) -> bool {
    now > then * (1.0 + TOLERANCE)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A baseline of one case.
    fn baseline(instructions: u64, allocations: u64) -> Baseline {
        let counts = Counts { operations: 1000, instructions, allocations };
        Baseline {
            rustc: "rustc 1.95.0".to_owned(),
            valgrind: String::new(),
            machine: String::new(),
            cases: [("hit".to_owned(), counts)].into(),
        }
    }

    #[test]
    fn a_regression_of_two_percent_is_found_ten_of_ten_times_and_jitter_is_not_one() {
        let then = baseline(160_000, 0);
        for run in 0..10 {
            let jitter = 160_000 * run / 10 * 15 / 10_000;
            let found = |instructions| then.compare(&baseline(instructions, 0)).unwrap().failed;
            assert_eq!(found(163_200 + jitter), ["hit"], "run {run}: 2 % more");
            assert_eq!(found(160_000 + jitter), Vec::<String>::new(), "run {run}: no change");
            assert_eq!(found(160_000 - jitter), Vec::<String>::new(), "run {run}: fewer");
        }
    }

    #[test]
    fn an_allocation_where_there_was_none_fails() {
        assert_eq!(baseline(160_000, 0).compare(&baseline(160_000, 1)).unwrap().failed, ["hit"]);
        assert_eq!(baseline(160_000, 8000).compare(&baseline(160_000, 8010)).unwrap().failed, Vec::<String>::new());
    }

    #[test]
    fn a_case_that_one_side_lacks_fails_and_another_compiler_is_an_error() {
        let (then, mut now) = (baseline(1, 0), baseline(1, 0));
        now.cases.insert("new".to_owned(), Counts { operations: 1, instructions: 1, allocations: 0 });
        assert_eq!(then.compare(&now).unwrap().failed, ["new"]);
        assert_eq!(now.compare(&then).unwrap().failed, ["new"]);
        now.rustc = "rustc 1.96.0".to_owned();
        assert!(then.compare(&now).unwrap_err().to_string().contains("--update"));
    }
}
