//! Writes floors as files for level editors, virtual tabletops and programs.

use std::{
    ffi::OsStr,
    fs::{self, File},
    io::{BufWriter, Write as _},
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use floor_client::Floor;
use floor_export::{ExportedFile, Format, default_stem, escape::is_unprintable};
use floor_gen::pack::is_device;

use crate::output;

/// Parses the name of a format.
pub(crate) fn format_parser() -> impl TypedValueParser<Value = Format> {
    let value = |format: Format| PossibleValue::new(format.name()).help(format.help().trim());
    let named = |name: String| Format::ALL.into_iter().find(|format| format.name() == name);
    PossibleValuesParser::new(Format::ALL.map(value))
        .map(move |name| named(name).expect("the name is a possible value"))
}

/// Where an export goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ExportTarget {
    /// The directory, and the name of the map without its extension.
    Directory(PathBuf, String),
    Stdout,
}

impl ExportTarget {
    /// A path with the format's extension is the map's file; any other path is a directory.
    pub(crate) fn new(output: &Path, format: Format, floor: &Floor) -> Self {
        let is_map = output.extension() == Some(OsStr::new(format.extension()));
        match output.file_stem().filter(|_| is_map) {
            Some(stem) => {
                let directory = output.parent().unwrap_or(Path::new("")).to_owned();
                Self::Directory(directory, stem.to_string_lossy().into_owned())
            }
            None => Self::Directory(output.to_owned(), default_stem(floor)),
        }
    }

    /// The name of the map without its extension.
    pub(crate) fn stem(&self) -> &str {
        match self {
            Self::Directory(_, stem) => stem,
            Self::Stdout => "floor",
        }
    }

    /// Whether all names are files': one may have a theme in it, which the server names. Those that begin with the stem
    /// are named as the user says.
    pub(crate) fn check_names(&self, files: &[ExportedFile]) -> anyhow::Result<()> {
        let is_own = |name: &str| name.strip_prefix(self.stem()).is_some_and(|rest| rest.starts_with('.'));
        let mut names = files.iter().map(|file| &file.name);
        if let Some(name) = names.find(|name| !is_own(name) && !is_file_name(name)) {
            bail!("{name:?} is no name for a file, and nothing was written: the name of the floor's theme is wrong");
        }
        Ok(())
    }

    /// Writes the files, and returns their paths.
    pub(crate) fn write(&self, files: &[ExportedFile]) -> anyhow::Result<Vec<PathBuf>> {
        match self {
            Self::Stdout => {
                let mut out = output::stdout();
                for file in files {
                    out.write_all(&file.bytes)?;
                }
                out.flush()?;
                Ok(Vec::new())
            }
            Self::Directory(directory, _) => {
                if !directory.as_os_str().is_empty() {
                    let cannot = || format!("cannot create {}", directory.display());
                    fs::create_dir_all(directory).with_context(cannot)?;
                }
                let write = |file: &ExportedFile| {
                    let path = directory.join(&file.name);
                    let cannot = || format!("cannot write {}", path.display());
                    let mut out = BufWriter::new(File::create(&path).with_context(cannot)?);
                    out.write_all(&file.bytes).and_then(|()| out.flush()).with_context(cannot)?;
                    Ok(path)
                };
                files.iter().map(write).collect()
            }
        }
    }
}

/// Whether it names a file in a folder on every system, and neither a path, a stream of a file nor a device.
fn is_file_name(name: &str) -> bool {
    let is_part =
        |character: char| !is_unprintable(character) && !r#"/\:*?"<>|"#.contains(character) && character != '\n';
    !name.is_empty()
        && name.chars().all(is_part)
        && !name.starts_with('.')
        && !name.ends_with(['.', ' '])
        && !is_device(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn a_path_with_the_extension_is_the_map_and_another_is_a_directory() {
        let floor = fixture::floor();
        let target = |path: &str, format| ExportTarget::new(Path::new(path), format, &floor);
        let directory = |path: &str, stem: &str| ExportTarget::Directory(path.into(), stem.to_owned());
        assert_eq!(target("maps/a.tmj", Format::Tiled), directory("maps", "a"));
        assert_eq!(target("a.ldtk", Format::Ldtk), directory("", "a"));
        let own = "18446744073709551615-7-standard-30x16";
        assert_eq!(target("maps", Format::Tiled), directory("maps", own));
        assert_eq!(target("maps/a.tmj", Format::Ldtk), directory("maps/a.tmj", own));
    }

    #[test]
    fn a_name_of_a_file_is_no_path_and_no_device() {
        for name in ["a.tmj", "floor-tiles-bone cellar.tsj", "größe.png", "console.png", "com.tmj"] {
            assert!(is_file_name(name), "{name}");
        }
        for name in [
            "",
            ".",
            "..",
            "../a",
            "/a",
            "a/b",
            "a\\b",
            "C:a",
            "a:stream",
            "a\0",
            "a\nb",
            "a\u{202e}gnp.exe",
            "nul",
            "NUL.png",
            "com1.tmj",
            "lpt².txt",
            "conout$",
            "a.",
            "a ",
            ".bashrc",
            "a*",
        ] {
            assert!(!is_file_name(name), "{name:?}");
        }
    }
}
