//! Saved floors: the bytes or the JSON that `floorctl get` writes, or the map of an editor, edited or not.

use std::{
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use bytes::Bytes;
use floor_client::{EncodedFloor, Floor, HashError, InvalidFloor, limits, v1};
use floor_export::{
    ImportError,
    import::{self, Imported, ReadFile, Tally},
};
use floor_gen::{GENERATOR_VERSION, pack::Shown};
use floor_proto::{
    floor_json::{self, FloorJsonError},
    grid::GridError,
    hash, text,
    v1::View,
};
use floor_wire::view::of_player;
use prost::Message as _;

/// The longest file that is read, in bytes, and the longest map of an editor. The largest floor is a fraction of each.
const MAX_BYTES: usize = limits::CLIENT_MESSAGE_BYTES;
const MAX_MAP_BYTES: usize = 8 * MAX_BYTES;

/// A floor as it was saved. Its parts may contradict each other: [`floor`](Self::floor) checks them.
#[derive(Debug)]
pub(crate) struct SavedFloor {
    pub(crate) message: v1::Floor,
    /// The message with the correct hash.
    encoded: Bytes,
    /// The content hash that the file states.
    pub(crate) stated_hash: u64,
    /// The content hash of what the file holds.
    pub(crate) hash: u64,
    /// Of the map of an editor: how much of it the floor is, and what was derived.
    pub(crate) tally: Option<Tally>,
    map_notes: Vec<String>,
}

/// Why a file holds no floor.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SavedError {
    #[error("it is empty")]
    Empty,
    #[error("it is longer than {} MiB", .0 / 1024 / 1024)]
    TooLong(usize),
    #[error("{0}")]
    Json(#[from] FloorJsonError),
    #[error("{0}")]
    Map(#[from] ImportError),
    #[error("it is UTF-16; save it as UTF-8")]
    Utf16,
    #[error("it is neither JSON nor a complete message: {0}")]
    Bytes(HashError),
    #[error("its generator version is 0; the first was 1")]
    Version,
}

impl SavedFloor {
    /// Reads a floor from its bytes, its JSON, or the map of an editor that names no other file.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, SavedError> {
        Self::parse_beside(bytes, &|path| Err(format!("{path}: there is no folder to look for it")))
    }

    /// The same, with the files that a map names.
    fn parse_beside(bytes: &[u8], read: ReadFile<'_>) -> Result<Self, SavedError> {
        if bytes.is_empty() {
            return Err(SavedError::Empty);
        }
        // A message begins with a newline, the tag of its first field, and then has no brace where JSON has one.
        let text = text::without_mark(bytes);
        if import::is_map(text) {
            let Imported { floor, tally, notes } = import::parse(text, read)?;
            let stated_hash = floor.content_hash;
            let saved = Self { tally: Some(tally), map_notes: notes, ..Self::rehashed(floor, stated_hash) };
            return if saved.message.generator_version == 0 { Err(SavedError::Version) } else { Ok(saved) };
        }
        let (message, encoded) = if bytes.len() > MAX_BYTES {
            return Err(SavedError::TooLong(MAX_BYTES));
        } else if text.trim_ascii_start().starts_with(b"{") {
            (floor_json::parse(text)?, None)
        } else {
            match hash::verify_encoded(bytes) {
                Ok(message) => (message, Some(Bytes::copy_from_slice(bytes))),
                Err(HashError::Mismatch { .. }) => {
                    let message = v1::Floor::decode(bytes).map_err(|error| SavedError::Bytes(error.into()))?;
                    (message, None)
                }
                Err(_) if text::is_utf16(bytes) => return Err(SavedError::Utf16),
                Err(error) => return Err(SavedError::Bytes(error)),
            }
        };
        if message.generator_version == 0 {
            return Err(SavedError::Version);
        }
        let stated_hash = message.content_hash;
        Ok(match encoded {
            Some(encoded) => {
                Self { message, encoded, stated_hash, hash: stated_hash, tally: None, map_notes: Vec::new() }
            }
            None => Self::rehashed(message, stated_hash),
        })
    }

    /// Computes the hash of a message that was edited.
    pub(crate) fn rehashed(mut message: v1::Floor, stated_hash: u64) -> Self {
        let encoded = Bytes::from(hash::encode_hashed(&message, 0));
        message.content_hash = hash::content_hash(&message);
        Self { stated_hash, hash: message.content_hash, message, encoded, tally: None, map_notes: Vec::new() }
    }

    /// The floor in that view. What its pack would show is not known here.
    pub(crate) fn seen_in(self, view: View) -> Result<Self, GridError> {
        if view == View::Unspecified || self.message.spec.as_ref().is_some_and(|spec| spec.view() == view) {
            return Ok(self);
        }
        let is_edited = self.is_edited();
        let Self { message, stated_hash, tally, map_notes, .. } = self;
        let seen = Self::rehashed(of_player(message, Shown::default())?, 0);
        let stated_hash = if is_edited { stated_hash } else { seen.hash };
        Ok(Self { tally, map_notes, stated_hash, ..seen })
    }

    /// Whether the contents changed after the hash was computed.
    pub(crate) const fn is_edited(&self) -> bool {
        self.stated_hash != self.hash
    }

    /// The message with the correct hash.
    pub(crate) const fn encoded(&self) -> &Bytes {
        &self.encoded
    }

    /// The floor, if its grids are complete and every point lies inside.
    pub(crate) fn floor(&self) -> Result<Floor, InvalidFloor> {
        EncodedFloor::new(self.encoded.clone()).decode()
    }

    /// What a reader of the floor should know about its file, for stderr.
    pub(crate) fn notes(&self) -> Vec<String> {
        let edited = self.is_edited().then(|| {
            let (stated, computed) =
                (floor_export::names::hash(self.stated_hash), floor_export::names::hash(self.hash));
            format!("note: the floor was edited: its content hash is {computed}, and the file states {stated}")
        });
        let version = self.message.generator_version;
        let newer = (version > GENERATOR_VERSION).then(|| {
            format!(
                "note: generator version {version} made the floor, and this program knows version {GENERATOR_VERSION}"
            )
        });
        let of_map = self.map_notes.iter().map(|note| format!("note: {note}"));
        of_map.chain(edited).chain(newer).collect()
    }
}

/// A file with a floor, or standard input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SavedFile {
    Path(PathBuf),
    Stdin,
}

impl SavedFile {
    pub(crate) fn read(&self) -> anyhow::Result<SavedFloor> {
        let (name, bytes) = (self.name(), self.bytes()?);
        let parsed = if bytes.len() > MAX_MAP_BYTES {
            Err(SavedError::TooLong(MAX_MAP_BYTES))
        } else {
            SavedFloor::parse_beside(&bytes, &|path| self.read_beside(path))
        };
        parsed.map_err(|error| {
            let what = match error {
                SavedError::Map(_) => format!("cannot read the map {name} as a floor"),
                _ => format!("{name} holds no floor; `floorctl get` and `export` write one"),
            };
            anyhow::Error::new(error).context(what)
        })
    }

    /// What is in it, up to one byte more than the longest map has.
    pub(crate) fn bytes(&self) -> anyhow::Result<Vec<u8>> {
        let bytes = match self {
            Self::Path(path) => File::open(path).and_then(read),
            Self::Stdin => read(io::stdin().lock()),
        };
        bytes.with_context(|| format!("cannot read {}", self.name()))
    }

    /// Reads a file by its path from the folder of this one.
    fn read_beside(&self, path: &str) -> Result<Vec<u8>, String> {
        let path = match self {
            Self::Path(file) => file.parent().unwrap_or(Path::new("")).join(path),
            Self::Stdin => PathBuf::from(path),
        };
        let bytes = File::open(&path).and_then(read).map_err(|error| format!("{}: {error}", path.display()))?;
        if bytes.len() > MAX_MAP_BYTES {
            return Err(format!("{}: {}", path.display(), SavedError::TooLong(MAX_MAP_BYTES)));
        }
        Ok(bytes)
    }

    pub(crate) fn name(&self) -> String {
        match self {
            Self::Path(path) => path.display().to_string(),
            Self::Stdin => "standard input".to_owned(),
        }
    }
}

/// Reads one byte more than the longest map at most.
fn read(input: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    input.take(MAX_MAP_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// `-` is standard input; a path must lead to a file, a pipe or a device. `None` if nothing is there.
pub(crate) fn file_named(text: &str) -> Option<SavedFile> {
    if text == "-" {
        return Some(SavedFile::Stdin);
    }
    let path = Path::new(text);
    (path.exists() && !path.is_dir()).then(|| SavedFile::Path(path.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{fixture, json::FloorJson};
    use floor_export::json_layout;

    fn json() -> String {
        let mut text = Vec::new();
        json_layout::write(&mut text, &FloorJson::new(&fixture::floor(), None)).unwrap();
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn both_formats_hold_the_same_floor() {
        let bytes = fixture::message().encode_to_vec();
        for text in [json(), format!("\u{feff}\n{}", json()), json().replace('\n', "\r\n")] {
            let saved = SavedFloor::parse(text.as_bytes()).unwrap();
            assert_eq!((saved.message.clone(), saved.is_edited()), (fixture::message(), false));
            assert_eq!(saved.encoded()[..], bytes);
            assert_eq!(saved.floor().unwrap(), fixture::floor());
        }
        let saved = SavedFloor::parse(&bytes).unwrap();
        assert_eq!((&saved.message, saved.is_edited()), (&fixture::message(), false));
    }

    #[test]
    fn an_edited_floor_has_another_hash_and_is_a_floor() {
        let text = json().replace("\"goblin\", \"level\": 3", "\"goblin\", \"level\": 30");
        let mut message = fixture::message();
        message.spawns[0].level = 30;
        for saved in [SavedFloor::parse(text.as_bytes()), SavedFloor::parse(&message.encode_to_vec())] {
            let saved = saved.unwrap();
            assert!(saved.is_edited());
            assert_eq!(saved.stated_hash, fixture::message().content_hash);
            let floor = saved.floor().unwrap();
            assert_eq!((floor.spawns()[0].level, floor.content_hash()), (30, saved.hash));
            assert!(saved.notes()[0].contains("edited"), "{:?}", saved.notes());
        }
    }

    #[test]
    fn what_is_no_floor_is_refused_with_the_reason() {
        let bytes = fixture::message().encode_to_vec();
        let versionless = v1::Floor { generator_version: 0, ..fixture::message() };
        let text = json();
        let cases = [
            (b"".to_vec(), "empty"),
            (b"\x89PNG\r\n\x1a\nand so on".to_vec(), "neither JSON nor a complete message"),
            (bytes[..bytes.len() - 3].to_vec(), "neither JSON nor a complete message"),
            (hash::encode_hashed(&versionless, 0), "generator version is 0"),
            (text.as_bytes()[..text.len() / 2].to_vec(), "the JSON ends too early"),
            (text.replace("\"rooms\"", "\"room\"").into_bytes(), "room: no such field"),
            (text.encode_utf16().flat_map(u16::to_le_bytes).collect(), "it is UTF-16; save it as UTF-8"),
            ([b"\xff\xfe".to_vec(), text.encode_utf16().flat_map(u16::to_le_bytes).collect()].concat(), "it is UTF-16"),
            (text.replacen('"', "“", 2).into_bytes(), "U+201C is a typographic quotation mark; write `\"`"),
            (text.replacen(": ", ":\u{a0}", 1).into_bytes(), "U+00A0 is not the ordinary space"),
            (format!("{text}\0").into_bytes(), "U+0000 is a control character"),
            (text.replacen("\"level\": 3", "\"level\": 3.5", 1).into_bytes(), "spawns[0].level: expected integer"),
            (text.replacen("\"level\": 3", "\"level\": 3.00000000000000000001", 1).into_bytes(), "spawns[0].level: "),
            (text.replacen("\"level\": 3", "\"level\": 3, \"level\": 4", 1).into_bytes(), "level is given twice"),
            (
                text.replacen("\"terrainRows\"", "\"terrainRows\": [], \"terrainRows\"", 1).into_bytes(),
                "terrainRows is given twice",
            ),
            (text.replacen('{', "{\"generator_version\": 3,", 1).into_bytes(), "generatorVersion is given twice"),
            (text.replacen("##", "#＃", 1).into_bytes(), "no terrain has the character '＃'"),
        ];
        for (file, expected) in cases {
            let error = SavedFloor::parse(&file).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn a_floor_of_a_newer_generator_is_read_with_a_note() {
        let newer = v1::Floor { generator_version: GENERATOR_VERSION + 1, ..fixture::message() };
        let saved = SavedFloor::parse(&hash::encode_hashed(&newer, 0)).unwrap();
        assert!(saved.notes()[0].contains("this program knows version"), "{:?}", saved.notes());
    }

    /// Whatever a file holds, it is refused or read, and nothing panics.
    #[test]
    fn no_damage_to_a_file_panics() {
        for file in [fixture::message().encode_to_vec(), json().into_bytes()] {
            for i in 0..file.len() {
                let mut damaged = file.clone();
                damaged[i] ^= 1 << (i % 8);
                if let Ok(saved) = SavedFloor::parse(&damaged) {
                    let _ = saved.floor();
                }
                let _ = SavedFloor::parse(&file[..i]);
            }
        }
    }
}
