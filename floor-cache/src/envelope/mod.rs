//! What a value travels in outside this process: enough around it to tell, on reading, that it is whole, ours, of this
//! version, and stored under the key that it was written for.
//!
//! | offset | bytes | what |
//! |---|---|---|
//! | 0 | 3 | magic `FLC` |
//! | 3 | 1 | format version |
//! | 4 | 1 | codec: 1 compressed by LZ4, 2 sealed by AES-256-GCM, 3 both, 0 neither |
//! | 5 | 1 | id of the key that sealed it, 0 for none |
//! | 6 | 2 | reserved, zero |
//! | 8 | 4 | version of what made the value, little-endian |
//! | 12 | 4 | length of the value, little-endian |
//! | 16 | 8 | XXH3-64 of namespace, key, the 16 bytes above, the compressed form if there is one, and the value, little-endian |
//! | 24 | | the value; compressed, if so; then sealed, if so: nonce (12), ciphertext, tag (16) |
//!
//! The authenticated data are namespace, key and the first 16 bytes.

mod cipher;
mod namespace;
#[cfg(test)]
mod tests;
mod value_check;

use bytes::Bytes;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use self::cipher::{Ciphers, NONCE, TAG};
pub use self::{
    cipher::{MasterKeys, MasterKeysError},
    namespace::{Namespace, StoredKey},
    value_check::ValueCheck,
};
use crate::key::Key;

const MAGIC: [u8; 3] = *b"FLC";
const FORMAT: u8 = 1;

/// Bytes in front of the value.
pub const HEADER: usize = 24;

/// Bytes in front of the hash, which covers them.
const BOUND_HEADER: usize = 16;

/// The longest value that is written or read: more than ten times the largest floor there is, and short enough that a
/// stored length gone wrong cannot make a reader take much memory.
pub const MAX_VALUE: usize = 8 << 20;

/// The most bytes that an envelope may have. What does not shrink is not compressed.
pub const MAX_ENVELOPE: usize = HEADER + NONCE + MAX_VALUE + TAG;

/// Bits of the codec.
const LZ4: u8 = 1;
const AES_256_GCM: u8 = 2;

/// A value is compressed if that saves more than one part in this: less is not worth the time of undoing it.
const WORTHWHILE: usize = 10;

/// What is wrong with a stored value. Every one of them makes it a miss, and all but [`UnknownKey`](Self::UnknownKey) have it
/// removed.
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
    /// Encoded in a way that this build does not read, or that this chain does not accept: one that seals its values
    /// takes none that is not sealed.
    #[error("its codec is unknown or not accepted")]
    Codec,
    /// Made by another version of the generator.
    #[error("another version made it")]
    ValueVersion,
    /// Sealed by a key that is not known here. It may be whole, and of use to a server that has the key: a reader leaves it
    /// where it is, and does not count it.
    #[error("the key that sealed it is unknown")]
    UnknownKey,
    /// Sealed by another key, for another place, or changed since.
    #[error("it is not authentic")]
    Forged,
    /// Its compressed form is none.
    #[error("it cannot be decompressed")]
    Compression,
    /// The bytes are not those that were written, or were written under another key.
    #[error("its hash is wrong")]
    Hash,
    /// It was sealed as it lies, but the [`ValueCheck`] rejected it for this reason: it cannot be the value of its key.
    #[error("it is not the value of its key: {0}")]
    Value(&'static str),
}

impl Defect {
    /// Whether the bytes have changed since they were written. Other defects are differences of configuration, of
    /// version or of intent.
    #[must_use]
    pub const fn is_damage(self) -> bool {
        matches!(self, Self::Length | Self::TooLong | Self::Magic | Self::Format | Self::Compression | Self::Hash)
    }
}

/// Seals values into envelopes and opens them again.
#[derive(Debug, Clone)]
pub struct Envelope {
    namespace: Namespace,
    value_version: u32,
    compress: bool,
    ciphers: Option<Ciphers>,
    check: Option<ValueCheck>,
}

impl Envelope {
    /// For values under `namespace` made by `value_version`, which lie in it as they are.
    #[must_use]
    pub const fn new(namespace: Namespace, value_version: u32) -> Self {
        Self { namespace, value_version, compress: false, ciphers: None, check: None }
    }

    /// Compresses by LZ4 what shrinks by over a tenth.
    #[must_use]
    pub fn compressing(self, compress: bool) -> Self {
        Self { compress, ..self }
    }

    /// Seals by AES-256-GCM under a key derived from the first of `keys`; opens what any of them sealed, and nothing that
    /// is not sealed.
    #[must_use]
    pub fn sealing(self, keys: &MasterKeys) -> Self {
        let ciphers = Some(Ciphers::derive(keys, &self.namespace));
        Self { ciphers, ..self }
    }

    /// Opens only values that `check` accepts.
    #[must_use]
    pub fn checking(self, check: ValueCheck) -> Self {
        Self { check: Some(check), ..self }
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
        let compressed = if self.compress { compressed(value) } else { None };
        let mut header = Header {
            codec: if compressed.is_some() { LZ4 } else { 0 },
            key_id: 0,
            value_version: self.value_version,
            // At most `MAX_VALUE`, which 4 bytes hold.
            len: value.len() as u32,
        };
        if let Some(ciphers) = &self.ciphers {
            header.codec |= AES_256_GCM;
            header.key_id = ciphers.current();
        }
        let body = compressed.as_deref().unwrap_or(value);
        let header = header.to_bytes();
        let bound = Bound::new(key, &header);
        out.reserve(HEADER + NONCE + body.len() + TAG);
        out.extend_from_slice(&header);
        out.extend_from_slice(&bound.hash(compressed.as_deref(), value).to_le_bytes());
        let body_at = out.len();
        match &self.ciphers {
            None => out.extend_from_slice(body),
            Some(ciphers) => {
                out.extend_from_slice(&[0; NONCE]);
                out.extend_from_slice(body);
                ciphers.seal(bound.as_bytes(), out, body_at);
            }
        }
        Ok(())
    }

    /// The value in `envelope`, copied once, if that is whole, of this version, and was sealed under `key`.
    ///
    /// The order is: its length against the cap, what it claims to be, authentication, decompression into no more than it
    /// claims, the hash, and the [`ValueCheck`] if there is one. Only then is it a value.
    ///
    /// # Errors
    /// The first thing found wrong.
    pub fn open(&self, key: &StoredKey, envelope: &[u8]) -> Result<Bytes, Defect> {
        self.accepted(key, self.open_unchecked(key, envelope)?)
    }

    fn open_unchecked(&self, key: &StoredKey, envelope: &[u8]) -> Result<Bytes, Defect> {
        let (header, bound, hash, body) = self.read(key, envelope)?;
        if header.codec & AES_256_GCM != 0 {
            // Deciphered in the copy.
            return self.unseal(&header, &bound, hash, body.to_vec(), 0);
        }
        if header.codec & LZ4 != 0 {
            return decompressed(&header, &bound, hash, body);
        }
        check(&header, &bound, hash, body)?;
        Ok(Bytes::copy_from_slice(body))
    }

    /// As [`open`](Self::open), without a copy: the value stays where it lies unless it is compressed.
    ///
    /// # Errors
    /// The first thing found wrong.
    pub fn open_owned(&self, key: &StoredKey, envelope: Vec<u8>) -> Result<Bytes, Defect> {
        self.accepted(key, self.open_owned_unchecked(key, envelope)?)
    }

    fn open_owned_unchecked(&self, key: &StoredKey, envelope: Vec<u8>) -> Result<Bytes, Defect> {
        let (header, bound, hash, body) = self.read(key, &envelope)?;
        if header.codec & AES_256_GCM != 0 {
            return self.unseal(&header, &bound, hash, envelope, HEADER);
        }
        if header.codec & LZ4 != 0 {
            return decompressed(&header, &bound, hash, body);
        }
        check(&header, &bound, hash, body)?;
        Ok(Bytes::from(envelope).slice(HEADER..))
    }

    /// `value`, unless the check rejects it.
    fn accepted(&self, key: &StoredKey, value: Bytes) -> Result<Bytes, Defect> {
        match &self.check {
            Some(check) => check.check(&key.key(), &value).map_err(Defect::Value).map(|()| value),
            None => Ok(value),
        }
    }

    /// The parts of `envelope`, if it claims to be one that this may open.
    fn read<'a>(&self, key: &StoredKey, envelope: &'a [u8]) -> Result<(Header, Bound, u64, &'a [u8]), Defect> {
        if envelope.len() > MAX_ENVELOPE {
            return Err(Defect::TooLong);
        }
        let (header, rest) = envelope.split_first_chunk::<BOUND_HEADER>().ok_or(Defect::Length)?;
        let (hash, body) = rest.split_first_chunk().ok_or(Defect::Length)?;
        let bound = Bound::new(key, header);
        let header = Header::from_bytes(header)?;
        if header.codec & !(LZ4 | AES_256_GCM) != 0 || (header.codec & AES_256_GCM != 0) != self.ciphers.is_some() {
            return Err(Defect::Codec);
        }
        if header.value_version != self.value_version {
            return Err(Defect::ValueVersion);
        }
        if header.len() > MAX_VALUE {
            return Err(Defect::TooLong);
        }
        Ok((header, bound, u64::from_le_bytes(*hash), body))
    }

    /// The value sealed in `bytes[from..]`.
    fn unseal(&self, header: &Header, bound: &Bound, hash: u64, bytes: Vec<u8>, from: usize) -> Result<Bytes, Defect> {
        let mut bytes = bytes;
        let opened =
            self.ciphers.as_ref().and_then(|all| all.open(header.key_id, bound.as_bytes(), &mut bytes[from..]));
        opened.ok_or(Defect::UnknownKey)?.map_err(|()| Defect::Forged)?;
        let body = from + NONCE..bytes.len() - TAG;
        if header.codec & LZ4 != 0 {
            return decompressed(header, bound, hash, &bytes[body]);
        }
        check(header, bound, hash, &bytes[body.clone()])?;
        Ok(Bytes::from(bytes).slice(body))
    }
}

/// The first 16 bytes of an envelope.
struct Header {
    codec: u8,
    key_id: u8,
    value_version: u32,
    len: u32,
}

impl Header {
    fn to_bytes(&self) -> [u8; BOUND_HEADER] {
        let mut bytes = [0; BOUND_HEADER];
        bytes[..3].copy_from_slice(&MAGIC);
        bytes[3] = FORMAT;
        bytes[4] = self.codec;
        bytes[5] = self.key_id;
        bytes[8..12].copy_from_slice(&self.value_version.to_le_bytes());
        bytes[12..].copy_from_slice(&self.len.to_le_bytes());
        bytes
    }

    const fn from_bytes(bytes: &[u8; BOUND_HEADER]) -> Result<Self, Defect> {
        let [m0, m1, m2, format, codec, key_id, r0, r1, v0, v1, v2, v3, l0, l1, l2, l3] = *bytes;
        if m0 != MAGIC[0] || m1 != MAGIC[1] || m2 != MAGIC[2] {
            return Err(Defect::Magic);
        }
        if format != FORMAT || r0 != 0 || r1 != 0 {
            return Err(Defect::Format);
        }
        let value_version = u32::from_le_bytes([v0, v1, v2, v3]);
        Ok(Self { codec, key_id, value_version, len: u32::from_le_bytes([l0, l1, l2, l3]) })
    }

    const fn len(&self) -> usize {
        self.len as usize
    }
}

/// What a value is bound to: namespace, key and header.
struct Bound {
    bytes: [u8; StoredKey::MAX + BOUND_HEADER],
    len: usize,
}

impl Bound {
    fn new(key: &StoredKey, header: &[u8; BOUND_HEADER]) -> Self {
        let mut bytes = [0; StoredKey::MAX + BOUND_HEADER];
        let key = key.as_bytes();
        bytes[..key.len()].copy_from_slice(key);
        bytes[key.len()..][..BOUND_HEADER].copy_from_slice(header);
        Self { bytes, len: key.len() + BOUND_HEADER }
    }

    fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    /// XXH3-64 of the value, seeded with that of its compressed form, seeded with that of this: two or three one-shot
    /// hashes cost less than one stream. The compressed form counts since several may give the same value, and one that
    /// is not the one that was written is a fault like any other.
    fn hash(&self, compressed: Option<&[u8]>, value: &[u8]) -> u64 {
        let seed = xxh3_64(self.as_bytes());
        xxh3_64_with_seed(value, compressed.map_or(seed, |compressed| xxh3_64_with_seed(compressed, seed)))
    }
}

fn check(header: &Header, bound: &Bound, hash: u64, value: &[u8]) -> Result<(), Defect> {
    if value.len() != header.len() {
        return Err(Defect::Length);
    }
    if bound.hash(None, value) == hash { Ok(()) } else { Err(Defect::Hash) }
}

/// `value` compressed, if that is worthwhile.
fn compressed(value: &[u8]) -> Option<Vec<u8>> {
    let compressed = lz4_flex::block::compress(value);
    (compressed.len() < value.len() - value.len() / WORTHWHILE).then_some(compressed)
}

/// The value that `body` holds compressed, of exactly the length that `header` claims. LZ4 makes at most 255 bytes of one,
/// so a claim that `body` cannot reach takes no memory.
fn decompressed(header: &Header, bound: &Bound, hash: u64, body: &[u8]) -> Result<Bytes, Defect> {
    const MOST: usize = 255;
    if header.len() > body.len().saturating_mul(MOST) {
        return Err(Defect::Compression);
    }
    let value = lz4_flex::block::decompress(body, header.len()).map_err(|_| Defect::Compression)?;
    if value.len() != header.len() {
        return Err(Defect::Compression);
    }
    if bound.hash(Some(body), &value) == hash { Ok(Bytes::from(value)) } else { Err(Defect::Hash) }
}
