//! `floorctl pack show`: draws sheets of a pack's floors.

use std::{
    fs::{self, File},
    io::{BufWriter, Write as _},
    path::PathBuf,
};

use anyhow::Context as _;
use clap::Args;
use floor_gen::Kind;

use crate::{output, pack_sheet, pack_source::PackSource, target};

const AFTER_HELP: &str = "\
Writes a PNG for each kind of floor, NAME-KIND.png, with 16 floors on it, each of another tower. They are floors on \
which the pack's schedule has that kind. The word above a floor is its name, for `floorctl render --pack PATH`.

Examples:
  floorctl pack show mine --output pictures
  floorctl pack show mine --kind cavern --size 100x80 --scale 4";

/// Draw 16 floors of each kind as PNG
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Show {
    /// The folder of the pack, a .floorpack file, or tower
    #[arg(value_name = "PATH")]
    source: PackSource,
    /// The folder for the pictures, created unless it exists
    #[arg(long, short, value_name = "DIR", default_value = ".")]
    output: PathBuf,
    /// Draw this kind alone
    #[arg(long, value_parser = target::kind)]
    kind: Option<Kind>,
    /// Width and height of the floors
    #[arg(long, value_name = "WxH", default_value = "64x64", value_parser = target::size)]
    size: (u32, u32),
    /// Width and height of a cell, in pixels
    #[arg(long, value_name = "PIXELS", default_value_t = 6, value_parser = clap::value_parser!(u32).range(1..=16))]
    scale: u32,
}

impl Show {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let pack = self.source.read()?;
        fs::create_dir_all(&self.output).with_context(|| format!("cannot create {}", self.output.display()))?;
        for kind in Kind::ALL.into_iter().filter(|kind| self.kind.is_none_or(|only| only == *kind)) {
            let path = self.output.join(format!("{}-{}.png", pack.pack().name(), kind.name()));
            let cannot = || format!("cannot write {}", path.display());
            let mut file = BufWriter::new(File::create(&path).with_context(cannot)?);
            pack_sheet::draw(&mut file, &pack, kind, self.size, self.scale).with_context(cannot)?;
            file.flush().with_context(cannot)?;
            writeln!(output::stderr(), "wrote {}", path.display())?;
        }
        Ok(())
    }
}
