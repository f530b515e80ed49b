//! `floorctl purge`: removes floors from the tiers.

use std::fmt;

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
Removes the floors with the given size and kind from every tier. The defaults are 100x100 and the kind \
that the tower's schedule gives each number. Floors of other sizes and kinds stay. The next request for a removed \
floor generates it again. Each server keeps floors in its own memory, also if they share a Redis: name all of them. If \
one does not answer, the others are purged.

Calls the operations port, not the port for players. Exit code 1 if a tier did not remove all of the floors.

Examples:
  floorctl purge 42/7
  floorctl purge --seed 42 --numbers 1-1000
  floorctl purge --seed 42 --numbers 1-1000 --size 64x64 --kind boss
  floorctl --ops http://10.0.0.1:50052,http://10.0.0.2:50052 purge 42/7";

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
    /// The tiers that removed every floor, of each server that was asked.
    purged: Vec<String>,
    /// The tiers that did not, with their last error, and the servers that did not answer.
    failed: Vec<Failed>,
}

#[derive(Serialize, Debug, PartialEq, Eq)]
struct Failed {
    /// The operations port, if several were named.
    #[serde(skip_serializing_if = "Option::is_none")]
    server: Option<String>,
    /// Missing if the server did not answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    tier: Option<String>,
    error: String,
}

impl Purge {
    pub(crate) async fn run(self, server: &Server) -> anyhow::Result<()> {
        let numbers = self.selection.numbers();
        let servers: Vec<_> = server.each_operations().collect();
        let bar = progress::bar("purging", numbers.len() * servers.len() as u64);
        let mut sum = PurgeJson::default();
        for operations in &servers {
            let name = (servers.len() > 1).then_some(operations.url);
            for path in queries("/purge", &self.selection.pattern(), &numbers) {
                match (operations.post::<Purged>(&path).await, name) {
                    (Ok(purged), _) => {
                        bar.inc(purged.floors);
                        sum.add(name, purged);
                    }
                    (Err(error), None) => return Err(error),
                    (Err(error), Some(name)) => {
                        sum.fail(Some(name), None, format!("{error:#}"));
                        break;
                    }
                }
            }
        }
        bar.finish_and_clear();
        sum.floors = numbers.len();
        self.print(&sum, servers.len())
    }

    fn print(&self, sum: &PurgeJson, servers: usize) -> anyhow::Result<()> {
        if self.report.json {
            output::print_json(sum)?;
        } else {
            let tiers = if sum.purged.is_empty() { "no tier".to_owned() } else { sum.purged.join(", ") };
            let floors = output::counted(sum.floors, "floor");
            let of = if servers > 1 { format!(" of {servers} servers") } else { String::new() };
            output::print(format_args!("Purged {floors} from {tiers}{of}"))?;
        }
        match &sum.failed[..] {
            [] => Ok(()),
            failed => {
                let errors: Vec<_> = failed.iter().map(Failed::to_string).collect();
                bail!("not every floor is gone from {}", errors.join("; "))
            }
        }
    }
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = [&self.server, &self.tier].into_iter().flatten();
        names.into_iter().try_for_each(|name| write!(f, "{name}: "))?;
        f.write_str(&self.error)
    }
}

impl PurgeJson {
    /// Adds an answer of `server`.
    fn add(&mut self, server: Option<&str>, Purged { tiers, .. }: Purged) {
        for TierResult { tier, error, .. } in tiers {
            if let Some(error) = error {
                self.purged.retain(|purged| *purged != tier);
                self.fail(server, Some(&tier), error);
            } else if !self.purged.contains(&tier)
                && self.failed.iter().all(|failed| failed.tier.as_ref() != Some(&tier))
            {
                self.purged.push(tier);
            }
        }
    }

    /// Notes the last error of a tier, or that the server did not answer.
    fn fail(&mut self, server: Option<&str>, tier: Option<&str>, error: String) {
        let failed = Failed { server: server.map(str::to_owned), tier: tier.map(str::to_owned), error };
        self.failed.retain(|known| (&known.server, &known.tier) != (&failed.server, &failed.tier));
        self.failed.push(failed);
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
    let FloorSpec { seed, width, height, kind, ref pack, .. } = *pattern;
    let mut query = format!("seed={seed}&width={width}&height={height}");
    if kind != 0 {
        query += &format!("&kind={}", names::kind_of(pattern));
    }
    if !pack.is_empty() {
        query += &format!("&pack={pack}");
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

    fn purged(tiers: &[(&str, Option<&str>)]) -> Purged {
        let result = |(tier, error): &(&str, Option<&str>)| {
            let (done, error) = (error.is_none(), error.map(str::to_owned));
            TierResult { tier: (*tier).to_owned(), done, error }
        };
        Purged { floors: 10, tiers: tiers.iter().map(result).collect() }
    }

    #[test]
    fn a_tier_that_failed_once_is_not_purged() {
        let mut sum = PurgeJson::default();
        for redis in [None, Some("open"), None] {
            sum.add(None, purged(&[("lru", None), ("redis", redis)]));
        }
        assert_eq!(sum.purged, ["lru"]);
        assert_eq!(sum.failed.iter().map(Failed::to_string).collect::<Vec<_>>(), ["redis: open"]);
    }

    #[test]
    fn each_failure_names_its_server() {
        let mut sum = PurgeJson::default();
        sum.add(Some("http://a"), purged(&[("lru", None), ("redis", Some("open"))]));
        sum.add(Some("http://b"), purged(&[("lru", None), ("redis", Some("full"))]));
        sum.fail(Some("http://c"), None, "refused".to_owned());
        assert_eq!(sum.purged, ["lru"]);
        let failed: Vec<_> = sum.failed.iter().map(Failed::to_string).collect();
        assert_eq!(failed, ["http://a: redis: open", "http://b: redis: full", "http://c: refused"]);
    }
}
