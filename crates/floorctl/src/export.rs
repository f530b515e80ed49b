//! Writes floors as files for level editors, virtual tabletops and programs.

use std::{
    ffi::OsStr,
    fs,
    io::{self, Write as _},
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

    /// Writes the files, and returns their paths. A file that differs from what is there is written only with `force`,
    /// and without it none is.
    pub(crate) fn write(&self, files: &[ExportedFile], force: bool) -> anyhow::Result<Vec<Written>> {
        let Self::Directory(directory, _) = self else {
            let mut out = output::stdout();
            for file in files {
                out.write_all(&file.bytes)?;
            }
            out.flush()?;
            return Ok(Vec::new());
        };
        if !directory.as_os_str().is_empty() {
            let cannot = || format!("cannot create {}", directory.display());
            fs::create_dir_all(directory).with_context(cannot)?;
        }
        let compare = |file: &ExportedFile| Written::compare(directory.join(&file.name), &file.bytes);
        let all = files.iter().map(compare).collect::<anyhow::Result<Vec<_>>>()?;
        let differ =
            all.iter().filter(|file| file.present == Present::Other).map(|file| file.path.display().to_string());
        let differ = differ.collect::<Vec<_>>();
        if !force && !differ.is_empty() {
            let it = if differ.len() == 1 { "it differs" } else { "they differ" };
            bail!(
                "{} is there, and {it} from this export, so somebody may have edited it: nothing was written. Name another \
                 --output, or overwrite with --force",
                differ.join(", ")
            );
        }
        for (file, Written { path, .. }) in files.iter().zip(&all).filter(|(_, file)| file.present != Present::Same) {
            fs::write(path, &file.bytes).with_context(|| format!("cannot write {}", path.display()))?;
        }
        Ok(all)
    }
}

/// A file of an export, and what was in its place.
pub(crate) struct Written {
    pub(crate) path: PathBuf,
    pub(crate) present: Present,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Present {
    Nothing,
    /// The same bytes, which stay as they are.
    Same,
    /// Other bytes.
    Other,
}

impl Written {
    fn compare(path: PathBuf, bytes: &[u8]) -> anyhow::Result<Self> {
        // A pipe or a device has no contents to lose.
        if fs::metadata(&path).is_ok_and(|found| !found.is_file()) {
            return Ok(Self { path, present: Present::Nothing });
        }
        let present = match fs::read(&path) {
            Ok(present) if present == bytes => Present::Same,
            Ok(_) => Present::Other,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Present::Nothing,
            Err(error) => return Err(error).with_context(|| format!("cannot write {}", path.display())),
        };
        Ok(Self { path, present })
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
