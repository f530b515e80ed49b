//! `floorctl export`: writes a floor as a file of a level editor, of a virtual tabletop, or as JSON.

use std::{
    io::Write as _,
    path::{Path, PathBuf},
};

use clap::Args;
use floor_export::{Format, MAX_IMAGE_SIDE, picture::Appearance};

use crate::{
    cmd::render::MapStyle,
    export::{ExportTarget, Present, Written, format_parser},
    failure::UsageError,
    output,
    server::{FetchOptions, Server},
    source::{self, FloorSource},
};

const AFTER_HELP: &str = "\
The floor comes from the server, from this program's generator with --offline, or from a file that `floorctl get` wrote.

--output names a directory, which is created unless it exists, or the file of the map, if it ends in the format's \
extension: .tmj, .ldtk, .dd2vtt or .json. Tiled and LDtk also get their tilesets, beside the map; maps of one theme in one \
directory share them. Foundry also gets the picture and the journal. uvtt and json are one file, and go to standard \
output without --output.

A file that is there and differs is not overwritten: somebody may have edited it. Nothing is written then. Name another \
--output, or add --force. A file that is the same stays as it is.

The picture of uvtt and foundry is for players: it shows no monsters, loot, keys, traps and roles of rooms; locked doors look \
like doors, and secret ones like walls. It is night, except around lamps.

Examples:
  floorctl export 42/7 --offline --to tiled --output maps
  floorctl export floor.json --to ldtk --output floor.ldtk
  floorctl export 42/10 --to uvtt --scale 70 --output boss.dd2vtt
  floorctl export 42/7 --offline --to foundry --style map --output foundry
  floorctl export 42/7 --to json | jq .metrics";

/// Write a floor for a level editor, a virtual tabletop or a program
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Export {
    #[command(flatten)]
    source: FloorSource,
    #[command(flatten)]
    fetch: FetchOptions,
    /// The format to write
    #[arg(long, value_name = "FORMAT", help_heading = "Output", value_parser = format_parser())]
    to: Format,
    /// The directory or the file to write; - is standard output
    #[arg(long, short, value_name = "PATH", help_heading = "Output")]
    output: Option<PathBuf>,
    /// Overwrite files that are there and differ
    #[arg(long, help_heading = "Output")]
    force: bool,
    /// Pixels of a cell in the picture for a virtual tabletop; 50, or fewer if the floor is large
    #[arg(long, value_name = "PIXELS", help_heading = "Output", value_parser = clap::value_parser!(u32).range(8..=256))]
    scale: Option<u32>,
    /// How the picture for a virtual tabletop shows the floor
    #[arg(long, value_enum, default_value_t = MapStyle::Data, value_name = "STYLE", help_heading = "Output")]
    style: MapStyle,
    /// Light a virtual tabletop everywhere, and not only around lamps
    #[arg(long, help_heading = "Output")]
    day: bool,
}

impl Export {
    pub(crate) async fn run(self, server: &Server) -> anyhow::Result<()> {
        let drawn = self.scale.is_some() || self.style != MapStyle::Data || self.day;
        if drawn && !self.to.is_for_tables() {
            let what =
                "--scale, --style and --day are for --to uvtt and foundry; the tiles of editors have a fixed size";
            return Err(UsageError(what.to_owned()).into());
        }
        let output = self.output.as_deref().filter(|path| *path != Path::new("-"));
        if output.is_none() && !self.to.is_one_file() {
            let what = "this format is several files; name a directory or the map's file with --output";
            return Err(UsageError(what.to_owned()).into());
        }
        let (floor, served) = self.source.open(server, &self.fetch).await?;
        let longest = floor.width().max(floor.height());
        if self.scale.is_some_and(|scale| scale * longest > MAX_IMAGE_SIDE) {
            let most = MAX_IMAGE_SIDE / longest;
            return Err(UsageError(format!("--scale is at most {most} for a floor of {longest} cells")).into());
        }
        let target = output.map_or(ExportTarget::Stdout, |output| ExportTarget::new(output, self.to, &floor));
        let appearance = Appearance {
            look: self.source.look(&floor, server, served.as_ref()).await?,
            style: self.style.into(),
            scale: self.scale,
            is_day: self.day,
        };
        let files = self.to.files(&floor, target.stem(), &appearance)?;
        target.check_names(&files)?;
        for Written { path, present } in target.write(&files, self.force)? {
            let what = if present == Present::Same { "unchanged" } else { "wrote" };
            writeln!(output::stderr(), "{what} {}", path.display())?;
        }
        if let Some(served) = served {
            source::print_served(&served)?;
        }
        Ok(())
    }
}
