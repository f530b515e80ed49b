//! `floorctl purge`: removes floors from the tiers.

use anyhow::bail;
use clap::Args;
use floor_client::FloorSpec;
use floor_export::names;
use floor_proto::operations::{Purged, TierResult};
use serde::Serialize;

use crate::{
    cli::Server,
    numbers::Numbers,
    output::{self, ReportFormat},
    progress,
    target::FloorSelection,
};

const AFTER_HELP: &str = "\
Removes the floors with the given size and kind from every tier of one server. The defaults are 100x100 and the kind \
that the tower's schedule gives each number. Floors of other sizes and kinds stay. The next request for a removed \
floor generates it again. Servers that share a Redis or an LMDB also keep floors in their own memory: purge each of \
them.

Calls the operations port, not the port for players. Exit code 1 if a tier did not remove all of the floors.

Examples:
  floorctl purge 42/7
  floorctl purge --seed 42 --numbers 1-1000
  floorctl purge --seed 42 --numbers 1-1000 --size 64x64 --kind boss";

/// Remove floors from every tier
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Purge {
    #[command(flatten)]
    selection: FloorSelection,
    #[command(flatten)]
    report: ReportFormat,
}

#[derive(Serialize, Default)]
struct PurgeJson {
    floors: u64,
    /// The tiers that removed every floor.
    purged: Vec<String>,
    /// The tiers that did not, with their last error.
    failed: Vec<Failed>,
}

#[derive(Serialize)]
struct Failed {
    tier: String,
    error: String,
}

impl Purge {
    pub(crate) async fn run(self, server: &Server) -> anyhow::Result<()> {
        let numbers = self.selection.numbers();
        let bar = progress::bar("purging", numbers.len());
        let mut sum = PurgeJson::default();
        for path in queries("/purge", &self.selection.pattern(), &numbers) {
            let purged: Purged = server.operations().post(&path).await?;
            bar.inc(purged.floors);
            sum.add(purged);
        }
        bar.finish_and_clear();
        self.print(&sum)
    }

    fn print(&self, sum: &PurgeJson) -> anyhow::Result<()> {
        if self.report.json {
            output::print_json(sum)?;
        } else {
            let tiers = if sum.purged.is_empty() { "no tier".to_owned() } else { sum.purged.join(", ") };
            output::print(format_args!("Purged {} from {tiers}", output::counted(sum.floors, "floor")))?;
        }
        match &sum.failed[..] {
            [] => Ok(()),
            failed => {
                let errors: Vec<_> = failed.iter().map(|Failed { tier, error }| format!("{tier}: {error}")).collect();
                bail!("not every floor is gone from {}", errors.join("; "))
            }
        }
    }
}

impl PurgeJson {
    fn add(&mut self, Purged { floors, tiers }: Purged) {
        self.floors += floors;
        for TierResult { tier, error, .. } in tiers {
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

/// Floors per call: the maximum that the server accepts.
const FLOORS_PER_CALL: u32 = floor_client::limits::MAX_BATCH as u32;

/// The paths of the calls of `page` for the floors `numbers` with the tower, the size and the kind of `pattern`.
pub(super) fn queries(
    page: &'static str,
    pattern: &FloorSpec,
    numbers: &Numbers,
) -> impl Iterator<Item = String> + use<> {
    let FloorSpec { seed, width, height, kind, .. } = *pattern;
    let mut query = format!("seed={seed}&width={width}&height={height}");
    if kind != 0 {
        query += &format!("&kind={}", names::kind_of(pattern));
    }
    let calls = |range: std::ops::RangeInclusive<u32>| {
        let (first, last) = range.into_inner();
        (first..=last)
            .step_by(FLOORS_PER_CALL as usize)
            .map(move |first| (first, (last - first).min(FLOORS_PER_CALL - 1) + 1))
    };
    let ranges: Vec<_> = numbers.ranges().collect();
    ranges.into_iter().flat_map(calls).map(move |(first, count)| format!("{page}?{query}&first={first}&count={count}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::FloorName;

    #[test]
    fn a_long_range_is_many_calls() {
        let FloorName(pattern) = "42/1:maze@64x48".parse().unwrap();
        let calls: Vec<_> = queries("/purge", &pattern, &"1-600,9".parse().unwrap()).collect();
        let call = |(first, count)| format!("/purge?seed=42&width=64&height=48&kind=maze&first={first}&count={count}");
        assert_eq!(calls, [(1, 256), (257, 256), (513, 88), (9, 1)].map(call));
    }

    #[test]
    fn a_tier_that_failed_once_is_not_purged() {
        let result = |tier: &str, error: Option<&str>| {
            let done = error.is_none();
            TierResult { tier: tier.to_owned(), done, error: error.map(str::to_owned) }
        };
        let mut sum = PurgeJson::default();
        for redis in [None, Some("open"), None] {
            sum.add(Purged { floors: 10, tiers: vec![result("lru", None), result("redis", redis)] });
        }
        assert_eq!((sum.floors, sum.purged), (30, vec!["lru".to_owned()]));
        assert_eq!(sum.failed.len(), 1);
    }
}
