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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::key::Class;

    fn envelope(version: u32) -> Envelope {
        Envelope::new(Namespace::new("floors").unwrap(), version)
    }

    fn sealed(key: &Key, value: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        envelope(1).seal(&envelope(1).stored(key), value, &mut out).unwrap();
        out
    }

    fn any_key() -> impl Strategy<Value = Key> {
        (any::<[u8; Key::LEN - 1]>(), any::<u8>()).prop_map(|(identity, class)| Key::new(identity, Class::new(class)))
    }

    #[test]
    fn the_format_stays_as_it_is() {
        let key = Key::new([7; Key::LEN - 1], Class::new(2));
        let header = [b'F', b'L', b'C', 1, 0, 0, 0, 0, 1, 0, 0, 0, 5, 0, 0, 0];
        let hash = [35, 27, 56, 28, 45, 150, 206, 245];
        assert_eq!(sealed(&key, b"floor"), [&header[..], &hash, b"floor"].concat());
    }

    /// 1,000 values, every bit of each.
    #[test]
    fn no_flipped_bit_goes_unseen() {
        for number in 0..1000_u64 {
            let mut identity = [0; Key::LEN - 1];
            identity[..8].copy_from_slice(&number.to_le_bytes());
            let key = Key::new(identity, Class::new(1));
            let value: Vec<u8> = (0..number % 300).map(|i| (i * number >> 3) as u8).collect();
            let mut bytes = sealed(&key, &value);
            let stored = envelope(1).stored(&key);
            assert_eq!(envelope(1).open(&stored, &bytes), Ok(&value[..]));
            for bit in 0..8 * bytes.len() {
                bytes[bit / 8] ^= 1 << (bit % 8);
                assert!(envelope(1).open(&stored, &bytes).is_err(), "value {number}, bit {bit}");
                bytes[bit / 8] ^= 1 << (bit % 8);
            }
        }
    }

    proptest! {
        #[test]
        fn what_is_sealed_opens_under_its_key(key in any_key(), value in prop::collection::vec(any::<u8>(), 0..5000)) {
            let bytes = Bytes::from(sealed(&key, &value));
            let opened = envelope(1).open_owned(&envelope(1).stored(&key), &bytes).unwrap();
            prop_assert_eq!(&opened[..], &value[..]);
            if !value.is_empty() {
                prop_assert_eq!(opened.as_ptr(), bytes[HEADER..].as_ptr(), "no copy");
            }
        }

        #[test]
        fn under_another_key_it_does_not_open(key in any_key(), other in any_key(), value: Vec<u8>) {
            prop_assume!(key != other);
            let opened = envelope(1).open(&envelope(1).stored(&other), &sealed(&key, &value)).map(<[u8]>::to_vec);
            prop_assert_eq!(opened, Err(Defect::Hash));
        }

        #[test]
        fn in_another_namespace_it_does_not_open(key in any_key(), value: Vec<u8>) {
            let other = Envelope::new(Namespace::new("floor").unwrap(), 1);
            let opened = other.open(&other.stored(&key), &sealed(&key, &value)).map(<[u8]>::to_vec);
            prop_assert_eq!(opened, Err(Defect::Hash));
        }

        #[test]
        fn another_version_does_not_open(key in any_key(), value: Vec<u8>, version in 2_u32..) {
            let opened = envelope(version).open(&envelope(1).stored(&key), &sealed(&key, &value)).map(<[u8]>::to_vec);
            prop_assert_eq!(opened, Err(Defect::ValueVersion));
        }

        #[test]
        fn cut_anywhere_it_does_not_open(key in any_key(), value: Vec<u8>, at: prop::sample::Index) {
            let bytes = sealed(&key, &value);
            let cut = &bytes[..at.index(bytes.len())];
            prop_assert!(envelope(1).open(&envelope(1).stored(&key), cut).is_err());
        }

        #[test]
        fn noise_does_not_open(key in any_key(), noise: Vec<u8>) {
            prop_assert!(envelope(1).open(&envelope(1).stored(&key), &noise).is_err());
        }
    }

    #[test]
    fn a_value_too_long_is_neither_sealed_nor_opened() {
        let key = envelope(1).stored(&Key::new([0; Key::LEN - 1], Class::new(0)));
        let long = vec![0; MAX_VALUE + 1];
        assert_eq!(envelope(1).seal(&key, &long, &mut Vec::new()), Err(Defect::TooLong));
        assert_eq!(envelope(1).open(&key, &vec![0; MAX_ENVELOPE + 1]), Err(Defect::TooLong));
    }

    #[test]
    fn a_namespace_cannot_run_into_the_key() {
        for bad in ["", "a:b", "a b", "t\u{fc}rme", &"n".repeat(65)] {
            assert_eq!(Namespace::new(bad), None, "{bad:?}");
        }
        let stored = Namespace::new(&"n".repeat(64)).unwrap().stored(&Key::new([0xFF; Key::LEN - 1], Class::new(9)));
        assert_eq!(stored.as_bytes().len(), StoredKey::MAX);
    }
}
