//! `floorctl pack new`: writes the folder of a new pack.

use std::{
    fs::{self, OpenOptions},
    io::Write as _,
    path::PathBuf,
};

use anyhow::{Context as _, bail};
use clap::Args;
use floor_gen::Pack;

use crate::{output, pack_source::SCHEMA};

const AFTER_HELP: &str = "\
Writes pack.toml and one vault, both with comments, and the schema by which editors check pack.toml. Every value in \
pack.toml is commented out, so the new pack has the floors of tower with one vault more. No file is overwritten.

Examples:
  floorctl pack new mine
  floorctl pack new mine games/mine";

/// Write the folder of a new pack
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct New {
    /// The name of the pack: a letter, then letters, digits or -, all in lower case
    #[arg(value_parser = name)]
    name: String,
    /// The folder, created unless it exists; by default the name
    dir: Option<PathBuf>,
}

/// Parses the name of a pack.
fn name(text: &str) -> Result<String, String> {
    let is_inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let starts = text.starts_with(|first: char| first.is_ascii_lowercase());
    match text {
        "tower" => Err("the built-in pack has this name; choose another".to_owned()),
        _ if starts && text.len() <= 32 && text.bytes().all(is_inner) => Ok(text.to_owned()),
        _ => Err("a name is a letter, then up to 31 letters, digits or -, all in lower case".to_owned()),
    }
}

/// The files of a new pack, without the schema. `NAME` stands for its name.
const FILES: [(&str, &str); 2] =
    [("pack.toml", include_str!("template/pack.toml")), ("vaults/well.txt", include_str!("template/well.txt"))];

impl New {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let dir = self.dir.unwrap_or_else(|| self.name.clone().into());
        let files = FILES.map(|(path, text)| (path, text.replace("NAME", &self.name)));
        let files = files.into_iter().chain([(SCHEMA, Pack::schema())]).collect::<Vec<_>>();
        if let Some((path, _)) = files.iter().find(|(path, _)| dir.join(path).exists()) {
            bail!("{} is there already; name another folder", dir.join(path).display());
        }
        for (path, text) in files {
            let path = dir.join(path);
            let written = fs::create_dir_all(path.parent().unwrap_or(&dir)).and_then(|()| {
                // Fails if another program has written it since.
                let mut file = OpenOptions::new().write(true).create_new(true).open(&path)?;
                file.write_all(text.as_bytes())
            });
            written.with_context(|| format!("cannot write {}", path.display()))?;
            writeln!(output::stderr(), "wrote {}", path.display())?;
        }
        writeln!(output::stderr(), "next: floorctl pack watch {}", dir.display())?;
        Ok(())
    }
}
