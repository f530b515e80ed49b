//! What is wrong with a pack: every error with its place, what was found and what would be right.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::fmt;

use super::files::FileError;

/// One error. Lines and columns count from 1; 0 stands for the whole file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PackError {
    /// The path of the file in the pack.
    pub file: String,
    /// The line of the file.
    pub line: usize,
    /// The column of that line, in characters.
    pub column: usize,
    /// What is wrong, with the value that was found.
    pub what: String,
    /// What would be right; may be empty.
    pub expected: String,
    /// The valid name that is nearest to the one found.
    pub nearest: Option<String>,
}

impl PackError {
    /// An error without a remedy. A line of 0 stands for the whole file, an empty file for the whole pack.
    #[must_use]
    pub fn new(file: &str, line: usize, column: usize, what: String) -> Self {
        Self { file: file.to_owned(), line, column, what, expected: String::new(), nearest: None }
    }

    /// The same, with what would be right.
    pub(crate) fn expecting(self, expected: &str) -> Self {
        Self { expected: expected.to_owned(), ..self }
    }

    /// A name that is none of `names`.
    pub(crate) fn unknown(file: &str, line: usize, column: usize, what: &str, found: &str, names: &[&str]) -> Self {
        let what = format!("unknown {what} `{}`", shortened(found));
        Self { nearest: nearest(found, names), ..Self::new(file, line, column, what).expecting(&listed(names)) }
    }

    /// The error without its place.
    #[must_use]
    pub fn message(&self) -> String {
        Self { file: String::new(), line: 0, column: 0, ..self.clone() }.to_string()
    }
}

impl From<FileError> for PackError {
    fn from(FileError { path, what }: FileError) -> Self {
        Self::new(&path, 0, 0, what)
    }
}

impl fmt::Display for PackError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if self.line > 0 {
            write!(f, ":{}:{}", self.line, self.column)?;
        }
        if !self.file.is_empty() {
            f.write_str(": ")?;
        }
        f.write_str(&self.what)?;
        if !self.expected.is_empty() {
            write!(f, "; expected {}", self.expected)?;
        }
        match &self.nearest {
            Some(name) => write!(f, " (did you mean `{name}`?)"),
            None => Ok(()),
        }
    }
}

impl core::error::Error for PackError {}

/// All errors of a pack, by file and line: at least one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackErrors(Vec<PackError>);

impl PackErrors {
    /// The most errors that are listed.
    pub const MOST: usize = 200;

    /// `None` without errors. Sorts them, and keeps [`Self::MOST`].
    #[must_use]
    pub fn of(mut errors: Vec<PackError>) -> Option<Self> {
        errors.sort_unstable();
        errors.dedup();
        errors.truncate(Self::MOST);
        (!errors.is_empty()).then_some(Self(errors))
    }

    /// The errors.
    #[must_use]
    pub fn list(&self) -> &[PackError] {
        &self.0
    }
}

impl From<PackError> for PackErrors {
    fn from(error: PackError) -> Self {
        Self(Vec::from([error]))
    }
}

/// A line for each error.
impl fmt::Display for PackErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, error) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{error}")?;
        }
        Ok(())
    }
}

impl core::error::Error for PackErrors {}

/// Names to choose from, or their number if they are many.
pub(crate) fn listed(names: &[&str]) -> String {
    match names.len() {
        ..=12 => format!("one of `{}`", names.join("`, `")),
        many => format!("one of {many} names"),
    }
}

/// The start of a text, so that an error fits a line.
pub(crate) fn shortened(text: &str) -> String {
    let mut short: String = text.chars().take(40).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().nth(40).is_some() {
        short.push('…');
    }
    short
}

/// The name of `names` that is nearest to `found`, if few edits lead there.
pub(crate) fn nearest(found: &str, names: &[&str]) -> Option<String> {
    // Longer names are no typing errors of a key.
    let found = found.get(..found.len().min(64))?;
    let (edits, name) = names.iter().map(|name| (edits(found.as_bytes(), name.as_bytes()), *name)).min()?;
    (edits <= (name.len() / 3).clamp(1, 3)).then(|| name.to_owned())
}

/// Levenshtein's distance.
fn edits(a: &[u8], b: &[u8]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut corner = i;
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let change = corner + usize::from(x != y);
            corner = row[j + 1];
            row[j + 1] = change.min(corner + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

/// The line and the column of a byte.
pub(super) fn place(text: &str, start: usize) -> (usize, usize) {
    let before = text.get(..start).unwrap_or(text);
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    (before.matches('\n').count() + 1, column)
}

/// Whether it may be a name: letters and digits, parted by `other`.
pub(super) fn is_name(name: &str, other: char) -> bool {
    let rest = name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == other);
    rest && name.len() <= 32 && name.starts_with(|first: char| first.is_ascii_lowercase())
}
