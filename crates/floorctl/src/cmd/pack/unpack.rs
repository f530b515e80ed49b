//! `floorctl pack unpack`: writes the files of a pack into a folder.

use std::{fs, io::Write as _, path::PathBuf};

use anyhow::{Context as _, bail};
use clap::Args;

use crate::{
    output::{self, counted},
    pack_source::PackSource,
};

const AFTER_HELP: &str = "\
The folder must be empty or not exist. The pack is not checked, so that a broken one can be repaired. `tower` is the \
built-in pack: its pack.toml sets every value. Once you change the copy, give it another `name` there; \
until then `build` refuses it.

Examples:
  floorctl pack unpack mine.floorpack mine
  floorctl pack unpack tower tower-to-read";

/// Write the files of a pack into a folder
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Unpack {
    /// The .floorpack file, or tower
    #[arg(value_name = "FILE")]
    source: PackSource,
    /// The folder, created unless it exists
    dir: PathBuf,
}

impl Unpack {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let files = self.source.files()?;
        let dir = &self.dir;
        if fs::read_dir(dir).is_ok_and(|mut entries| entries.next().is_some()) {
            bail!("{} is not empty; name another folder", dir.display());
        }
        for (path, content) in files.iter() {
            let path = dir.join(path);
            fs::create_dir_all(path.parent().unwrap_or(dir))
                .and_then(|()| fs::write(&path, content))
                .with_context(|| format!("cannot write {}", path.display()))?;
        }
        writeln!(output::stderr(), "wrote {} into {}", counted(files.iter().count() as u64, "file"), dir.display())?;
        Ok(())
    }
}
