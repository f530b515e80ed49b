//! `floorctl man`: writes the manual pages of floorctl and of its commands.

use std::{fs, path::PathBuf};

use anyhow::Context as _;
use clap::Args;

const AFTER_HELP: &str = "\
Examples:
  floorctl man --output ~/.local/share/man/man1";

/// Write the manual pages, one for floorctl and one for each command
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Man {
    /// The directory for the pages, created unless it exists
    #[arg(long, short, value_name = "DIR")]
    output: PathBuf,
}

impl Man {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        fs::create_dir_all(&self.output)
            .and_then(|()| clap_mangen::generate_to(super::command(), &self.output))
            .with_context(|| format!("cannot write manual pages to {}", self.output.display()))
    }
}
