//! How requests and floors name a pack: `NAME`, or `NAME@HASH` for one version of it.

use std::fmt;

/// The name of the pack that is built into every server.
pub const BUILT_IN: &str = "tower";
/// The most bytes of a name.
pub const MAX_NAME: usize = 32;
/// Hexadecimal digits of a hash.
const HASH_DIGITS: usize = 16;

/// A pack as `FloorSpec.pack` names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PackRef<'a> {
    /// The name, `[a-z][a-z0-9-]{0,31}`.
    pub name: &'a str,
    /// The version; `None` for the current one.
    pub hash: Option<u64>,
}

/// A text that names no pack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "a pack is NAME or NAME@HASH: a letter, then up to 31 letters, digits or -, all in lower case, and 16 hexadecimal \
     digits in lower case"
)]
pub struct InvalidPackRef;

impl<'a> PackRef<'a> {
    /// Reads `NAME` or `NAME@HASH`.
    ///
    /// # Errors
    /// If `text` is neither.
    pub fn parse(text: &'a str) -> Result<Self, InvalidPackRef> {
        let (name, hash) = match text.split_once('@') {
            Some((name, hash)) => (name, Some(parse_hash(hash).ok_or(InvalidPackRef)?)),
            None => (text, None),
        };
        if is_name(name) { Ok(Self { name, hash }) } else { Err(InvalidPackRef) }
    }

    /// Whether `resolved`, the `spec.pack` of a floor, is the pack that `requested` names. An empty request leaves it to
    /// the server.
    #[must_use]
    pub fn matches(requested: &str, resolved: &str) -> bool {
        if requested.is_empty() || requested == resolved {
            return true;
        }
        match (PackRef::parse(requested), PackRef::parse(resolved)) {
            (Ok(wanted), Ok(got)) => wanted.name == got.name && wanted.hash.is_none(),
            (Ok(wanted), Err(_)) => resolved.is_empty() && wanted.name == BUILT_IN && wanted.hash.unwrap_or(0) == 0,
            (Err(_), _) => false,
        }
    }

    /// The hash that the `spec.pack` of a floor names; 0 for the built-in pack. `None` if it names none.
    #[must_use]
    pub fn hash_of(resolved: &str) -> Option<u64> {
        if resolved.is_empty() { Some(0) } else { PackRef::parse(resolved).ok()?.hash }
    }
}

impl fmt::Display for PackRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)?;
        self.hash.map_or(Ok(()), |hash| write!(f, "@{hash:016x}"))
    }
}

/// Whether `name` may be the name of a pack.
#[must_use]
pub fn is_name(name: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    name.len() <= MAX_NAME && name.starts_with(|first: char| first.is_ascii_lowercase()) && name.bytes().all(is_inner)
}

fn parse_hash(text: &str) -> Option<u64> {
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    (text.len() == HASH_DIGITS && text.bytes().all(is_digit)).then(|| u64::from_str_radix(text, 16).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pack_is_a_name_with_or_without_a_hash() {
        for text in ["a", "my-pack2", "my-pack@00000000000000ff", "tower@0000000000000000"] {
            assert_eq!(PackRef::parse(text).unwrap().to_string(), text);
        }
        let long = "a".repeat(33);
        for wrong in ["", "A", "2a", "-a", "a_b", "a@", "a@ff", "a@00000000000000FF", "a@+0000000000000ff", "@", &long]
        {
            assert_eq!(PackRef::parse(wrong), Err(InvalidPackRef), "{wrong:?}");
        }
    }

    #[test]
    fn a_floor_is_of_the_pack_that_was_requested() {
        let one = "mine@00000000000000ff";
        for (requested, resolved) in
            [("", ""), ("", one), ("mine", one), (one, one), ("tower", ""), ("tower@0000000000000000", "")]
        {
            assert!(PackRef::matches(requested, resolved), "{requested:?} {resolved:?}");
        }
        for (requested, resolved) in [
            ("mine", ""),
            ("mine", "other@00000000000000ff"),
            ("mine@00000000000000fe", one),
            ("tower@00000000000000ff", ""),
            ("Mine", one),
        ] {
            assert!(!PackRef::matches(requested, resolved), "{requested:?} {resolved:?}");
        }
        assert_eq!((PackRef::hash_of(""), PackRef::hash_of(one), PackRef::hash_of("mine")), (Some(0), Some(255), None));
    }
}
