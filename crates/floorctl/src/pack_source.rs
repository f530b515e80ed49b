//! Packs on this machine: where they are, reading them, and what is wrong with them.

use std::{
    fmt,
    io::{self, Write as _},
    path::{Path, PathBuf},
    str::FromStr,
    sync::Arc,
};

use floor_gen::{
    Pack, PackHash,
    pack::{FileError, Files, PackError, PackErrors},
};
use floor_pack::{LoadedPack, pack_files};
use floor_proto::pack::{BUILT_IN, PackRef};
use serde::Serialize;

use crate::output;

/// The schema in the folder of a pack, for editors. The dot keeps it out of the pack.
pub(crate) const SCHEMA: &str = ".pack.schema.json";

/// A pack: a folder, a `.floorpack` file, or the built-in pack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PackSource {
    Path(PathBuf),
    BuiltIn,
}

impl FromStr for PackSource {
    type Err = String;

    /// `tower` is the built-in pack unless there is a folder or a file of that name.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match Path::new(text) {
            path if path.exists() => Ok(Self::Path(path.to_owned())),
            _ if text == BUILT_IN => Ok(Self::BuiltIn),
            _ => Err("there is no such folder and no such file; a pack is a folder with a pack.toml, or a .floorpack \
                      file; `floorctl pack new` writes one"
                .to_owned()),
        }
    }
}

impl PackSource {
    /// Its files.
    pub(crate) fn files(&self) -> Result<Files, InvalidPack> {
        match self {
            Self::Path(path) => pack_files::read(path).map_err(|error| InvalidPack::of_file(path, &error)),
            Self::BuiltIn => Ok(Pack::tower().files().clone()),
        }
    }

    /// Names on standard error what stands in the folder and is no part of the pack.
    pub(crate) fn report_left_out(&self) -> io::Result<()> {
        let Self::Path(path) = self else { return Ok(()) };
        // The schema is for the editor, and `pack new` writes it.
        let names: Vec<_> = pack_files::left_out(path).into_iter().filter(|name| name != SCHEMA).collect();
        if names.is_empty() {
            return Ok(());
        }
        let files = output::counted(names.len() as u64, "file");
        writeln!(output::stderr(), "skipped {files} that are no part of a pack: {}", names.join(", "))
    }

    /// Reads the pack and checks its authored floors. A copy of the built-in pack may still have its name.
    pub(crate) fn read(&self) -> Result<Arc<LoadedPack>, InvalidPack> {
        if *self == Self::BuiltIn {
            return Ok(Arc::clone(LoadedPack::built_in()));
        }
        let files = self.files()?;
        let read = LoadedPack::read_edited(files.clone());
        read.map(Arc::new).map_err(|errors| InvalidPack::new(&self.to_string(), &files, &errors))
    }

    /// Checks that a server can name what was read from here.
    pub(crate) fn check_name(&self, pack: &LoadedPack) -> Result<(), InvalidPack> {
        pack.check_name().map_err(|errors| InvalidPack::new(&self.to_string(), pack.pack().files(), &errors))
    }
}

impl fmt::Display for PackSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(path) => path.display().fmt(f),
            Self::BuiltIn => f.write_str(BUILT_IN),
        }
    }
}

/// The name and the version of a pack: `NAME@HASH`, or `tower` for the built-in one.
pub(crate) fn reference(pack: &Pack) -> String {
    match pack.hash() {
        PackHash::BUILT_IN => BUILT_IN.to_owned(),
        hash => PackRef { name: pack.name(), hash: Some(hash.0) }.to_string(),
    }
}

/// Everything that is wrong with a pack, each with the text at its place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) struct InvalidPack {
    /// The folder or the file.
    pack: String,
    pub(crate) errors: Vec<PlacedError>,
}

/// One error. A line or a column of 0 stands for the whole file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct PlacedError {
    /// The path of the file in the pack; empty for the pack as a whole.
    pub(crate) file: String,
    pub(crate) line: usize,
    pub(crate) column: usize,
    pub(crate) message: String,
    /// The text of the line.
    #[serde(skip)]
    text: Option<String>,
}

impl InvalidPack {
    fn of_file(path: &Path, error: &FileError) -> Self {
        let FileError { path: file, what } = error.clone();
        let error = PlacedError { file, line: 0, column: 0, message: what, text: None };
        Self { pack: path.display().to_string(), errors: vec![error] }
    }

    fn new(pack: &str, files: &Files, errors: &PackErrors) -> Self {
        let errors = errors.list().iter().map(|error| PlacedError::new(error, files)).collect();
        Self { pack: pack.to_owned(), errors }
    }
}

impl PlacedError {
    fn new(error: &PackError, files: &Files) -> Self {
        let PackError { file, line, column, .. } = error.clone();
        let text = files.get(&file).and_then(|content| std::str::from_utf8(content).ok());
        let text = text.and_then(|text| text.lines().nth(line.checked_sub(1)?)).map(str::to_owned);
        Self { file, line, column, message: error.message(), text }
    }

    /// The line of text with a caret, as compilers print it. A tab is one column, and so stays a tab before the caret.
    fn write_text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(text) = &self.text else { return Ok(()) };
        let number = self.line.to_string();
        write!(f, "\n{number} | {}", shortened(text))?;
        if (1..=MAX_TEXT).contains(&self.column) {
            let before = text.chars().take(self.column - 1).map(|c| if c == '\t' { '\t' } else { ' ' });
            write!(f, "\n{:width$} | {}^", "", before.collect::<String>(), width = number.len())?;
        }
        Ok(())
    }
}

/// The most characters of a line that are shown.
const MAX_TEXT: usize = 120;

/// The beginning of a line, without control characters, which a terminal would obey.
fn shortened(text: &str) -> String {
    text.chars().take(MAX_TEXT).map(|c| if c.is_control() && c != '\t' { '?' } else { c }).collect()
}

/// An error, and the line that it is about, after each other.
impl fmt::Display for InvalidPack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_archive = self.pack.ends_with(pack_files::EXTENSION);
        for (index, error) in self.errors.iter().enumerate() {
            let separator = if index == 0 { "" } else { "\n" };
            write!(f, "{separator}{}", self.pack)?;
            match error.file.as_str() {
                "" => {}
                file if is_archive => write!(f, ": {file}")?,
                file => write!(f, "/{file}")?,
            }
            for part in [error.line, error.column].into_iter().take_while(|part| *part > 0) {
                write!(f, ":{part}")?;
            }
            write!(f, ": {}", error.message)?;
            error.write_text(f)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_shows_the_line_and_the_place_in_it() {
        let mut files = Files::new();
        files.insert("pack.toml", b"name = \"a\"\nrooms = { tries = 7 }\n").unwrap();
        let error = |file: &str, line, column, what: &str| {
            PlacedError::new(&PackError::new(file, line, column, what.to_owned()), &files)
        };
        let errors = vec![
            error("pack.toml", 2, 11, "`tries` is 7; expected 1 to 6"),
            error("vaults/a.txt", 9, 1, "no such line"),
            error("pack.toml", 0, 0, "the file: is wrong"),
        ];
        let invalid = InvalidPack { pack: "mine".to_owned(), errors: errors.clone() };
        assert_eq!(
            invalid.to_string(),
            "mine/pack.toml:2:11: `tries` is 7; expected 1 to 6\n2 | rooms = { tries = 7 }\n  |           ^\n\
             mine/vaults/a.txt:9:1: no such line\nmine/pack.toml: the file: is wrong"
        );
        let archive = InvalidPack { pack: "a.floorpack".to_owned(), errors: errors[2..].to_vec() };
        assert_eq!(archive.to_string(), "a.floorpack: pack.toml: the file: is wrong");
    }
}
