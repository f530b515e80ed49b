//! `floorctl purge`: have floors forgotten.

use std::io::Write as _;

use anyhow::bail;
use clap::Args;
use indicatif::HumanCount;
use serde::{Deserialize, Serialize};

use crate::{
    cli::Patience,
    numbers::Numbers,
    operations::Operations,
    output::{self, Report},
    progress,
    target::{Chosen, Tower},
};

const AFTER_HELP: &str = "\
Removes floors from every tier of one server: those of the size and kind named, by default 100x100 and what the tower's \
schedule has at each number. Floors of other sizes and kinds stay. Nothing is lost: who asks next has them generated. \
Servers that share a Redis or an LMDB each keep floors in their own memory: purge every one of them.

Goes to the operations port, not to the one that players reach. Exit code 1 when a tier kept what it has.

Examples:
  floorctl purge 42/7
  floorctl purge --seed 42 --numbers 1-1000
  floorctl purge --seed 42 --numbers 1-1000 --size 64x64 --kind boss";

/// Remove floors from every tier
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Purge {
    #[command(flatten)]
    chosen: Chosen,
    #[command(flatten)]
    operations: Operations,
    #[command(flatten)]
    report: Report,
}

/// What the server says of one call.
#[derive(Deserialize)]
struct Purged {
    floors: u64,
    tiers: Vec<Done>,
}

#[derive(Deserialize)]
struct Done {
    tier: String,
    error: Option<String>,
}

#[derive(Serialize, Default)]
struct PurgeJson {
    floors: u64,
    /// The tiers in which every floor is gone.
    purged: Vec<String>,
    /// Those that kept some, and the last thing they said.
    failed: Vec<Failed>,
}

#[derive(Serialize)]
struct Failed {
    tier: String,
    error: String,
}

impl Purge {
    pub(crate) async fn run(self, patience: &Patience) -> anyhow::Result<()> {
        let (tower, numbers) = (self.chosen.tower(), self.chosen.numbers());
        let bar = progress::bar("purging", numbers.len());
        let mut sum = PurgeJson::default();
        for path in queries("/purge", &tower, &numbers) {
            let purged: Purged = self.operations.post(patience, &path).await?;
            bar.inc(purged.floors);
            sum.add(purged);
        }
        bar.finish_and_clear();
        self.tell(&sum)
    }

    fn tell(&self, sum: &PurgeJson) -> anyhow::Result<()> {
        if self.report.json {
            output::print_json(sum)?;
        } else {
            let mut out = output::stdout();
            writeln!(out, "Purged {} floors from {}", HumanCount(sum.floors), list(&sum.purged))?;
            out.flush()?;
        }
        match &sum.failed[..] {
            [] => Ok(()),
            failed => {
                let said: Vec<_> = failed.iter().map(|Failed { tier, error }| format!("{tier}: {error}")).collect();
                bail!("not every floor is gone from {}", said.join("; "))
            }
        }
    }
}

impl PurgeJson {
    fn add(&mut self, Purged { floors, tiers }: Purged) {
        self.floors += floors;
        for Done { tier, error } in tiers {
            let known = self.failed.iter().position(|failed| failed.tier == tier);
            match (error, known) {
                (Some(error), Some(at)) => self.failed[at].error = error,
                (Some(error), None) => {
                    self.purged.retain(|purged| *purged != tier);
                    self.failed.push(Failed { tier, error });
                }
                (None, None) if !self.purged.contains(&tier) => self.purged.push(tier),
                (None, _) => {}
            }
        }
    }
}

fn list(tiers: &[String]) -> String {
    if tiers.is_empty() { "no tier".to_owned() } else { tiers.join(", ") }
}

/// Floors in a call, as many as the server takes.
const CALL: u32 = floor_client::limits::MAX_BATCH as u32;

/// The calls of `page` that name the floors `numbers` of `tower`.
pub(super) fn queries(page: &'static str, tower: &Tower, numbers: &Numbers) -> impl Iterator<Item = String> + use<> {
    let query = tower.query();
    let calls = |range: std::ops::RangeInclusive<u32>| {
        let (first, last) = range.into_inner();
        (first..=last).step_by(CALL as usize).map(move |first| (first, (last - first).min(CALL - 1) + 1))
    };
    let ranges: Vec<_> = numbers.ranges().collect();
    ranges.into_iter().flat_map(calls).map(move |(first, count)| format!("{page}?{query}&first={first}&count={count}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::FloorWord;

    #[test]
    fn a_long_range_is_many_calls() {
        let tower = "42/1:maze@64x48".parse::<FloorWord>().unwrap().tower();
        let calls: Vec<_> = queries("/purge", &tower, &"1-600,9".parse().unwrap()).collect();
        let call = |(first, count)| format!("/purge?seed=42&width=64&height=48&kind=maze&first={first}&count={count}");
        assert_eq!(calls, [(1, 256), (257, 256), (513, 88), (9, 1)].map(call));
    }

    #[test]
    fn a_tier_that_failed_once_is_not_purged() {
        let done = |tier: &str, error: Option<&str>| Done { tier: tier.to_owned(), error: error.map(str::to_owned) };
        let mut sum = PurgeJson::default();
        for redis in [None, Some("open"), None] {
            sum.add(Purged { floors: 10, tiers: vec![done("lru", None), done("redis", redis)] });
        }
        assert_eq!((sum.floors, sum.purged), (30, vec!["lru".to_owned()]));
        assert_eq!(sum.failed.len(), 1);
    }
}
