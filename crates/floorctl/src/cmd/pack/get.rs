//! `floorctl pack get`: saves a pack of a server.

use anyhow::Context as _;
use clap::Args;
use floor_gen::pack::Files;

use crate::{output::OutputFile, server::Server, target};

const AFTER_HELP: &str = "\
Saves the files of a pack as one .floorpack file, after checking its hash and the paths in it.

Examples:
  floorctl pack get mine --output mine.floorpack
  floorctl get 42/7 --pack mine";

/// Save a pack of the server
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Get {
    /// NAME for its current version, or NAME@HASH
    #[arg(value_parser = target::pack, value_name = "PACK")]
    pack: String,
    /// The file to write; - for standard output
    #[arg(long, short, value_name = "FILE")]
    output: OutputFile,
}

impl Get {
    pub(crate) async fn run(self, server: &Server) -> anyhow::Result<()> {
        let pack = server.connect().await?.pack(&self.pack).await?;
        // Whoever unpacks it writes to the paths in it.
        Files::from_bytes(&pack.file).context("the server sent no pack, and nothing was written")?;
        self.output.write(|out| Ok(out.write_all(&pack.file)?))
    }
}
