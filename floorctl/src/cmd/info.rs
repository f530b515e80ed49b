//! `floorctl info`: shows version, limits and chain of the server.

use std::{io::Write as _, time::Duration};

use clap::Args;
use floor_client::FloorKind;
use indicatif::HumanCount;
use serde::Serialize;

use crate::{
    cli::Server,
    names,
    output::{self, ReportFormat},
};

const AFTER_HELP: &str = "\
Example:
  floorctl info --json | jq -r '.kinds[]'";

/// Show the version, the kinds of floor, the limits and the chain of the server
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Info {
    #[command(flatten)]
    report: ReportFormat,
}

#[derive(Serialize)]
struct InfoJson<'a> {
    server: &'a str,
    version: &'a str,
    generator_version: u32,
    kinds: Vec<String>,
    max_batch: u32,
    max_stream: u32,
    uptime_seconds: u64,
    chain: Vec<&'a str>,
}

impl Info {
    pub(crate) async fn run(self, server: &Server) -> anyhow::Result<()> {
        let client = server.connect().await?;
        let info = client.server_info().await?;
        let kind = |number: &i32| FloorKind::try_from(*number).map_or_else(|_| format!("kind {number}"), names::kind);
        let info = InfoJson {
            server: client.server(),
            version: &info.version,
            generator_version: info.generator_version,
            kinds: info.kinds.iter().map(kind).collect(),
            max_batch: info.max_batch,
            max_stream: info.max_stream,
            uptime_seconds: info.uptime_seconds,
            chain: info.tiers.iter().map(|tier| tier.name.as_str()).collect(),
        };
        if self.report.json {
            return output::print_json(&info);
        }
        let mut out = output::stdout();
        writeln!(out, "Floor server {} at {}", info.version, info.server)?;
        writeln!(out, "  up         {}", humantime::format_duration(Duration::from_secs(info.uptime_seconds)))?;
        writeln!(out, "  generator  version {}: {}", info.generator_version, info.kinds.join(", "))?;
        writeln!(
            out,
            "  limits     {} floors a batch, {} a stream",
            HumanCount(info.max_batch.into()),
            HumanCount(info.max_stream.into())
        )?;
        writeln!(out, "  chain      {}", info.chain.join(" > "))?;
        Ok(out.flush()?)
    }
}
