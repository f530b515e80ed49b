//! What a value is stored under: a `Copy` value that holds everything the value's bytes depend on.

use std::{
    fmt,
    hash::{Hash, Hasher},
};

/// The sort of value, as far as the chain cares: costs are learnt for each class and admission may go by it.
/// What the classes mean is the [`Source`](crate::Source)'s affair. Fewer than [`Class::COUNT`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Class(u8);

impl Class {
    /// How many classes there can be.
    pub const COUNT: usize = 16;

    /// Class `number`, which wraps at [`Class::COUNT`].
    #[must_use]
    pub const fn new(number: u8) -> Self {
        Self(number % Self::COUNT as u8)
    }

    /// Its number, less than [`Class::COUNT`].
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A storage key: 23 bytes of the caller's and a [`Class`]. 24 bytes, `Copy`, no allocation.
///
/// Two keys are equal exactly when all 24 bytes are.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key([u8; Key::LEN]);

impl Key {
    /// Bytes in a key.
    pub const LEN: usize = 24;

    /// A key for the value that `identity` names.
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

    /// The sort of value.
    #[must_use]
    pub const fn class(&self) -> Class {
        Class::new(self.0[Self::LEN - 1])
    }

    /// The key as stored: the caller's identity, then the class.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; Self::LEN] {
        &self.0
    }
}

/// Three words instead of 24 bytes and a length: a third of the work for a hasher that takes words.
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

/// 48 hexadecimal digits.
impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}
