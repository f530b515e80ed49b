//! The files of a pack: their limits, their canonical form and its hash.
//!
//! The canonical form is also the format of a `.floorpack` file, so `xxhsum -H3 NAME.floorpack` prints a pack's hash:
//!
//! ```text
//! floorpack 1
//! file pack.toml 14
//! name = "mine"
//!
//! file vaults/well.txt 120
//! …
//! ```
//!
//! Each file follows its line with exactly the bytes that the line says, and a line feed. Files are in ascending order
//! of their paths' bytes. Text has no byte order mark, line feeds only, and ends in one.

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use xxhash_rust::xxh3::xxh3_64;

/// The first line of a canonical form.
const MAGIC: &str = "floorpack 1\n";
/// Extensions of files that are text.
const TEXT: [&str; 4] = ["toml", "txt", "json", "md"];
/// The longest path, in bytes.
const MAX_PATH: usize = 128;

/// The files of a pack by path, in canonical form.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Files {
    by_path: BTreeMap<String, Vec<u8>>,
    /// Of all entries of the canonical form.
    bytes: usize,
}

/// Why a file cannot belong to a pack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileError {
    /// The path of the file; empty if the whole is wrong.
    pub path: String,
    /// What is wrong, and what would be right.
    pub what: String,
}

impl Files {
    /// The most bytes of the canonical form. A message `Pack` with it stays below 4 MiB, the most that gRPC clients accept
    /// unless they are configured otherwise.
    pub const MAX_BYTES: usize = (4 << 20) - 1024;
    /// The most files.
    pub const MAX_FILES: usize = 2_000;

    /// No files.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a file. Its text is normalised. Paths have `/` between their parts, which are letters, digits, `.`, `_` and
    /// `-`, begin with none of `.` and `-`, end with no `.`, and are no [devices](is_device).
    ///
    /// # Errors
    /// If the path is none or is taken, the text is no UTF-8, or a limit is exceeded.
    pub fn insert(&mut self, path: &str, content: &[u8]) -> Result<(), FileError> {
        let fail = |what: String| Err(FileError { path: path.to_owned(), what });
        if !is_path(path) {
            let foreign = path.chars().find(|c| !c.is_ascii_alphanumeric() && !"._-/".contains(*c));
            let foreign = foreign.map(|c| format!(", and not U+{:04X}", u32::from(c))).unwrap_or_default();
            return fail(format!(
                "a path has at most {MAX_PATH} bytes: ASCII letters, digits, `.`, `_` and `-`, with `/` between its \
                 parts{foreign}"
            ));
        }
        if let Some(part) = path.split('/').find(|part| is_device(part) || part.ends_with('.')) {
            return fail(format!(
                "Windows has no file `{part}`: it ends with `.`, or is a device, as `con` and `aux.txt`"
            ));
        }
        if self.by_path.contains_key(path) {
            return fail("the file stands there twice".to_owned());
        }
        if self.by_path.len() == Self::MAX_FILES {
            return fail(format!("a pack has at most {} files", Self::MAX_FILES));
        }
        let content = if is_text(path) {
            match core::str::from_utf8(content) {
                _ if matches!(content, [0xFF, 0xFE, ..] | [0xFE, 0xFF, ..] | [0, ..] | [_, 0, ..]) => {
                    return fail("the text is UTF-16; save it as UTF-8".to_owned());
                }
                Ok(text) => normalised(text),
                Err(error) => return fail(format!("byte {} is not UTF-8", error.valid_up_to())),
            }
        } else {
            content.to_owned()
        };
        let bytes = self.bytes + entry_line(path, content.len()).len() + content.len() + 1;
        if MAGIC.len() + bytes > Self::MAX_BYTES {
            return fail(format!(
                "a pack has at most {} bytes, with a line for each file; this file has {}",
                Self::MAX_BYTES,
                content.len()
            ));
        }
        self.bytes = bytes;
        self.by_path.insert(path.to_owned(), content);
        Ok(())
    }

    /// The content of the file at `path`.
    #[must_use]
    pub fn get(&self, path: &str) -> Option<&[u8]> {
        self.by_path.get(path).map(Vec::as_slice)
    }

    /// Paths and contents, in the order of the paths.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.by_path.iter().map(|(path, content)| (path.as_str(), content.as_slice()))
    }

    /// The bytes of the canonical form.
    #[must_use]
    pub const fn encoded_len(&self) -> usize {
        MAGIC.len() + self.bytes
    }

    /// The canonical form: the bytes of a `.floorpack` file.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.encoded_len());
        bytes.extend_from_slice(MAGIC.as_bytes());
        for (path, content) in self.iter() {
            bytes.extend_from_slice(entry_line(path, content.len()).as_bytes());
            bytes.extend_from_slice(content);
            bytes.push(b'\n');
        }
        bytes
    }

    /// Reads a `.floorpack` file.
    ///
    /// # Errors
    /// If `bytes` are not a canonical form.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, FileError> {
        let fail = |path: &str, what: &str| Err(FileError { path: path.to_owned(), what: what.to_owned() });
        let Some(mut rest) = bytes.strip_prefix(MAGIC.as_bytes()) else {
            return fail(
                "",
                match bytes {
                    [b'P', b'K', 3..=8, ..] => {
                        "it is a ZIP archive; unpack it, and write the pack with `floorctl pack build FOLDER`"
                    }
                    [0x1F, 0x8B, ..] => {
                        "it is a gzip archive; unpack it, and write the pack with `floorctl pack build FOLDER`"
                    }
                    _ if bytes.starts_with(b"\xEF\xBB\xBF") || bytes.starts_with(b"floorpack 1\r\n") => {
                        "it was changed as a text: by an editor, or where line ends are converted; copy it as a binary file"
                    }
                    _ => "a pack begins with the line `floorpack 1`",
                },
            );
        };
        let mut files = Self::new();
        while !rest.is_empty() {
            // No line is longer than the longest path and a length need.
            let end = rest.iter().take(MAX_PATH + 32).position(|&byte| byte == b'\n');
            let line = end.and_then(|end| core::str::from_utf8(&rest[..end]).ok());
            let entry = line.and_then(|line| line.strip_prefix("file ")?.split_once(' '));
            let Some((path, length)) = entry.and_then(|(path, length)| Some((path, length.parse::<usize>().ok()?)))
            else {
                return fail("", "expected `file PATH BYTES` on a line");
            };
            rest = &rest[end.map_or(0, |end| end + 1)..];
            match rest.split_at_checked(length) {
                Some((content, [b'\n', after @ ..])) => {
                    files.insert(path, content)?;
                    rest = after;
                }
                _ => return fail(path, "it ends before the bytes that its line says, and a line feed"),
            }
        }
        if files.to_bytes() == bytes {
            Ok(files)
        } else {
            fail("", "files are out of order, or text is not normalised")
        }
    }

    /// XXH3-64 of the canonical form.
    #[must_use]
    pub fn hash(&self) -> u64 {
        xxh3_64(&self.to_bytes())
    }
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() { f.write_str(&self.what) } else { write!(f, "{}: {}", self.path, self.what) }
    }
}

impl core::error::Error for FileError {}

/// The line before the content of a file.
fn entry_line(path: &str, length: usize) -> String {
    format!("file {path} {length}\n")
}

fn is_path(path: &str) -> bool {
    let is_part = |part: &str| {
        part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
            && part.starts_with(|first: char| first.is_ascii_alphanumeric() || first == '_')
    };
    path.len() <= MAX_PATH && path.split('/').all(is_part)
}

/// Whether Windows takes the name of a file for a device, whatever its extension.
#[must_use]
pub fn is_device(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or_default().trim_end();
    let is = |device: &str| stem.eq_ignore_ascii_case(device);
    let port = stem.char_indices().nth(3).map_or((stem, ""), |(end, _)| stem.split_at(end));
    ["con", "prn", "aux", "nul", "conin$", "conout$"].into_iter().any(is)
        || ["com", "lpt"].iter().any(|device| port.0.eq_ignore_ascii_case(device))
            && matches!(port.1, "0" | "1" | "2" | "3" | "4" | "5" | "6" | "7" | "8" | "9" | "¹" | "²" | "³")
}

fn is_text(path: &str) -> bool {
    path.rsplit_once('.').is_some_and(|(_, extension)| TEXT.contains(&extension))
}

/// Without a byte order mark, with line feeds only, and one at the end unless it is empty.
fn normalised(text: &str) -> Vec<u8> {
    let mut text = text.trim_start_matches('\u{feff}').replace("\r\n", "\n");
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text.into_bytes()
}
