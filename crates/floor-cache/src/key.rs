//! The key of a value: a `Copy` type with everything that the value's bytes depend on.

use std::{
    fmt,
    hash::{Hash, Hasher},
};

/// A class of values. The chain learns costs for each class, and admission may depend on it. The
/// [`Source`](crate::Source) defines the meaning of classes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Class(u8);

impl Class {
    /// The number of classes.
    pub const COUNT: usize = 16;

    /// Class `number`, modulo [`Class::COUNT`].
    #[must_use]
    pub const fn new(number: u8) -> Self {
        Self(number % Self::COUNT as u8)
    }

    /// The number of the class, less than [`Class::COUNT`].
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A storage key: 31 bytes from the caller and a [`Class`]. It has 32 bytes and is `Copy`.
///
/// Two keys are equal if all 32 bytes are.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key([u8; Key::LEN]);

impl Key {
    /// Bytes in a key.
    pub const LEN: usize = 32;

    /// The key of the value that `identity` names.
    #[must_use]
    pub const fn new(identity: [u8; Self::LEN - 1], class: Class) -> Self {
        let mut bytes = [0; Self::LEN];
        let mut i = 0;
        while i < identity.len() {
            bytes[i] = identity[i];
            i += 1;
        }
        bytes[Self::LEN - 1] = class.0;
        Self(bytes)
    }

    /// The class of the value.
    #[must_use]
    pub const fn class(&self) -> Class {
        Class::new(self.0[Self::LEN - 1])
    }

    /// The stored bytes: the identity, then the class.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; Self::LEN] {
        &self.0
    }
}

/// Bytes that keys have at one place. A pattern without bytes matches every key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KeyPattern {
    bytes: [u8; Key::LEN],
    offset: u8,
    len: u8,
}

impl KeyPattern {
    /// Matches every key.
    pub const ALL: Self = Self { bytes: [0; Key::LEN], offset: 0, len: 0 };

    /// Matches the keys that have `bytes` from `offset` on; `None` if no key is that long.
    #[must_use]
    pub fn at(offset: usize, bytes: &[u8]) -> Option<Self> {
        let mut padded = [0; Key::LEN];
        padded.get_mut(offset..)?.get_mut(..bytes.len())?;
        padded[..bytes.len()].copy_from_slice(bytes);
        // At most `Key::LEN` (32), which a byte holds.
        Some(Self { bytes: padded, offset: offset as u8, len: bytes.len() as u8 })
    }

    /// Matches the keys that begin with `bytes`; `None` if no key is that long.
    #[must_use]
    pub fn prefix(bytes: &[u8]) -> Option<Self> {
        Self::at(0, bytes)
    }

    /// Where its bytes are in a key.
    #[must_use]
    pub const fn offset(&self) -> usize {
        self.offset as usize
    }

    /// Its bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }

    /// Whether `key` has its bytes at their place.
    #[must_use]
    pub fn matches(&self, key: &Key) -> bool {
        key.0[self.offset()..].starts_with(self.as_bytes())
    }
}

/// Hashes four words instead of a length and 32 bytes, which takes a third of the time in a hasher for words.
impl Hash for Key {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        let (words, _) = self.0.as_chunks::<8>();
        for word in words {
            state.write_u64(u64::from_le_bytes(*word));
        }
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// 64 hexadecimal digits.
impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}
