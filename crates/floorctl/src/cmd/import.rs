//! `floorctl import`: reads the edited map of an editor, and writes its floor or a pack's authored floor.

use std::{
    io::Write as _,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context as _, bail};
use clap::Args;
use floor_client::v1::FloorSpec;
use floor_pack::rules::{self, BrokenRule};

use crate::{
    cmd::validate,
    failure::UsageError,
    output::{self, OutputFile},
    saved::{self, SavedFile, SavedFloor},
    source,
};

const AFTER_HELP: &str = "\
Reads a map that `floorctl export` wrote for Tiled (.tmj, or .tmx after Tiled saved it) or LDtk (.ldtk) and that somebody \
has edited, and checks its floor against every rule, as `validate` does. The boxes of rooms, the metrics and the content \
hash follow from the map and are set anew. Files that the map names, such as templates, are read from its folder.

Nothing is written if a rule is broken, or if the map holds anything that no floor keeps: each layer, object and property \
of that kind is named. To keep something for yourself, begin its name with _ .

With --into, the floor becomes an authored floor of a pack: floors/NUMBER.json, for every tower, or \
floors/SEED-NUMBER.json, with --one-tower. A floor that somebody edited by hand since is not overwritten without --force.

Exit codes: 0 if the floor was written, with everything that the map holds; 1 if not.

Examples:
  floorctl import maps/42-7-halls-100x100.tmj --output floor.json
  floorctl import boss.ldtk --into packs/mine
  floorctl import boss.tmj --into packs/mine --one-tower";

/// Read an edited map of Tiled or LDtk as a floor
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Import {
    /// The map; - for standard input
    #[arg(value_name = "MAP", value_parser = map)]
    map: SavedFile,
    /// The file for the floor: JSON if its name ends in .json, else bytes; - for standard output
    #[arg(long, short, value_name = "FILE", help_heading = "Output", required_unless_present = "into")]
    output: Option<OutputFile>,
    /// The folder of the pack that gets the floor
    #[arg(long, value_name = "DIR", help_heading = "Output", conflicts_with = "output")]
    into: Option<PathBuf>,
    /// The pack has the floor in the tower of the map only
    #[arg(long, help_heading = "Output", requires = "into")]
    one_tower: bool,
    /// Overwrite a floor that was edited by hand
    #[arg(long, help_heading = "Output")]
    force: bool,
    /// Report as JSON
    #[arg(long, help_heading = "Output")]
    json: bool,
}

fn map(text: &str) -> Result<SavedFile, String> {
    saved::file_named(text).ok_or_else(|| "there is no such file".to_owned())
}

impl Import {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        let saved = self.map.read()?;
        let file = self.destination(saved.message.spec.as_ref())?;
        let broken = rules::broken_by(&saved.message);
        let corrects = broken.iter().all(BrokenRule::is_metric);
        if !matches!(file, OutputFile::Stdout) {
            let mut out = output::stdout();
            validate::report(&mut out, &saved, &broken, corrects, self.json)?;
            out.flush()?;
        }
        if let Some(tally) = &saved.tally {
            writeln!(output::stderr(), "{tally}")?;
        }
        source::print_notes(&saved)?;
        if !corrects {
            writeln!(output::stderr(), "nothing was written: the floor breaks a rule")?;
            return Ok(ExitCode::FAILURE);
        }
        if !self.force {
            refuse_edited(&file)?;
        }
        validate::write_rehashed(&file, self.fitted(saved), &broken)?;
        if let OutputFile::Path(path) = file {
            writeln!(output::stderr(), "wrote {}", path.display())?;
        }
        Ok(ExitCode::SUCCESS)
    }

    fn destination(&self, spec: Option<&FloorSpec>) -> anyhow::Result<OutputFile> {
        match (&self.output, &self.into, spec) {
            (_, Some(pack), Some(spec)) => authored(pack, spec, self.one_tower).map(OutputFile::Path),
            (Some(file), ..) => Ok(file.clone()),
            _ => Err(UsageError("the map names no floor".to_owned()).into()),
        }
    }

    /// An authored floor is of the pack that holds it, and names none.
    fn fitted(&self, saved: SavedFloor) -> SavedFloor {
        let SavedFloor { mut message, stated_hash, .. } = saved;
        if let (Some(_), Some(spec)) = (&self.into, &mut message.spec) {
            spec.pack.clear();
            message.pack_hash = 0;
        }
        SavedFloor::rehashed(message, stated_hash)
    }
}

/// An error if the file has a floor that was edited after it was written.
fn refuse_edited(file: &OutputFile) -> anyhow::Result<()> {
    let OutputFile::Path(path) = file else { return Ok(()) };
    let present = std::fs::read(path).ok().and_then(|bytes| SavedFloor::parse(&bytes).ok());
    if present.is_some_and(|floor| floor.is_edited()) {
        bail!("{} was edited by hand; name another file, or overwrite it with --force", path.display());
    }
    Ok(())
}

/// The file of an authored floor of a pack.
fn authored(pack: &Path, spec: &FloorSpec, one_tower: bool) -> anyhow::Result<PathBuf> {
    if !pack.join("pack.toml").is_file() {
        let what = format!("--into {}: there is no pack.toml; `floorctl pack new` writes one", pack.display());
        return Err(UsageError(what).into());
    }
    let floors = pack.join("floors");
    std::fs::create_dir_all(&floors).with_context(|| format!("cannot create {}", floors.display()))?;
    let tower = if one_tower { format!("{}-", spec.seed) } else { String::new() };
    Ok(floors.join(format!("{tower}{}.json", spec.number)))
}
