//! Encryption and authentication of values: AES-256-GCM, with a key for each namespace, derived from a master key by
//! HKDF-SHA-256 (RFC 5869).

use std::{fmt, num::NonZeroU8, str::FromStr};

use aes_gcm::{
    Aes256Gcm, KeyInit, Nonce, Tag,
    aead::{AeadInPlace, OsRng, rand_core::RngCore},
};
use hkdf::Hkdf;
use sha2::Sha256;

use super::{NONCE, Namespace, TAG};

/// Separates these keys from others derived from the same master key.
const PURPOSE: &[u8] = b"floor-cache envelope aes-256-gcm 1";

/// The master keys of a deployment: the first seals, all open. To rotate, append a new key on every server that uses
/// the store, then move it to the front, and remove the old key when its values have gone. A server without the key of
/// a value leaves the value alone.
///
/// Written as `ID:KEY` with an id of 1 to 255 and a key of 64 hexadecimal digits, separated by commas or whitespace.
/// `Debug` does not show the keys.
#[derive(Clone, PartialEq, Eq)]
pub struct MasterKeys(Vec<(NonZeroU8, [u8; 32])>);

/// Why a list of master keys cannot be used. The message does not contain keys.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MasterKeysError {
    /// The list is empty.
    #[error("there is no key; write ID:KEY with an id of 1 to 255 and 64 hexadecimal digits")]
    Empty,
    /// A key is malformed.
    #[error("key number {0} in the list is not ID:KEY with an id of 1 to 255 and 64 hexadecimal digits")]
    Malformed(usize),
    /// Two keys have the same id.
    #[error("key id {0} appears twice in the list")]
    DuplicateId(NonZeroU8),
}

impl MasterKeys {
    /// One new key, with id 1.
    #[must_use]
    pub fn random() -> Self {
        let mut key = [0; 32];
        OsRng.fill_bytes(&mut key);
        Self(vec![(NonZeroU8::MIN, key)])
    }

    /// The ids and the keys, in their order. Whoever prints one betrays it.
    pub fn iter(&self) -> impl Iterator<Item = (NonZeroU8, &[u8; 32])> {
        self.0.iter().map(|(id, key)| (*id, key))
    }
}

impl FromStr for MasterKeys {
    type Err = MasterKeysError;

    fn from_str(list: &str) -> Result<Self, Self::Err> {
        let mut keys: Vec<(NonZeroU8, [u8; 32])> = Vec::new();
        let words = list.split(|c: char| c == ',' || c.is_whitespace()).filter(|word| !word.is_empty());
        for (position, word) in words.enumerate() {
            let (id, key) = parse(word).ok_or(MasterKeysError::Malformed(position + 1))?;
            if keys.iter().any(|(known, _)| *known == id) {
                return Err(MasterKeysError::DuplicateId(id));
            }
            keys.push((id, key));
        }
        if keys.is_empty() { Err(MasterKeysError::Empty) } else { Ok(Self(keys)) }
    }
}

fn parse(word: &str) -> Option<(NonZeroU8, [u8; 32])> {
    let (id, digits) = word.split_once(':')?;
    if digits.len() != 64 || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    let mut key = [0; 32];
    for (byte, pair) in key.iter_mut().zip(digits.as_bytes().chunks_exact(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some((id.parse().ok()?, key))
}

impl fmt::Debug for MasterKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.0.iter().map(|(id, _)| (id, "***"))).finish()
    }
}

/// The ciphers of one namespace.
#[derive(Clone)]
pub(super) struct Ciphers(Vec<(NonZeroU8, Aes256Gcm)>);

impl Ciphers {
    pub(super) fn derive(master: &MasterKeys, namespace: &Namespace) -> Self {
        let cipher = |(id, master): &(NonZeroU8, [u8; 32])| {
            let mut key = [0; 32];
            let derived = Hkdf::<Sha256>::new(Some(PURPOSE), master).expand(namespace.as_str().as_bytes(), &mut key);
            derived.expect("32 bytes are fewer than HKDF can give");
            (*id, Aes256Gcm::new(&key.into()))
        };
        Self(master.0.iter().map(cipher).collect())
    }

    /// The id of the sealing key.
    pub(super) fn current(&self) -> u8 {
        self.0[0].0.get()
    }

    /// Seals `out[from..]`, whose first [`NONCE`] bytes are reserved for the nonce, and appends the tag.
    pub(super) fn seal(&self, bound: &[u8], out: &mut Vec<u8>, from: usize) {
        let mut nonce = [0; NONCE];
        OsRng.fill_bytes(&mut nonce);
        out[from..][..NONCE].copy_from_slice(&nonce);
        let sealed = self.0[0].1.encrypt_in_place_detached(&Nonce::from(nonce), bound, &mut out[from + NONCE..]);
        let tag = sealed.expect("a value is shorter than AES-GCM can take");
        out.extend_from_slice(&tag);
    }

    /// Decrypts `sealed` (nonce, value, tag) in place with the key `id`. Returns `None` if that key is unknown, and
    /// `Err` if authentication fails; `sealed` is undefined then.
    pub(super) fn open(&self, id: u8, bound: &[u8], sealed: &mut [u8]) -> Option<Result<(), ()>> {
        let (_, cipher) = self.0.iter().find(|(known, _)| known.get() == id)?;
        let Some((nonce, rest)) = sealed.split_first_chunk_mut::<NONCE>() else { return Some(Err(())) };
        let Some((value, tag)) = rest.split_last_chunk_mut::<TAG>() else { return Some(Err(())) };
        let opened = cipher.decrypt_in_place_detached(&Nonce::from(*nonce), bound, value, &Tag::from(*tag));
        Some(opened.map_err(|_| ()))
    }
}

impl fmt::Debug for Ciphers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|(id, _)| id)).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_keys_is_parsed_and_not_shown() {
        let (one, two) = ("ab".repeat(32), "CD".repeat(32));
        let keys: MasterKeys = format!("2:{two}, 1:{one}\n").parse().unwrap();
        assert_eq!(format!("{keys:?}"), r#"{2: "***", 1: "***"}"#);
        assert_eq!(keys.0[1].1, [0xAB; 32]);
    }

    #[test]
    fn the_errors_of_a_list_do_not_show_keys() {
        let key = "ab".repeat(32);
        for (list, error) in [
            (String::new(), MasterKeysError::Empty),
            (key.clone(), MasterKeysError::Malformed(1)),
            (format!("0:{key}"), MasterKeysError::Malformed(1)),
            (format!("1:{key} 256:{key}"), MasterKeysError::Malformed(2)),
            (format!("1:{}", &key[1..]), MasterKeysError::Malformed(1)),
            (format!("1:{}+f", &key[2..]), MasterKeysError::Malformed(1)),
            (format!("7:{key},7:{key}"), MasterKeysError::DuplicateId(NonZeroU8::new(7).unwrap())),
        ] {
            assert_eq!(list.parse::<MasterKeys>(), Err(error.clone()), "{list}");
            assert!(!error.to_string().contains(&key[..8]));
        }
    }

    #[test]
    fn each_namespace_has_a_key_of_its_own() {
        let master: MasterKeys = format!("1:{}", "ab".repeat(32)).parse().unwrap();
        let ciphers = |name| Ciphers::derive(&master, &Namespace::new(name).unwrap());
        let mut sealed = [&[0; NONCE][..], b"floor"].concat();
        ciphers("a").seal(b"bound", &mut sealed, 0);
        assert_eq!(ciphers("b").open(1, b"bound", &mut sealed.clone()), Some(Err(())));
        assert_eq!(ciphers("a").open(1, b"other", &mut sealed.clone()), Some(Err(())));
        assert_eq!(ciphers("a").open(2, b"bound", &mut sealed.clone()), None);
        assert_eq!(ciphers("a").open(1, b"bound", &mut sealed), Some(Ok(())));
        assert_eq!(&sealed[NONCE..][..5], b"floor");
    }
}
