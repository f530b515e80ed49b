//! `floorctl info`: shows version, limits, chain and receipt keys of the server.

use std::{io::Write as _, time::Duration};

use clap::Args;
use floor_client::{FloorKind, v1::ReceiptKey};
use floor_export::names;
use indicatif::HumanCount;

use crate::{
    json,
    output::{self, ReportFormat},
    server::Server,
};

const AFTER_HELP: &str = "\
With --json, prints the message floors.v1.ServerInfo in proto3's JSON.

Example:
  floorctl info --json | jq -r '.kinds[]'";

/// Show the version, the kinds of floor, the limits, the chain and the receipt keys of the server
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Info {
    #[command(flatten)]
    report: ReportFormat,
}

impl Info {
    pub(crate) async fn run(self, server: &Server) -> anyhow::Result<()> {
        let client = server.connect().await?;
        let info = client.server_info().await?;
        if self.report.json {
            return output::print_json(&json::server_info(&info));
        }
        let kind = |number: &i32| FloorKind::try_from(*number).map_or_else(|_| format!("kind {number}"), names::kind);
        let kinds = info.kinds.iter().map(kind).collect::<Vec<_>>();
        let chain = info.tiers.iter().map(|tier| tier.name.as_str()).collect::<Vec<_>>();
        let mut out = output::stdout();
        writeln!(out, "Floor server {} at {}", info.version, client.server())?;
        writeln!(out, "  up         {}", humantime::format_duration(Duration::from_secs(info.uptime_seconds)))?;
        writeln!(out, "  generator  version {}: {}", info.generator_version, kinds.join(", "))?;
        writeln!(
            out,
            "  limits     {} floors a batch, {} a stream",
            HumanCount(info.max_batch.into()),
            HumanCount(info.max_stream.into())
        )?;
        writeln!(out, "  chain      {}", chain.join(" > "))?;
        for ReceiptKey { id, public_key } in &info.receipt_keys {
            let digits: String = public_key.iter().map(|byte| format!("{byte:02x}")).collect();
            writeln!(out, "  receipts   key {id}:{digits}")?;
        }
        Ok(out.flush()?)
    }
}
