//! `floorctl compact`: have the tiers give back room.

use std::io::Write as _;

use anyhow::bail;
use clap::Args;
use indicatif::HumanBytes;
use serde::{Deserialize, Serialize};

use crate::{
    cli::CallLimits,
    operations::Operations,
    output::{self, ReportFormat},
};

const AFTER_HELP: &str = "\
Behind the writes that wait, each store on disk removes what was found damaged and makes its files durable. Neither LMDB nor \
sled gives room back to the disk while it is open: both fill it again. docs/operating.md says how to shrink a store.

Example:
  floorctl compact";

/// Have each tier tidy up, and tell what it takes on disk
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Compact {
    #[command(flatten)]
    operations: Operations,
    #[command(flatten)]
    report: ReportFormat,
}

#[derive(Serialize, Deserialize)]
struct Compacted {
    tiers: Vec<Tier>,
}

#[derive(Serialize, Deserialize)]
struct Tier {
    tier: String,
    done: bool,
    error: Option<String>,
    before: Size,
    after: Size,
}

#[derive(Serialize, Deserialize)]
struct Size {
    bytes: u64,
    disk_bytes: Option<u64>,
}

impl Compact {
    pub(crate) async fn run(self, limits: &CallLimits) -> anyhow::Result<()> {
        let compacted: Compacted = self.operations.post(limits, "/compact").await?;
        if self.report.json {
            output::print_json(&compacted)?;
        } else {
            let mut out = output::stdout();
            for Tier { tier, before, after, .. } in &compacted.tiers {
                writeln!(out, "{tier}: {} -> {}", size(before), size(after))?;
            }
            out.flush()?;
        }
        match compacted.tiers.iter().find_map(|tier| Some((&tier.tier, tier.error.as_ref()?))) {
            None => Ok(()),
            Some((tier, error)) => bail!("{tier}: {error}"),
        }
    }
}

fn size(Size { bytes, disk_bytes }: &Size) -> String {
    match disk_bytes {
        Some(disk) => format!("{} in files of {}", HumanBytes(*bytes), HumanBytes(*disk)),
        None => HumanBytes(*bytes).to_string(),
    }
}
