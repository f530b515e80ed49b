//! `floorctl stats`: shows the contents and the writes of each tier.

use clap::Args;
use comfy_table::{Table, presets::UTF8_HORIZONTAL_ONLY};
use floor_proto::operations::{self, TierHoldings, Writes};
use indicatif::{HumanBytes, HumanCount};

use crate::{
    output::{self, ReportFormat},
    server::Server,
    tenant::{Whose, owned},
};

const AFTER_HELP: &str = "\
If size exceeds limit, the tier evicts floors. disk is the size of the tier's files, including free space \
in them. stored, failed, dropped and waiting count the queued writes of the tier. `floorctl tiers` shows the costs of \
the tiers. Calls the operations port.

Examples:
  floorctl stats
  floorctl stats --json | jq '.tiers[] | select(.writes.dropped > 0)'";

/// Show the contents, the limit and the write counts of each tier
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Stats {
    #[command(flatten)]
    whose: Whose,
    #[command(flatten)]
    report: ReportFormat,
}

impl Stats {
    pub(crate) async fn run(self, server: &Server) -> anyhow::Result<()> {
        let stats: operations::Stats = server.operations()?.get(&self.whose.path("/stats")).await?;
        if self.report.json {
            return output::print_json(&stats);
        }
        output::print(table(&stats.tiers))
    }
}

fn table(tiers: &[TierHoldings]) -> Table {
    let header = ["tier", "entries", "size", "limit", "disk", "corrupt", "stored", "failed", "dropped", "waiting"];
    let bytes = |bytes: Option<u64>| bytes.map_or_else(|| "-".to_owned(), |bytes| HumanBytes(bytes).to_string());
    let row = |tier: &TierHoldings| {
        let written = |count: fn(&Writes) -> u64| {
            tier.writes.as_ref().map_or_else(|| "-".to_owned(), |writes| HumanCount(count(writes)).to_string())
        };
        [
            owned(tier.tenant.as_deref(), &tier.tier),
            tier.entries.map_or_else(|| "-".to_owned(), |entries| HumanCount(entries).to_string()),
            bytes(tier.bytes),
            bytes(tier.limit_bytes),
            bytes(tier.disk_bytes),
            HumanCount(tier.corrupt).to_string(),
            written(|writes| writes.stored),
            written(|writes| writes.failed),
            written(|writes| writes.dropped),
            written(|writes| writes.waiting),
        ]
    };
    output::table(UTF8_HORIZONTAL_ONLY, header, tiers.iter().map(row), 1..=9)
}
