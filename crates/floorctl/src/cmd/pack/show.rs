//! `floorctl pack show`: draws sheets of a pack's floors.

use std::{
    fs::{self, File},
    io::{BufWriter, Write as _},
    path::PathBuf,
};

use anyhow::Context as _;
use clap::Args;
use floor_gen::Kind;
use floor_proto::seed::seed;

use crate::{
    numbers, output,
    pack_sheet::{FLOORS, Selection},
    pack_source::PackSource,
    progress, target,
};

const AFTER_HELP: &str = "\
Writes a PNG for each kind of floor, NAME-KIND.png, with 16 floors on it, each of another tower. They are floors on \
which the pack's schedule has that kind. With --seed, they are the next 16 floors of that tower: in NAME-SEED.png of \
every kind, with --kind in NAME-SEED-KIND.png. The word above a floor is its name, for `floorctl render --pack PATH`.

Examples:
  floorctl pack show mine --output pictures
  floorctl pack show mine --kind cavern --size 64x48 --scale 4
  floorctl pack show mine --seed 42 --number 7
  floorctl pack show tower --number 500";

/// Draw 16 floors of each kind, or of one tower, as PNG
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Show {
    /// The folder of the pack, a .floorpack file, or tower
    #[arg(value_name = "PATH")]
    source: PackSource,
    /// The folder for the pictures, created unless it exists
    #[arg(long, short, value_name = "DIR", default_value = ".")]
    output: PathBuf,
    /// Draw floors of this tower alone: a number, decimal or 0x hexadecimal, or a text
    #[arg(long, value_parser = seed, allow_negative_numbers = true)]
    seed: Option<u64>,
    /// The lowest floor number, 1 to 1,000,000
    #[arg(long, default_value_t = 1, value_parser = numbers::parse_one, allow_negative_numbers = true)]
    number: u32,
    /// Draw this kind alone
    #[arg(long, value_parser = target::kind)]
    kind: Option<Kind>,
    /// Width and height of the floors; by default what the pack says
    #[arg(long, value_name = "WxH", value_parser = target::size)]
    size: Option<(u32, u32)>,
    /// Width and height of a cell, in pixels; by default 6, and less for large floors
    #[arg(long, value_name = "PIXELS", value_parser = clap::value_parser!(u32).range(1..=16))]
    scale: Option<u32>,
}

impl Show {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let pack = self.source.read()?;
        fs::create_dir_all(&self.output).with_context(|| format!("cannot create {}", self.output.display()))?;
        let kinds = match (self.kind, self.seed) {
            (None, None) => Kind::ALL.map(Some).to_vec(),
            (kind, _) => vec![kind],
        };
        let bar = progress::bar("drawing", kinds.len() as u64 * u64::from(FLOORS));
        for kind in kinds {
            let seed = self.seed.map(|seed| format!("-{seed}")).unwrap_or_default();
            let of_kind = kind.map(|kind| format!("-{}", kind.name())).unwrap_or_default();
            let path = self.output.join(format!("{}{seed}{of_kind}.png", pack.pack().name()));
            let cannot = || format!("cannot write {}", path.display());
            let mut file = BufWriter::new(File::create(&path).with_context(cannot)?);
            let selection =
                Selection { seed: self.seed, number: self.number, kind, size: self.size.unwrap_or_default() };
            selection.draw(&mut file, &pack, self.scale).with_context(cannot)?;
            file.flush().with_context(cannot)?;
            bar.inc(FLOORS.into());
            bar.suspend(|| writeln!(output::stderr(), "wrote {}", path.display()))?;
        }
        bar.finish_and_clear();
        Ok(())
    }
}
