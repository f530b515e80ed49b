//! `floorctl tiers`: shows statistics of the tiers and whether the policy uses them.

use std::time::Duration;

use clap::Args;
use comfy_table::{Table, presets::UTF8_HORIZONTAL_ONLY};
use floor_client::TierInfo;
use indicatif::{HumanBytes, HumanCount};

use crate::{
    json,
    output::{self, ReportFormat},
    server::Server,
};

const AFTER_HELP: &str = "\
The tiers are listed in lookup order. Generation is last: it provides floors that no tier holds. The server measures \
the costs in its own lookups. They are shown in microseconds (us), or nanoseconds (ns) below one. h is the share of lookups that find the floor, T the response time of a lookup, and G the time to \
generate a floor. The server uses a tier while h x G exceeds T. It adds CPU time to both, at a price that is zero \
while cores are idle. `asked` is the share of lookups that used the tier. With --json, \
prints the message floors.v1.ServerInfo in proto3's JSON.

Examples:
  floorctl tiers
  floorctl tiers --json | jq '.tiers[] | {name, hits, hitRatio}'";

/// Show the hits, the misses, the costs and the verdict of each tier
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Tiers {
    #[command(flatten)]
    report: ReportFormat,
}

impl Tiers {
    pub(crate) async fn run(self, server: &Server) -> anyhow::Result<()> {
        let info = server.connect().await?.server_info().await?;
        if self.report.json {
            return output::print_json(&json::server_info(&info));
        }
        output::print(format_args!("{}\n{}", counts_table(&info.tiers), policy_table(&info.tiers)))
    }
}

/// Share of hits in all answered lookups; `None` before the first.
fn hit_rate(tier: &TierInfo) -> Option<f64> {
    let lookups = tier.hits + tier.misses;
    (lookups > 0).then(|| tier.hits as f64 / lookups as f64)
}

/// Lookups, contents and costs of each tier.
fn counts_table(tiers: &[TierInfo]) -> Table {
    let header = ["tier", "hits", "misses", "hit rate", "errors", "bypasses", "entries", "size", "per hit", "per miss"];
    let row = |tier: &TierInfo| {
        [
            tier.name.clone(),
            HumanCount(tier.hits).to_string(),
            HumanCount(tier.misses).to_string(),
            hit_rate(tier).map_or_else(|| "-".to_owned(), |rate| format!("{:.1} %", rate * 100.0)),
            HumanCount(tier.errors).to_string(),
            HumanCount(tier.bypasses).to_string(),
            HumanCount(tier.entries).to_string(),
            HumanBytes(tier.bytes).to_string(),
            cost(tier.hit_cost_us),
            cost(tier.miss_cost_us),
        ]
    };
    output::table(UTF8_HORIZONTAL_ONLY, header, tiers.iter().map(row), 1..=9)
}

/// The values behind the verdict on each tier, and its age.
fn policy_table(tiers: &[TierInfo]) -> Table {
    let header = ["tier", "h", "T", "G", "h x G", "asked", "verdict", "reason", "for"];
    let row = |tier: &TierInfo| {
        [
            tier.name.clone(),
            format!("{:.3}", tier.hit_ratio),
            cost(tier.probe_cost_us),
            cost(tier.generation_cost_us),
            cost(tier.hit_ratio * tier.generation_cost_us),
            format!("{:.0} %", tier.asked_ratio * 100.0),
            tier.verdict.clone(),
            tier.reason.clone(),
            humantime::format_duration(Duration::from_secs(tier.verdict_seconds)).to_string(),
        ]
    };
    output::table(UTF8_HORIZONTAL_ONLY, header, tiers.iter().map(row), 1..=5)
}

/// The cost as text; 0 means not measured.
fn cost(micros: f64) -> String {
    match micros {
        0.0 => "-".to_owned(),
        under if under < 1.0 => format!("{:.0} ns", under * 1000.0),
        _ => format!("{micros:.1} us"),
    }
}
