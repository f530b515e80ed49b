//! `floorctl purge`: removes floors from the tiers: some by their names, every stored floor of a tower or of a pack, or all.

use std::{fmt, io::Write as _};

use anyhow::{bail, ensure};
use clap::Args;
use floor_client::{FloorSpec, v1::View};
use floor_export::names;
use floor_proto::seed::seed;
use floor_proto::{
    operations::{Purged, PurgedTier, PurgedTiers, TierResult},
    pack::{InvalidPackRef, PackRef},
};
use futures_util::{StreamExt as _, stream::FuturesUnordered};
use indicatif::ProgressBar;
use serde::Serialize;

use crate::{
    numbers::Numbers,
    operations::Operations,
    output::{self, ReportFormat},
    progress,
    server::Server,
    target::FloorSelection,
    tenant::{Whose, owned},
};

const AFTER_HELP: &str = "\
Removes the floors with the given size and kind from every tier. The defaults are 100x100 and the kind \
that the tower's schedule gives each number. Floors of other sizes and kinds stay. The next request for a removed \
floor generates it again. --tower removes every stored floor of a tower, of any size, kind and generator version, \
--of-pack those of a pack in every tower, and --all those of every tower; a floor that is stored meanwhile may stay. Each server keeps floors in its own memory, also if they share a Redis: name all of them. They are \
purged at once, and each has its line when it is done; if one does not answer, the others are purged. A purge takes as long \
as the stores do, and a server that stops answering is given up after 3 s.

Calls the operations port, not the port for players. Exit code 1 if a tier did not remove all of the floors.

Examples:
  floorctl purge 42/7
  floorctl purge --seed 42 --numbers 1-1000
  floorctl purge --seed 42 --numbers 1-1000 --size 64x64 --kind boss
  floorctl purge --tenant acme 42/7
  floorctl purge --tower 42
  floorctl purge --of-pack mine@0123456789abcdef
  floorctl --ops http://10.0.0.1:50052,http://10.0.0.2:50052 purge --all";

/// Remove floors from every tier
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP, mut_group("which", |which| which.args(["tower", "all", "of_pack"])))]
pub(crate) struct Purge {
    #[command(flatten)]
    selection: FloorSelection,
    /// Every stored floor of the tower with this seed, decimal or 0x hexadecimal
    #[arg(long, value_name = "SEED", value_parser = seed, conflicts_with_all = OTHER_FLAGS)]
    tower: Option<u64>,
    /// Every stored floor
    #[arg(long, conflicts_with_all = OTHER_FLAGS)]
    all: bool,
    /// Every stored floor of a pack: of NAME@HASH that version, of NAME every version that the server holds
    #[arg(long, value_name = "PACK", value_parser = pack, conflicts_with_all = OTHER_FLAGS)]
    of_pack: Option<String>,
    #[command(flatten)]
    whose: Whose,
    #[command(flatten)]
    report: ReportFormat,
}

/// The name of a pack, which needs no escapes in a URL.
fn pack(text: &str) -> Result<String, InvalidPackRef> {
    PackRef::parse(text).map(|reference| reference.to_string())
}

/// The flags that narrow a choice of floors.
const OTHER_FLAGS: [&str; 7] = ["seed", "width", "height", "size", "kind", "pack", "players"];

/// What each server removed of a tower, of a pack or of everything.
#[derive(Serialize)]
struct StoresJson {
    servers: Vec<ServerJson>,
}

#[derive(Serialize)]
struct ServerJson {
    server: String,
    tiers: Vec<PurgedTier>,
    /// Why the server did not answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

#[derive(Serialize, Default)]
struct PurgeJson {
    floors: u64,
    /// The tiers that removed every floor, of each server that was asked.
    purged: Vec<String>,
    /// The tiers that did not, with their last error, and the servers that did not answer.
    failed: Vec<Failed>,
}

#[derive(Serialize, Debug, Clone, PartialEq, Eq)]
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
        match (self.tower, &self.of_pack, self.all) {
            (Some(seed), ..) => self.purge_stores(server, &format!("/purge?tower={seed}")).await,
            (None, Some(pack), _) => self.purge_stores(server, &format!("/purge?pack={pack}")).await,
            (None, None, true) => self.purge_stores(server, "/purge?all=true").await,
            (None, None, false) => self.purge_floors(server).await,
        }
    }

    /// Calls `path` of all servers at once, and prints a row for each when it is done.
    async fn purge_stores(&self, server: &Server, path: &str) -> anyhow::Result<()> {
        let ports: Vec<_> = server.each_operations().collect();
        let path = self.whose.path(path);
        let purge = |operations @ Operations { url, .. }| {
            let path = &path;
            async move { (url, operations.post::<PurgedTiers>(path).await) }
        };
        let mut open: Vec<_> = ports.iter().map(|operations| operations.url).collect();
        let mut calls: FuturesUnordered<_> = ports.iter().copied().map(purge).collect();
        let (mut servers, mut failed) = (Vec::new(), Vec::new());
        let clock = progress::clock("purging");
        while let Some((url, answer)) = next_done(&clock, &mut open, &mut calls).await {
            let (tiers, error) = match answer {
                Ok(PurgedTiers { tiers }) => (tiers, None),
                Err(error) if ports.len() == 1 => return Err(error),
                Err(error) => (Vec::new(), Some(format!("{error:#}"))),
            };
            let server = ServerJson { server: url.to_owned(), tiers, error };
            if !self.report.json {
                clock.suspend(|| output::print(&server))?;
            }
            if !server.is_purged() {
                failed.push(url);
            }
            servers.push(server);
        }
        clock.finish_and_clear();
        if self.report.json {
            output::print_json(&StoresJson { servers })?;
        }
        summary(ports.len(), &failed)
    }

    /// The same for floors that are named.
    async fn purge_floors(&self, server: &Server) -> anyhow::Result<()> {
        let numbers = self.selection.numbers();
        let ports: Vec<_> = server.each_operations().collect();
        let bar = progress::bar("purging", numbers.len() * ports.len() as u64);
        let paths: Vec<_> = queries("/purge", &self.selection.pattern(), &numbers).collect();
        let purge = |operations @ Operations { url, .. }| {
            let (paths, bar) = (&paths, &bar);
            async move {
                let mut answers = Vec::new();
                for path in paths {
                    match operations.post::<Purged>(&self.whose.path(path)).await {
                        Ok(purged) => {
                            bar.inc(purged.floors);
                            answers.push(purged);
                        }
                        Err(error) => return (url, (answers, Some(error))),
                    }
                }
                (url, (answers, None))
            }
        };
        let mut open: Vec<_> = ports.iter().map(|operations| operations.url).collect();
        let mut calls: FuturesUnordered<_> = ports.iter().copied().map(purge).collect();
        let mut all = PurgeJson { floors: numbers.len(), ..PurgeJson::default() };
        let mut failed = Vec::new();
        while let Some((url, (answers, error))) = next_done(&bar, &mut open, &mut calls).await {
            let name = (ports.len() > 1).then_some(url);
            let mut one = PurgeJson { floors: numbers.len(), ..PurgeJson::default() };
            for purged in answers {
                one.add(name, &purged);
                all.add(name, &purged);
            }
            match (error, name) {
                (None, _) => {}
                (Some(error), None) => return Err(error),
                (Some(error), Some(_)) => {
                    one.fail(name, None, format!("{error:#}"));
                    all.fail(name, None, format!("{error:#}"));
                }
            }
            if !self.report.json {
                bar.suspend(|| output::print(one.row(name)))?;
            }
            if !one.failed.is_empty() {
                failed.push(url);
            }
        }
        bar.finish_and_clear();
        if self.report.json {
            output::print_json(&all)?;
        }
        match &all.failed[..] {
            failed if ports.len() == 1 && !failed.is_empty() => {
                let errors: Vec<_> = failed.iter().map(Failed::to_string).collect();
                bail!("not every floor is gone from {}", errors.join("; "))
            }
            _ => summary(ports.len(), &failed),
        }
    }
}

/// The result of the next server that is done, which is then `open` no more. `None`: all are.
async fn next_done<'a, T>(
    bar: &ProgressBar,
    open: &mut Vec<&'a str>,
    calls: &mut FuturesUnordered<impl Future<Output = (&'a str, T)>>,
) -> Option<(&'a str, T)> {
    let done = progress::waiting(bar, || open.join(", "), calls.next()).await;
    if let Some((url, _)) = &done {
        open.retain(|other| other != url);
    }
    done
}

/// Says how many of several servers were purged. The error names the others.
fn summary(servers: usize, failed: &[&str]) -> anyhow::Result<()> {
    let purged = format!("{} of {} purged", servers - failed.len(), output::counted(servers as u64, "server"));
    if servers > 1 {
        writeln!(output::stderr(), "{purged}")?;
    }
    ensure!(failed.is_empty(), "not every floor is gone from {}", failed.join(", "));
    Ok(())
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = [&self.server, &self.tier].into_iter().flatten();
        names.into_iter().try_for_each(|name| write!(f, "{name}: "))?;
        f.write_str(&self.error)
    }
}

impl ServerJson {
    /// Whether every tier has removed the floors.
    fn is_purged(&self) -> bool {
        self.error.is_none() && self.tiers.iter().all(|tier| tier.done.done)
    }
}

/// `http://10.0.0.1:50052: lru 120, redis 7 (timed out)`.
impl fmt::Display for ServerJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.server)?;
        if let Some(error) = &self.error {
            return f.write_str(error);
        }
        for (index, PurgedTier { done, removed }) in self.tiers.iter().enumerate() {
            let tier = owned(done.tenant.as_deref(), &done.tier);
            write!(f, "{}{tier} {removed}", if index == 0 { "" } else { ", " })?;
            if let Some(error) = &done.error {
                write!(f, " ({error})")?;
            }
        }
        Ok(())
    }
}

impl PurgeJson {
    /// `Purged 10 floors from lru, redis`, after the server if there are several; with what failed there.
    fn row(&self, server: Option<&str>) -> String {
        let server = server.map(|server| format!("{server}: ")).unwrap_or_default();
        let failed: Vec<_> = self.failed.iter().map(|one| Failed { server: None, ..one.clone() }.to_string()).collect();
        if self.purged.is_empty() && !failed.is_empty() {
            return format!("{server}{}", failed.join("; "));
        }
        let tiers = if self.purged.is_empty() { "no tier".to_owned() } else { self.purged.join(", ") };
        let row = format!("{server}Purged {} from {tiers}", output::counted(self.floors, "floor"));
        if failed.is_empty() { row } else { format!("{row}, not from {}", failed.join("; ")) }
    }

    /// Adds an answer of `server`.
    fn add(&mut self, server: Option<&str>, Purged { tiers, .. }: &Purged) {
        for TierResult { tier, tenant, error, .. } in tiers {
            let tier = owned(tenant.as_deref(), tier);
            if let Some(error) = error.clone() {
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
    if pattern.view() == View::Player {
        query += "&view=player";
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
            TierResult { tier: (*tier).to_owned(), tenant: None, done, error }
        };
        Purged { floors: 10, tiers: tiers.iter().map(result).collect() }
    }

    #[test]
    fn a_tier_that_failed_once_is_not_purged() {
        let mut sum = PurgeJson::default();
        for redis in [None, Some("open"), None] {
            sum.add(None, &purged(&[("lru", None), ("redis", redis)]));
        }
        assert_eq!(sum.purged, ["lru"]);
        assert_eq!(sum.failed.iter().map(Failed::to_string).collect::<Vec<_>>(), ["redis: open"]);
    }

    #[test]
    fn a_server_has_a_row_with_its_tiers() {
        let tier = |tier: &str, removed, error: Option<&str>| {
            let (done, error) = (error.is_none(), error.map(str::to_owned));
            PurgedTier { done: TierResult { tier: tier.to_owned(), tenant: None, done, error }, removed }
        };
        let server = |tiers, error| ServerJson { server: "http://a".to_owned(), tiers, error };
        let purged = server(vec![tier("lru", 120, None), tier("redis", 7, None)], None);
        assert_eq!((purged.to_string().as_str(), purged.is_purged()), ("http://a: lru 120, redis 7", true));
        let failed = server(vec![tier("lru", 120, None), tier("redis", 7, Some("open"))], None);
        assert_eq!((failed.to_string().as_str(), failed.is_purged()), ("http://a: lru 120, redis 7 (open)", false));
        let silent = server(Vec::new(), Some("refused".to_owned()));
        assert_eq!((silent.to_string().as_str(), silent.is_purged()), ("http://a: refused", false));
    }

    #[test]
    fn each_failure_names_its_server() {
        let mut sum = PurgeJson::default();
        sum.add(Some("http://a"), &purged(&[("lru", None), ("redis", Some("open"))]));
        sum.add(Some("http://b"), &purged(&[("lru", None), ("redis", Some("full"))]));
        sum.fail(Some("http://c"), None, "refused".to_owned());
        assert_eq!(sum.purged, ["lru"]);
        let failed: Vec<_> = sum.failed.iter().map(Failed::to_string).collect();
        assert_eq!(failed, ["http://a: redis: open", "http://b: redis: full", "http://c: refused"]);
    }
}
