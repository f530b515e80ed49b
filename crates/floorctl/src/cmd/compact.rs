//! `floorctl compact`: compacts the stores on disk.

use std::io::Write as _;

use anyhow::bail;
use clap::Args;
use floor_proto::operations::{Compacted, CompactedTier, Size};
use indicatif::HumanBytes;

use crate::{
    output::{self, ReportFormat},
    progress,
    server::Server,
    tenant::{Whose, owned},
};

const AFTER_HELP: &str = "\
After its queued writes, each store on disk removes corrupt entries and flushes its files. The files of LMDB and sled \
do not shrink while they are open, but both reuse the free space. docs/operating.md explains how to shrink a store.

Example:
  floorctl compact";

/// Compact the stores of all tiers, and show their sizes before and after
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Compact {
    #[command(flatten)]
    whose: Whose,
    #[command(flatten)]
    report: ReportFormat,
}

impl Compact {
    pub(crate) async fn run(self, server: &Server) -> anyhow::Result<()> {
        let (operations, path) = (server.operations()?, self.whose.path("/compact"));
        let compacting = operations.post::<Compacted>(&path);
        let compacted =
            progress::waiting(&progress::clock("compacting"), || operations.url.to_owned(), compacting).await?;
        if self.report.json {
            output::print_json(&compacted)?;
        } else {
            let mut out = output::stdout();
            for CompactedTier { done, before, after } in &compacted.tiers {
                let tier = owned(done.tenant.as_deref(), &done.tier);
                writeln!(out, "{tier}: {} -> {}", size(before), size(after))?;
            }
            out.flush()?;
        }
        match compacted.tiers.iter().find_map(|tier| Some((&tier.done, tier.done.error.as_ref()?))) {
            None => Ok(()),
            Some((tier, error)) => bail!("{}: {error}", owned(tier.tenant.as_deref(), &tier.tier)),
        }
    }
}

fn size(Size { bytes, disk_bytes }: &Size) -> String {
    match disk_bytes {
        Some(disk) => format!("{} in files of {}", HumanBytes(*bytes), HumanBytes(*disk)),
        None => HumanBytes(*bytes).to_string(),
    }
}
