//! The format of a value outside this process. A reader can check that a value is intact, of the current version, and
//! stored under its own key.
//!
//! | offset | bytes | what |
//! |---|---|---|
//! | 0 | 3 | magic `FLC` |
//! | 3 | 1 | format version |
//! | 4 | 1 | codec: 1 compressed by LZ4, 2 sealed by AES-256-GCM, 3 both, 0 neither |
//! | 5 | 1 | id of the key that sealed it, 0 for none |
//! | 6 | 2 | reserved, zero |
//! | 8 | 4 | version of the values, little-endian |
//! | 12 | 4 | length of the value, little-endian |
//! | 16 | 8 | XXH3-64 of namespace, key, the 16 bytes above, the compressed form if there is one, and the value, little-endian |
//! | 24 | | the value; compressed, if so; then sealed, if so: nonce (12), ciphertext, tag (16) |
//!
//! The authenticated data are namespace, key and the first 16 bytes.

#[cfg(feature = "encryption")]
mod cipher;
#[cfg(not(feature = "encryption"))]
#[path = "no_cipher.rs"]
mod cipher;
mod lz4;
mod namespace;
#[cfg(test)]
mod tests;
mod value_check;

use std::borrow::Cow;

use bytes::Bytes;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use self::cipher::Ciphers;
#[cfg(feature = "encryption")]
pub use self::cipher::{MasterKeys, MasterKeysError};
pub(crate) use self::namespace::StoredPattern;
pub use self::{
    namespace::{Namespace, StoredKey},
    value_check::ValueCheck,
};
use crate::key::{Key, KeyPattern};

const MAGIC: [u8; 3] = *b"FLC";
const FORMAT: u8 = 1;

/// Bytes before the value.
pub const HEADER: usize = 24;

/// Bytes before the hash, which covers them.
const BOUND_HEADER: usize = 16;

/// The longest value that is written or read: short enough that a corrupt
/// length cannot exhaust memory.
pub const MAX_VALUE: usize = 8 << 20;

/// The longest envelope. A value that does not shrink is stored uncompressed.
pub const MAX_ENVELOPE: usize = HEADER + NONCE + MAX_VALUE + TAG;

/// Bits of the codec.
const LZ4: u8 = 1;
const AES_256_GCM: u8 = 2;

/// Those that this build reads. What is sealed depends on the keys of the chain.
const READ: u8 = if cfg!(feature = "lz4") { LZ4 | AES_256_GCM } else { AES_256_GCM };

/// Bytes of a nonce. It is random, so one key is safe for 2^32 values (NIST SP 800-38D, 8.3), about four thousand
/// million.
const NONCE: usize = 12;

/// Bytes of the tag that authenticates a value.
const TAG: usize = 16;

/// A value is stored compressed if that saves more than one part in this; less is not worth the time to decompress.
const WORTHWHILE: usize = 10;

/// A defect of a stored value. Each makes the lookup a miss, and all but [`UnknownKey`](Self::UnknownKey) have the
/// value removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Defect {
    /// Shorter than its header, or not of the length in its header.
    #[error("it is cut short or padded")]
    Length,
    /// Longer than [`MAX_VALUE`].
    #[error("it is longer than any value")]
    TooLong,
    /// The magic bytes are wrong.
    #[error("it is not an envelope")]
    Magic,
    /// Of a format version that this build does not read.
    #[error("its format is unknown")]
    Format,
    /// A codec that this build does not read, or that this chain rejects: a chain with keys rejects unsealed values.
    #[error("its codec is unknown or not accepted")]
    Codec,
    /// Of another version of the values.
    #[error("it is of another version")]
    ValueVersion,
    /// Sealed with a key that this server does not have. Another server may have it, so a reader neither removes nor
    /// counts the value.
    #[error("the key that sealed it is unknown")]
    UnknownKey,
    /// Authentication failed: sealed with another key or for another storage key, or changed since.
    #[error("it is not authentic")]
    Forged,
    /// The compressed data is invalid.
    #[error("it cannot be decompressed")]
    Compression,
    /// The bytes have changed, or were written under another storage key.
    #[error("its hash is wrong")]
    Hash,
    /// The value is intact, but the [`ValueCheck`] rejected it for this reason.
    #[error("it is not the value of its key: {0}")]
    Value(&'static str),
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
    /// An envelope for values of `value_version` under `namespace`, neither compressed nor sealed.
    #[must_use]
    pub const fn new(namespace: Namespace, value_version: u32) -> Self {
        Self { namespace, value_version, compress: false, ciphers: None, check: None }
    }

    /// Compresses values by LZ4 if that saves over a tenth.
    #[cfg(feature = "lz4")]
    #[must_use]
    pub fn compressing(self, compress: bool) -> Self {
        Self { compress, ..self }
    }

    /// Seals values by AES-256-GCM with a key derived from the first of `keys`. Opens values sealed with any of them,
    /// and no unsealed values.
    #[cfg(feature = "encryption")]
    #[must_use]
    pub fn sealing(self, keys: &MasterKeys) -> Self {
        let ciphers = Some(Ciphers::derive(keys, &self.namespace));
        Self { ciphers, ..self }
    }

    /// Rejects values that `check` does not accept.
    #[must_use]
    pub fn checking(self, check: ValueCheck) -> Self {
        Self { check: Some(check), ..self }
    }

    /// The stored form of `key`.
    #[must_use]
    pub fn stored(&self, key: &Key) -> StoredKey {
        self.namespace.stored(key)
    }

    /// `pattern` for the stored forms of keys.
    pub(crate) fn stored_pattern(&self, pattern: &KeyPattern) -> StoredPattern {
        self.namespace.stored_pattern(pattern)
    }

    /// Appends the envelope of `value` to `out`. It opens only under `key`.
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

    /// Opens `envelope` and returns a copy of its value if it is intact, of this version, and was sealed under `key`.
    ///
    /// The checks are, in this order: the length limit, the header, authentication, decompression to at most the length
    /// in the header, the hash, and the [`ValueCheck`] if there is one.
    ///
    /// # Errors
    /// The first defect found.
    pub fn open(&self, key: &StoredKey, envelope: &[u8]) -> Result<Bytes, Defect> {
        self.open_either(key, Cow::Borrowed(envelope))
    }

    /// As [`open`](Self::open), without a copy unless the value is compressed.
    ///
    /// # Errors
    /// The first defect found.
    pub fn open_owned(&self, key: &StoredKey, envelope: Vec<u8>) -> Result<Bytes, Defect> {
        self.open_either(key, Cow::Owned(envelope))
    }

    fn open_either(&self, key: &StoredKey, envelope: Cow<'_, [u8]>) -> Result<Bytes, Defect> {
        let (header, bound, hash, body) = self.read(key, &envelope)?;
        let value = if header.codec & AES_256_GCM != 0 {
            let (bytes, from) = match envelope {
                // Decrypted in the copy.
                Cow::Borrowed(_) => (body.to_vec(), 0),
                Cow::Owned(bytes) => (bytes, HEADER),
            };
            self.unseal(&header, &bound, hash, bytes, from)?
        } else if header.codec & LZ4 != 0 {
            decompressed(&header, &bound, hash, body)?
        } else {
            check(&header, &bound, hash, body)?;
            match envelope {
                Cow::Borrowed(_) => Bytes::copy_from_slice(body),
                Cow::Owned(bytes) => Bytes::from(bytes).slice(HEADER..),
            }
        };
        if let Some(check) = &self.check {
            check.check(&key.key(), &value).map_err(Defect::Value)?;
        }
        Ok(value)
    }

    /// The header, bound data, hash and body of `envelope`, if its header is acceptable.
    fn read<'a>(&self, key: &StoredKey, envelope: &'a [u8]) -> Result<(Header, Bound, u64, &'a [u8]), Defect> {
        if envelope.len() > MAX_ENVELOPE {
            return Err(Defect::TooLong);
        }
        let (header, rest) = envelope.split_first_chunk::<BOUND_HEADER>().ok_or(Defect::Length)?;
        let (hash, body) = rest.split_first_chunk().ok_or(Defect::Length)?;
        let bound = Bound::new(key, header);
        let header = Header::from_bytes(header)?;
        if header.codec & !READ != 0 || (header.codec & AES_256_GCM != 0) != self.ciphers.is_some() {
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

    /// Decrypts `bytes[from..]` in place and returns the value.
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

/// The data that a value is bound to: namespace, key and header.
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

    /// XXH3-64 of the value, seeded with the hash of its compressed form, seeded with the hash of this: two or three
    /// one-shot hashes cost less than one stream. The compressed form is hashed because several forms may decompress to
    /// the same value, and any change of the stored bytes is a fault.
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

/// The compressed form of `value`, if it saves enough.
fn compressed(value: &[u8]) -> Option<Vec<u8>> {
    let compressed = lz4::compress(value)?;
    (compressed.len() < value.len() - value.len() / WORTHWHILE).then_some(compressed)
}

/// Decompresses `body` to exactly the length in `header`. LZ4 expands a byte to at most 255, so a length that `body`
/// cannot reach is rejected before memory is allocated.
fn decompressed(header: &Header, bound: &Bound, hash: u64, body: &[u8]) -> Result<Bytes, Defect> {
    const MOST: usize = 255;
    if header.len() > body.len().saturating_mul(MOST) {
        return Err(Defect::Compression);
    }
    let value = lz4::decompress(body, header.len()).ok_or(Defect::Compression)?;
    if value.len() != header.len() {
        return Err(Defect::Compression);
    }
    if bound.hash(Some(body), &value) == hash { Ok(Bytes::from(value)) } else { Err(Defect::Hash) }
}
