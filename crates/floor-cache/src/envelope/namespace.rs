//! The stored form of keys, the same in every store.

use crate::key::{Class, Key, KeyPattern};

/// The stored key of a value: the namespace, a colon, the key. On the stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct StoredKey {
    bytes: [u8; Self::MAX],
    len: u8,
}

impl StoredKey {
    /// The largest length in bytes.
    pub const MAX: usize = Namespace::MAX + 1 + Key::LEN;

    /// The stored bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }

    /// The key without the namespace.
    pub(super) fn key(&self) -> Key {
        let (identity, class) = self.as_bytes().split_at(usize::from(self.len) - 1);
        let identity = identity.last_chunk().expect("a stored key ends in a whole key");
        Key::new(*identity, Class::new(class[0]))
    }
}

impl AsRef<[u8]> for StoredKey {
    fn as_ref(&self) -> &[u8] {
        self.as_bytes()
    }
}

/// The prefix of every stored key of a chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Namespace(Box<str>);

impl Namespace {
    /// The largest length in bytes.
    pub const MAX: usize = 64;

    /// `name`, if it is 1 ..= [`Namespace::MAX`] bytes of printable ASCII without a colon.
    #[must_use]
    pub fn new(name: &str) -> Option<Self> {
        let fits = (1..=Self::MAX).contains(&name.len());
        (fits && name.bytes().all(|byte| byte.is_ascii_graphic() && byte != b':')).then(|| Self(name.into()))
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The stored form of `key`.
    #[must_use]
    pub fn stored(&self, key: &Key) -> StoredKey {
        let mut bytes = [0; StoredKey::MAX];
        let name = self.0.as_bytes();
        bytes[..name.len()].copy_from_slice(name);
        bytes[name.len()] = b':';
        bytes[name.len() + 1..][..Key::LEN].copy_from_slice(key.as_bytes());
        // At most `StoredKey::MAX` (97), which a byte holds.
        StoredKey { bytes, len: (name.len() + 1 + Key::LEN) as u8 }
    }

    /// `pattern` for the stored forms of keys.
    pub(crate) fn stored_pattern(&self, pattern: &KeyPattern) -> StoredPattern {
        let head = [self.0.as_bytes(), b":"].concat();
        StoredPattern {
            skipped: pattern.offset(),
            bytes: [head.as_slice(), pattern.as_bytes()].concat(),
            head: head.len(),
        }
    }
}

/// A [`KeyPattern`] of stored keys: the namespace, skipped bytes, the bytes of the pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoredPattern {
    /// The namespace with its colon, and the bytes of the pattern.
    bytes: Vec<u8>,
    /// The length of the first.
    head: usize,
    skipped: usize,
}

impl StoredPattern {
    /// The namespace with its colon, how many bytes follow that may be any, and the bytes after those.
    pub(crate) fn parts(&self) -> (&[u8], usize, &[u8]) {
        let (head, bytes) = self.bytes.split_at(self.head);
        (head, self.skipped, bytes)
    }

    /// The first bytes of every stored key that it matches.
    pub(crate) fn start(&self) -> &[u8] {
        if self.skipped == 0 { &self.bytes } else { self.parts().0 }
    }

    /// Whether it matches `stored`.
    pub(crate) fn matches(&self, stored: &[u8]) -> bool {
        let (head, skipped, bytes) = self.parts();
        stored.strip_prefix(head).and_then(|key| key.get(skipped..)).is_some_and(|rest| rest.starts_with(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_namespace_has_no_separator_and_bounded_length() {
        for bad in ["", "a:b", "a b", "t\u{fc}rme", &"n".repeat(65)] {
            assert_eq!(Namespace::new(bad), None, "{bad:?}");
        }
        let stored = Namespace::new(&"n".repeat(64)).unwrap().stored(&Key::new([0xFF; Key::LEN - 1], Class::new(9)));
        assert_eq!(stored.as_bytes().len(), StoredKey::MAX);
    }
}
