//! `floorctl schema`: prints the JSON Schema of floors.

use clap::Args;

use crate::output;

const AFTER_HELP: &str = "\
The schema of what `get`, and `export` with --to json, print. Many editors check a file against it while you type.

Examples:
  floorctl schema > floor.schema.json";

/// The schema of floors, which is also a file of its own for other programs.
pub(crate) const FLOOR: &str = include_str!("../../../../docs/schema/floor.schema.json");

/// Print the JSON Schema of floors
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Schema {}

impl Schema {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        output::print(FLOOR.trim_end())
    }
}
