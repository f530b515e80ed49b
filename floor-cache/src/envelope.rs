//! What a value travels in outside this process: enough around it to tell, on reading, that it is whole, ours, of this
//! version, and stored under the key that it was written for.
//!
//! | offset | bytes | what |
//! |---|---|---|
//! | 0 | 3 | magic `FLC` |
//! | 3 | 1 | format version |
//! | 4 | 1 | codec |
//! | 5 | 3 | reserved, zero |
//! | 8 | 4 | version of what made the value, little-endian |
//! | 12 | 4 | length of the value, little-endian |
//! | 16 | 8 | XXH3-64 of namespace, key, the 16 bytes above and the value, little-endian |
//! | 24 | | the value |

use bytes::Bytes;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use crate::key::Key;

const MAGIC: [u8; 3] = *b"FLC";
const FORMAT: u8 = 1;

/// Bytes in front of the value.
pub const HEADER: usize = 24;

/// Bytes in front of the hash, which covers them.
const HASHED_HEADER: usize = 16;

/// The longest value that is written or read: more than ten times the largest floor there is, and short enough that a
/// stored length gone wrong cannot make a reader take much memory.
pub const MAX_VALUE: usize = 8 << 20;

/// The most bytes that an envelope may have.
pub const MAX_ENVELOPE: usize = HEADER + MAX_VALUE;

/// How the value lies in the envelope.
mod codec {
    /// As it is.
    pub(super) const PLAIN: u8 = 0;
}

/// What is wrong with a stored value. Every one of them makes it a miss.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Defect {
    /// Shorter than its header, or not as long as its header says.
    #[error("it is cut short or padded")]
    Length,
    /// Longer than any value may be.
    #[error("it is longer than any value")]
    TooLong,
    /// It does not begin as an envelope.
    #[error("it is not an envelope")]
    Magic,
    /// Written in a format that this build does not read.
    #[error("its format is unknown")]
    Format,
    /// Encoded in a way that this build does not read.
    #[error("its codec is unknown")]
    Codec,
    /// Made by another version of the generator.
    #[error("another version made it")]
    ValueVersion,
    /// The bytes are not those that were written, or were written under another key.
    #[error("its hash is wrong")]
    Hash,
}

/// The name that a value is stored under: the namespace, a colon, the key. Lives on the stack.
#[derive(Clone, Copy)]
pub struct StoredKey {
    bytes: [u8; Self::MAX],
    len: u8,
}

impl StoredKey {
    /// The most bytes it can have.
    pub const MAX: usize = Namespace::MAX + 1 + Key::LEN;

    /// Its bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

impl AsRef<[u8]> for StoredKey {
    fn as_ref(&self) -> &[u8] {
        self.as_bytes()
    }
}

/// What every stored key of a chain begins with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Namespace(Box<str>);

impl Namespace {
    /// The most bytes it can have.
    pub const MAX: usize = 64;

    /// `name`, if it is 1 ..= [`Namespace::MAX`] bytes of printable ASCII without a colon.
    #[must_use]
    pub fn new(name: &str) -> Option<Self> {
        let fits = (1..=Self::MAX).contains(&name.len());
        (fits && name.bytes().all(|byte| byte.is_ascii_graphic() && byte != b':')).then(|| Self(name.into()))
    }

    /// As given.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// What `key` is stored under.
    #[must_use]
    pub fn stored(&self, key: &Key) -> StoredKey {
        let mut bytes = [0; StoredKey::MAX];
        let name = self.0.as_bytes();
        bytes[..name.len()].copy_from_slice(name);
        bytes[name.len()] = b':';
        bytes[name.len() + 1..][..Key::LEN].copy_from_slice(key.as_bytes());
        // At most `StoredKey::MAX` (89), which a byte holds.
        StoredKey { bytes, len: (name.len() + 1 + Key::LEN) as u8 }
    }
}

/// Seals values into envelopes and opens them again.
#[derive(Debug, Clone)]
pub struct Envelope {
    namespace: Namespace,
    value_version: u32,
}

impl Envelope {
    /// For values under `namespace` made by `value_version`.
    #[must_use]
    pub const fn new(namespace: Namespace, value_version: u32) -> Self {
        Self { namespace, value_version }
    }

    /// What `key` is stored under.
    #[must_use]
    pub fn stored(&self, key: &Key) -> StoredKey {
        self.namespace.stored(key)
    }

    /// Appends to `out` the envelope of `value`, which can be opened under `key` alone.
    ///
    /// # Errors
    /// [`Defect::TooLong`] for a value of more than [`MAX_VALUE`] bytes.
    pub fn seal(&self, key: &StoredKey, value: &[u8], out: &mut Vec<u8>) -> Result<(), Defect> {
        if value.len() > MAX_VALUE {
            return Err(Defect::TooLong);
        }
        let mut header = [0; HASHED_HEADER];
        header[..3].copy_from_slice(&MAGIC);
        header[3] = FORMAT;
        header[4] = codec::PLAIN;
        header[8..12].copy_from_slice(&self.value_version.to_le_bytes());
        // At most `MAX_VALUE`, which 4 bytes hold.
        header[12..16].copy_from_slice(&(value.len() as u32).to_le_bytes());
        out.reserve(HEADER + value.len());
        out.extend_from_slice(&header);
        out.extend_from_slice(&binding_hash(key, &header, value).to_le_bytes());
        out.extend_from_slice(value);
        Ok(())
    }

    /// The value in `envelope`, if that is whole, of this version, and was sealed under `key`.
    ///
    /// The order is: the length against its cap, then what it claims to be, then the hash. Only then is it a value.
    ///
    /// # Errors
    /// The first thing found wrong.
    pub fn open<'a>(&self, key: &StoredKey, envelope: &'a [u8]) -> Result<&'a [u8], Defect> {
        if envelope.len() > MAX_ENVELOPE {
            return Err(Defect::TooLong);
        }
        let (header, rest) = envelope.split_first_chunk::<HASHED_HEADER>().ok_or(Defect::Length)?;
        let (hash, value) = rest.split_first_chunk::<{ HEADER - HASHED_HEADER }>().ok_or(Defect::Length)?;
        if header[..3] != MAGIC {
            return Err(Defect::Magic);
        }
        if header[3] != FORMAT || header[5..8] != [0; 3] {
            return Err(Defect::Format);
        }
        if header[4] != codec::PLAIN {
            return Err(Defect::Codec);
        }
        if header[8..12] != self.value_version.to_le_bytes() {
            return Err(Defect::ValueVersion);
        }
        if u32::from_le_bytes([header[12], header[13], header[14], header[15]]) as usize != value.len() {
            return Err(Defect::Length);
        }
        if binding_hash(key, header, value) != u64::from_le_bytes(*hash) {
            return Err(Defect::Hash);
        }
        Ok(value)
    }

    /// As [`open`](Self::open), handing out a part of `envelope` rather than a copy.
    ///
    /// # Errors
    /// The first thing found wrong.
    pub fn open_owned(&self, key: &StoredKey, envelope: &Bytes) -> Result<Bytes, Defect> {
        self.open(key, envelope).map(|value| envelope.slice_ref(value))
    }
}

/// XXH3-64 of the value, seeded with XXH3-64 of the key and the header: two one-shot hashes cost less than one stream.
fn binding_hash(key: &StoredKey, header: &[u8; HASHED_HEADER], value: &[u8]) -> u64 {
    let mut bound = [0; StoredKey::MAX + HASHED_HEADER];
    let key = key.as_bytes();
    bound[..key.len()].copy_from_slice(key);
    bound[key.len()..][..HASHED_HEADER].copy_from_slice(header);
    xxh3_64_with_seed(value, xxh3_64(&bound[..key.len() + HASHED_HEADER]))
}
