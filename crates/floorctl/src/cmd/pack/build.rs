//! `floorctl pack build`: writes a pack as one file.

use std::{
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use clap::Args;
use floor_pack::pack_files::EXTENSION;

use crate::{
    failure::UsageError,
    output,
    pack_source::{self, PackSource},
};

const AFTER_HELP: &str = "\
Checks the pack and writes it as one .floorpack file, which servers and clients read. Prints NAME@HASH, the version. The \
same files give the same bytes, whatever their line endings. `xxhsum -H3 FILE` prints the hash too.

Without --output, the file is NAME.floorpack in the current folder. With --keep its name is NAME@HASH.floorpack: a \
server keeps such a file as an older version, beside the current one.

Examples:
  floorctl pack build mine
  floorctl pack build mine --output packs/mine.floorpack
  floorctl pack build mine.floorpack --keep --output packs";

/// Write a pack as one file
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Build {
    /// The folder of the pack, or a .floorpack file
    #[arg(value_name = "PATH")]
    source: PackSource,
    /// The file to write, which ends in .floorpack; or a folder for it
    #[arg(long, short, value_name = "PATH")]
    output: Option<PathBuf>,
    /// Name the file after the version: NAME@HASH.floorpack
    #[arg(long)]
    keep: bool,
}

impl Build {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let loaded = self.source.read()?;
        self.source.check_name(&loaded)?;
        self.source.report_left_out()?;
        let pack = loaded.pack();
        let reference = pack_source::reference(pack);
        let stem = if self.keep { &reference } else { pack.name() };
        let path = self.path(&format!("{stem}{EXTENSION}"))?;
        write_whole(&path, &pack.files().to_bytes()).with_context(|| format!("cannot write {}", path.display()))?;
        writeln!(output::stderr(), "wrote {}", path.display())?;
        output::print(reference)
    }

    /// The file to write, which has that name unless another is given.
    fn path(&self, name: &str) -> Result<PathBuf, UsageError> {
        let is_archive = |path: &Path| path.as_os_str().to_string_lossy().ends_with(EXTENSION) && !path.is_dir();
        match self.output.as_deref() {
            None => Ok(name.into()),
            Some(path) if is_archive(path) && self.keep => Err(UsageError(
                "--keep names the file after the version; name a folder with --output, or leave it out".to_owned(),
            )),
            Some(path) if is_archive(path) => Ok(path.to_owned()),
            Some(path) if path.is_dir() => Ok(path.join(name)),
            Some(path) => Err(UsageError(format!(
                "--output {} is no folder and does not end in {EXTENSION}; name one of the two",
                path.display()
            ))),
        }
    }
}

/// Writes a file under another name first, so that a server that reads the folder never sees a part of it.
pub(super) fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut name = std::ffi::OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".{}", std::process::id()));
    let beside = path.with_file_name(name);
    let written = fs::write(&beside, bytes).and_then(|()| fs::rename(&beside, path));
    if written.is_err() {
        // It may not exist, and the first error says why.
        let _ = fs::remove_file(&beside);
    }
    written
}
