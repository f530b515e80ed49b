//! A pack: everything about floors that a designer may change, as text files.

mod files;

use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

use once_cell::race::OnceBox;

pub use files::{FileError, Files};

use crate::schedule;
use crate::spec::{FloorSpec, Kind, PackHash, SpecError};
use crate::theme::Theme;

/// The content of floors.
#[derive(Debug)]
pub struct Pack {
    name: String,
    description: String,
    hash: PackHash,
    files: Files,
}

/// What is wrong with the files of a pack: every error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackErrors(pub Vec<PackError>);

/// What is wrong at one place of a pack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackError {
    /// The path of the file in the pack; empty if the whole is wrong.
    pub file: String,
    /// The line, from 1; 0 if the file as a whole is wrong.
    pub line: usize,
    /// The column, from 1; 0 if the line or the file as a whole is wrong.
    pub column: usize,
    /// What is wrong, and what would be right.
    pub message: String,
}

impl From<FileError> for PackError {
    fn from(FileError { path, what }: FileError) -> Self {
        Self { file: path, line: 0, column: 0, message: what }
    }
}

impl fmt::Display for PackError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        for part in [self.line, self.column].into_iter().take_while(|part| *part > 0) {
            write!(f, ":{part}")?;
        }
        if !self.file.is_empty() {
            f.write_str(": ")?;
        }
        f.write_str(&self.message)
    }
}

/// A line for each error.
impl fmt::Display for PackErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, error) in self.0.iter().enumerate() {
            let separator = if index == 0 { "" } else { "\n" };
            write!(f, "{separator}{error}")?;
        }
        Ok(())
    }
}

impl core::error::Error for PackErrors {}

/// The file of a pack that names it.
const MANIFEST: &str = "pack.toml";

impl Pack {
    /// Reads `name` and `description` in `pack.toml`. The content is that of the built-in pack.
    ///
    /// # Errors
    /// Everything that is wrong in the files.
    pub fn read(files: Files) -> Result<Self, PackErrors> {
        let error = |line, column, message: &str| PackError {
            file: MANIFEST.into(),
            line,
            column,
            message: message.to_owned(),
        };
        let Some(manifest) = files.get(MANIFEST).and_then(|content| core::str::from_utf8(content).ok()) else {
            return Err(PackErrors(vec![error(0, 0, "the file is missing; it has the name of the pack")]));
        };
        let (mut name, mut description, mut errors) = (String::new(), String::new(), Vec::new());
        for (line, text) in (1..).zip(manifest.lines()) {
            if text.trim().is_empty() || text.starts_with('#') {
                continue;
            }
            let entry = text.split_once('=').map(|(key, value)| (key.trim(), value.trim()));
            let value = entry.and_then(|(_, value)| value.strip_prefix('"')?.strip_suffix('"'));
            match (entry, value) {
                (Some(("name", _)), Some(value)) => value.clone_into(&mut name),
                (Some(("description", _)), Some(value)) => value.clone_into(&mut description),
                (Some((key, _)), _) if !["name", "description"].contains(&key) => {
                    errors.push(error(line, 1, &format!("there is no key {key}; the keys are name, description")));
                }
                _ => errors.push(error(line, 1, "expected KEY = \"TEXT\"")),
            }
        }
        let is_inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        let is_name = name.len() <= 32 && name.bytes().all(is_inner);
        if !is_name || !name.starts_with(|first: char| first.is_ascii_lowercase()) {
            let message = "`name` is a letter, then up to 31 letters, digits or -, all in lower case";
            errors.push(error(0, 0, message));
        }
        if errors.is_empty() {
            Ok(Self { name, description, hash: PackHash(files.hash()), files })
        } else {
            Err(PackErrors(errors))
        }
    }


    /// The built-in pack, `tower`.
    #[must_use]
    pub fn tower() -> &'static Self {
        static TOWER: OnceBox<Pack> = OnceBox::new();
        TOWER.get_or_init(|| {
            let mut files = Files::new();
            let manifest =
                b"name = \"tower\"\ndescription = \"The tower: seven themes, nine kinds of floor\"\n";
            files.insert(MANIFEST, manifest).expect("its path and its text are constants");
            let read = Self::read(files).expect("its text is a constant");
            Box::new(Self { hash: PackHash::BUILT_IN, ..read })
        })
    }

    /// Its name, `[a-z][a-z0-9-]{0,31}`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What a person reads in a list of packs.
    #[must_use]
    pub fn description(&self) -> &str {
        &self.description
    }

    /// Its version.
    #[must_use]
    pub const fn hash(&self) -> PackHash {
        self.hash
    }

    /// Its files.
    #[must_use]
    pub const fn files(&self) -> &Files {
        &self.files
    }

    /// The theme of floor `number`.
    #[must_use]
    pub fn theme(&self, number: u32) -> &str {
        Theme::of_number(number).name()
    }

    /// Resolves a request for a floor of this pack: a side of 0 becomes [`FloorSpec::DEFAULT_SIDE`], and `None` becomes
    /// the kind that the pack's schedule gives the number.
    ///
    /// # Errors
    /// The first argument that is out of range.
    pub fn resolve(
        &self,
        seed: u64,
        number: u32,
        width: u32,
        height: u32,
        kind: Option<Kind>,
    ) -> Result<FloorSpec, SpecError> {
        let kind = || kind.unwrap_or_else(|| schedule::kind_of(seed, number));
        FloorSpec::checked(self.hash, seed, number, width, height, kind)
    }
}

impl FloorSpec {
    /// The floor of these numbers in the version `pack`. A side of 0 becomes [`FloorSpec::DEFAULT_SIDE`].
    ///
    /// # Errors
    /// The first argument that is out of range.
    pub fn of_pack(
        pack: PackHash,
        seed: u64,
        number: u32,
        width: u32,
        height: u32,
        kind: Kind,
    ) -> Result<Self, SpecError> {
        Self::checked(pack, seed, number, width, height, || kind)
    }

    /// [`Pack::resolve`] of the built-in pack.
    ///
    /// # Errors
    /// The first argument that is out of range.
    pub fn resolve(seed: u64, number: u32, width: u32, height: u32, kind: Option<Kind>) -> Result<Self, SpecError> {
        Pack::tower().resolve(seed, number, width, height, kind)
    }
}
