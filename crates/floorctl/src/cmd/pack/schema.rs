//! `floorctl pack schema`: prints the JSON Schema of `pack.toml`.

use clap::Args;
use floor_gen::Pack;

use crate::output;

const AFTER_HELP: &str = "\
Editors with support for TOML check pack.toml against it while you type, and complete keys. `floorctl pack new` writes it \
as .pack.schema.json beside pack.toml, whose first line names it; files that begin with a dot are not part of the pack.

Examples:
  floorctl pack schema > mine/.pack.schema.json";

/// Print the JSON Schema of pack.toml
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Schema {}

impl Schema {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        output::print(Pack::schema().trim_end())
    }
}
