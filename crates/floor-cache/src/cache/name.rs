//! Keys of any length as keys of the chain.

use bytes::{BufMut, Bytes, BytesMut};
use xxhash_rust::xxh3::xxh3_128;

use crate::key::{Class, Key};

/// A caller's key, and the chain's key for it.
///
/// Up to [`Name::INLINE`] bytes are the chain's key themselves. A longer one is hashed by XXH3-128 and stored in front of
/// its value, where a reader compares it: two keys with one hash (2^-64 for a cache of 2^32 keys, more if they are
/// searched for) evict each other, and neither gets the value of the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Name {
    key: Key,
    /// The caller's key if it was hashed.
    hashed: Bytes,
}

/// The last byte of the identity of a hashed key; otherwise it is the length.
const HASHED: u8 = u8::MAX;

impl Name {
    const INLINE: usize = Key::LEN - 2;

    pub(super) fn new(bytes: &[u8]) -> Self {
        let mut identity = [0; Key::LEN - 1];
        let (start, last) = identity.split_at_mut(Self::INLINE);
        let hashed = if let Some(start) = start.get_mut(..bytes.len()) {
            start.copy_from_slice(bytes);
            last[0] = bytes.len() as u8; // At most `INLINE`.
            Bytes::new()
        } else {
            start[..16].copy_from_slice(&xxh3_128(bytes).to_le_bytes());
            last[0] = HASHED;
            Bytes::copy_from_slice(bytes)
        };
        Self { key: Key::new(identity, Class::new(0)), hashed }
    }

    pub(super) const fn key(&self) -> &Key {
        &self.key
    }

    /// `value` as it is stored.
    pub(super) fn stored(&self, value: Bytes) -> Bytes {
        if self.hashed.is_empty() {
            return value;
        }
        let mut stored = BytesMut::with_capacity(self.hashed.len() + value.len());
        stored.put_slice(&self.hashed);
        stored.put_slice(&value);
        stored.freeze()
    }

    /// The value in `stored`; `None` if it is that of another key.
    pub(super) fn value(&self, stored: &Bytes) -> Option<Bytes> {
        stored.starts_with(&self.hashed).then(|| stored.slice(self.hashed.len()..))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_all_lengths_are_different_keys() {
        let names: Vec<Name> = (0..100).map(|length| Name::new(&vec![0; length])).collect();
        for (length, name) in names.iter().enumerate() {
            assert_eq!(names.iter().filter(|other| other.key == name.key).count(), 1, "{length}");
            let stored = name.stored(Bytes::from_static(b"value"));
            assert_eq!(name.value(&stored).unwrap(), "value");
        }
    }

    #[test]
    fn a_value_of_another_key_with_the_same_hash_is_none() {
        let (one, two) = (Name::new(&[1; 40]), Name::new(&[2; 40]));
        let collision = Name { key: one.key, hashed: two.hashed };
        assert_eq!(collision.value(&one.stored(Bytes::from_static(b"value"))), None);
    }
}
