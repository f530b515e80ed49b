//! `floorctl pack list`: lists the packs of a server.

use clap::Args;
use comfy_table::{Table, presets::UTF8_HORIZONTAL_ONLY};
use floor_client::PackInfo;
use floor_proto::pack::PackRef;
use indicatif::HumanCount;

use crate::{
    json,
    output::{self, ReportFormat},
    server::Server,
};

const AFTER_HELP: &str = "\
Prints the versions that the server holds. A version that is not current was replaced while the server ran, or its \
operator keeps it: floors of it are served to those who name it as NAME@HASH. With --json, prints the message \
floors.v1.ListPacksResponse in proto3's JSON.

Examples:
  floorctl pack list
  floorctl pack list --json | jq -r '.packs[].name'";

/// Show the packs that the server has, in all versions that it holds
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct List {
    #[command(flatten)]
    report: ReportFormat,
}

impl List {
    pub(crate) async fn run(self, server: &Server) -> anyhow::Result<()> {
        let packs = server.connect().await?.packs().await?;
        if self.report.json {
            return output::print_json(&json::packs(packs));
        }
        output::print(table(&packs))
    }
}

fn table(packs: &[PackInfo]) -> Table {
    let header = ["pack", "current", "authored", "description"];
    let row = |pack: &PackInfo| {
        [
            PackRef { name: &pack.name, hash: Some(pack.hash) }.to_string(),
            if pack.current { "yes" } else { "no" }.to_owned(),
            HumanCount(pack.floors_authored.into()).to_string(),
            pack.description.clone(),
        ]
    };
    output::table(UTF8_HORIZONTAL_ONLY, header, packs.iter().map(row), 2..=2)
}
