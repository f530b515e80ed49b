//! `floorctl backup`: copies a store on the server's disk.

use anyhow::bail;
use clap::Args;
use floor_proto::operations::BackedUp;
use indicatif::HumanBytes;

use crate::{
    output::{self, ReportFormat},
    progress,
    server::Server,
    tenant::Whose,
};

const AFTER_HELP: &str = "\
The server copies the store while it serves, to a directory beside the store that is named after it and the date \
(lmdb.backup-DATE), without the free space of the store. Floors that the server has not written yet are not in the copy. \
docs/operating.md explains how to restore it.

A server with tenants copies the store of one of them at a time: name it.

Examples:
  floorctl backup
  floorctl backup --tenant acme";

/// Copy the store of a tier on the server's disk, while the server serves
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Backup {
    /// The tier; only lmdb can be copied while it is in use
    #[arg(long, default_value = "lmdb", value_name = "TIER", value_parser = tier)]
    tier: String,
    #[command(flatten)]
    whose: Whose,
    #[command(flatten)]
    report: ReportFormat,
}

impl Backup {
    pub(crate) async fn run(self, server: &Server) -> anyhow::Result<()> {
        let (operations, path) = (server.operations()?, self.whose.path(&format!("/backup?tier={}", self.tier)));
        let copying = operations.post::<BackedUp>(&path);
        let copied = progress::waiting(&progress::clock("copying"), || operations.url.to_owned(), copying).await?;
        if self.report.json {
            output::print_json(&copied)?;
        } else if let (Some(path), Some(bytes)) = (&copied.path, copied.bytes) {
            output::print(format!("{}: {} in {path}", copied.done.tier, HumanBytes(bytes)))?;
        }
        match copied.done.error {
            None => Ok(()),
            Some(error) => bail!("{}: {error}", copied.done.tier),
        }
    }
}

/// A name that needs no escapes in a URL.
fn tier(name: &str) -> Result<String, String> {
    let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase());
    is_name.then(|| name.to_owned()).ok_or_else(|| "write the name of a tier, as lmdb".to_owned())
}
