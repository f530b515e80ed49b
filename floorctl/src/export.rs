//! Writes floors as files for level editors, virtual tabletops and programs.

use std::{
    ffi::OsStr,
    fs::{self, File},
    io::{BufWriter, Write as _},
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use clap::ValueEnum;
use floor_client::Floor;
use floor_export::{ExportedFile, foundry, ldtk, names, picture::Appearance, tiled, uvtt};

use crate::{json::FloorJson, json_layout, output};

/// Defines the formats from one list: the name on the command line, the extension of the map, and the help.
macro_rules! formats {
    ($($(#[doc = $help:literal])+ $Format:ident = $extension:literal,)+) => {
        /// A format of exported floors.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
        pub(crate) enum ExportFormat {
            $($(#[doc = $help])+ $Format,)+
        }

        impl ExportFormat {
            /// The extension of the file that an editor opens.
            pub(crate) const fn extension(self) -> &'static str {
                match self {
                    $(Self::$Format => $extension,)+
                }
            }
        }
    };
}

formats! {
    /// Tiled: a map (.tmj), with two tilesets beside it
    Tiled = "tmj",
    /// LDtk 1.5: a project (.ldtk) with one level, with two tilesets beside it
    Ldtk = "ldtk",
    /// Universal VTT, for Foundry and other virtual tabletops: picture, walls, doors and lights in one file
    Uvtt = "dd2vtt",
    /// Foundry 12 and 13: a scene, with its picture and a journal of the rooms beside it
    Foundry = "json",
    /// The JSON of `floorctl get`; `floorctl schema` prints its JSON Schema
    Json = "json",
}

impl ExportFormat {
    /// Whether a map of this format is one file, so that it can go to standard output.
    pub(crate) const fn is_one_file(self) -> bool {
        matches!(self, Self::Uvtt | Self::Json)
    }

    /// Whether it is for virtual tabletops, and has a picture of the whole floor.
    pub(crate) const fn is_for_tables(self) -> bool {
        matches!(self, Self::Uvtt | Self::Foundry)
    }

    /// The files of the floor, the map first. `stem` is the name of the map without its extension.
    pub(crate) fn files(self, floor: &Floor, stem: &str, appearance: &Appearance) -> anyhow::Result<Vec<ExportedFile>> {
        let map = format!("{stem}.{}", self.extension());
        match self {
            Self::Tiled => Ok(tiled::files(floor, map, &appearance.look)?),
            Self::Ldtk => Ok(ldtk::files(floor, map, &appearance.look)?),
            Self::Uvtt => Ok(vec![uvtt::file(floor, map, appearance)?]),
            Self::Foundry => Ok(foundry::files(floor, map, appearance)?),
            Self::Json => {
                let mut bytes = Vec::new();
                json_layout::write(&mut bytes, &FloorJson::new(floor, None))?;
                Ok(vec![ExportedFile { name: map, bytes }])
            }
        }
    }
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
    pub(crate) fn new(output: &Path, format: ExportFormat, floor: &Floor) -> Self {
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

/// `42-7-cavern-64x48` for floor `42/7:cavern@64x48`.
fn default_stem(floor: &Floor) -> String {
    let spec = floor.spec();
    let kind = names::kind_of(spec).replace(' ', "-");
    format!("{}-{}-{kind}-{}x{}", spec.seed, spec.number, floor.width(), floor.height())
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
        assert_eq!(target("maps/a.tmj", ExportFormat::Tiled), directory("maps", "a"));
        assert_eq!(target("a.ldtk", ExportFormat::Ldtk), directory("", "a"));
        let own = "18446744073709551615-7-standard-30x16";
        assert_eq!(target("maps", ExportFormat::Tiled), directory("maps", own));
        assert_eq!(target("maps/a.tmj", ExportFormat::Ldtk), directory("maps/a.tmj", own));
    }
}
