//! `floorctl pack`: lists the packs of a server, and saves one.

use clap::{Args, Subcommand};
use comfy_table::{Table, presets::UTF8_HORIZONTAL_ONLY};
use floor_client::PackInfo;
use floor_proto::pack::PackRef;
use indicatif::HumanCount;

use crate::{
    cli::Server,
    json,
    output::{self, OutputFile, ReportFormat},
    target,
};

const AFTER_HELP: &str = "\
`list` prints the versions that the server holds. A version that is not current was replaced while the server ran, or its \
operator keeps it: floors of it are served to those who name it as NAME@HASH. With --json, prints the message \
floors.v1.ListPacksResponse in proto3's JSON.

`get` saves the files of a pack as NAME.floorpack, after checking its hash.

Examples:
  floorctl pack list
  floorctl pack list --json | jq -r '.packs[].name'
  floorctl pack get mine --output mine.floorpack
  floorctl get 42/7 --pack mine";

/// List the packs of the server, or save one
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Pack {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Show the packs that the server has, in all versions that it holds
    List {
        #[command(flatten)]
        report: ReportFormat,
    },
    /// Save the files of a pack
    Get {
        /// NAME for its current version, or NAME@HASH
        #[arg(value_parser = target::pack, value_name = "PACK")]
        pack: String,
        /// The file to write; - for standard output
        #[arg(long, short, value_name = "FILE")]
        output: OutputFile,
    },
}

impl Pack {
    pub(crate) async fn run(self, server: &Server) -> anyhow::Result<()> {
        let client = server.connect().await?;
        match self.action {
            Action::List { report } => {
                let packs = client.packs().await?;
                if report.json {
                    return output::print_json(&json::packs(packs));
                }
                output::print(table(&packs))
            }
            Action::Get { pack, output } => {
                let pack = client.pack(&pack).await?;
                output.write(|out| Ok(out.write_all(&pack.file)?))
            }
        }
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
