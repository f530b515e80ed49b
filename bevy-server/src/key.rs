//! The storage key of a floor, and whether stored bytes can be the floor of a key. A key contains everything that the
//! bytes depend on, so a stored floor is never stale.
//!
//! | bytes | what | order |
//! |---|---|---|
//! | 0..8 | seed | big-endian |
//! | 8..12 | number | big-endian |
//! | 12..14 | width | big-endian |
//! | 14..16 | height | big-endian |
//! | 16..20 | generator version | big-endian |
//! | 20..28 | hash of the pack, 0 for the built-in one | big-endian |
//! | 28 | view: 0 everything, 1 a player's | |
//! | 29 | id of the server's key, of a floor of a sealed tower, else 0 | |
//! | 30 | zero | |
//! | 31 | kind | the key's [`Class`] |
//!
//! A floor of a sealed tower has in place of its seed, which is secret, a number that stands for the name of the tower
//! ([`towers`](crate::towers)).
//!
//! Big-endian, so that an ordered store keeps the floors of a tower adjacent. Before packs a key had 24 bytes. Keys of
//! another length are other keys, so a store evicts those floors as it evicts all that is not read.

use std::num::NonZeroU8;

use floor_cache::{Class, Key, KeyPattern};
use floor_gen::{FloorSpec, GENERATOR_VERSION, Kind, PackHash, View};
use floor_proto::{
    FRAME_PREFIX_BYTES,
    pack::{MAX_NAME, PackRef},
};

/// Where the hash of the pack begins in a key.
const PACK_HASH_AT: usize = 20;
/// Where the view stands in a key.
const VIEW_AT: usize = 28;
/// Where the id of the server's key stands in that of a sealed floor.
const TOWER_KEY_AT: usize = 29;

/// The key of a floor.
#[must_use]
pub fn of(spec: &FloorSpec) -> Key {
    with_tower_key(spec, 0)
}

/// The key of a floor of a sealed tower: of `spec` with the number of the tower in place of the seed.
#[must_use]
pub fn of_sealed(spec: &FloorSpec, tower_key: NonZeroU8) -> Key {
    with_tower_key(spec, tower_key.get())
}

fn with_tower_key(spec: &FloorSpec, tower_key: u8) -> Key {
    let mut identity = [0; Key::LEN - 1];
    identity[0..8].copy_from_slice(&spec.seed().to_be_bytes());
    identity[8..12].copy_from_slice(&spec.number().to_be_bytes());
    identity[12..14].copy_from_slice(&spec.width().to_be_bytes());
    identity[14..16].copy_from_slice(&spec.height().to_be_bytes());
    identity[16..20].copy_from_slice(&GENERATOR_VERSION.to_be_bytes());
    identity[PACK_HASH_AT..][..8].copy_from_slice(&spec.pack().0.to_be_bytes());
    identity[VIEW_AT] = spec.view() as u8;
    identity[TOWER_KEY_AT] = tower_key;
    Key::new(identity, class(spec.kind()))
}

/// Matches the keys of every floor of the tower `seed`, of any pack and generator version.
#[must_use]
pub fn tower(seed: u64) -> KeyPattern {
    KeyPattern::prefix(&seed.to_be_bytes()).expect("a seed is shorter than a key")
}

/// Matches the keys of every floor of the version `hash` of a pack, of any tower and generator version.
#[must_use]
pub fn pack(hash: PackHash) -> KeyPattern {
    KeyPattern::at(PACK_HASH_AT, &hash.0.to_be_bytes()).expect("the hash is inside of a key")
}

/// The floor of a key, or `None` if [`of`] never returns that key.
#[must_use]
pub fn spec(key: &Key) -> Option<FloorSpec> {
    parsed(key).filter(|spec| of(spec) == *key)
}

/// The floor of a key of [`of_sealed`], with the number of the tower in place of the seed; and the id of the server's key.
#[must_use]
pub fn sealed_spec(key: &Key) -> Option<(FloorSpec, NonZeroU8)> {
    let tower_key = NonZeroU8::new(key.as_bytes()[TOWER_KEY_AT])?;
    parsed(key).filter(|spec| of_sealed(spec, tower_key) == *key).map(|spec| (spec, tower_key))
}

/// The cells of the floor of a key, to which the time of generation is about proportional within a kind; 1 if there is
/// none.
#[must_use]
pub fn cells(key: &Key) -> u64 {
    parsed(key).map_or(1, |spec| spec.cells() as u64)
}

/// What the fields of a key say.
fn parsed(key: &Key) -> Option<FloorSpec> {
    let bytes = key.as_bytes();
    let field = |from: usize, to: usize| bytes[from..to].iter().fold(0u64, |value, byte| value << 8 | u64::from(*byte));
    let small = |from, to| u32::try_from(field(from, to)).ok();
    if small(16, 20)? != GENERATOR_VERSION {
        return None;
    }
    let kind = Kind::from_number(key.class().index() as u32)?;
    let spec =
        FloorSpec::of_pack(pack_hash(key), field(0, 8), small(8, 12)?, small(12, 14)?, small(14, 16)?, kind).ok()?;
    Some(spec.with_view(View::from_number(bytes[VIEW_AT].into())?))
}

/// The pack of the floor of a key.
#[must_use]
pub fn pack_hash(key: &Key) -> PackHash {
    let bytes = key.as_bytes()[PACK_HASH_AT..].first_chunk().expect("the hash is inside of a key");
    PackHash(u64::from_be_bytes(*bytes))
}

/// The class of a kind.
#[must_use]
pub const fn class(kind: Kind) -> Class {
    Class::new(kind as u8)
}

/// Length of the content hash, which follows its tag.
const HASH_BYTES: usize = 8;

/// Tags of a floor's first fields: number << 3 | wire type.
const SPEC: u8 = 1 << 3 | 2;
const VERSION: u8 = 2 << 3;
const HASH: u8 = 3 << 3 | 1;
/// The tag of the pack in a spec.
const PACK: u8 = 6 << 3 | 2;
/// Where the fields of the spec begin.
const SPEC_START: usize = 2;
/// The most bytes of `NAME@HASH`.
const LONGEST_PACK: usize = MAX_NAME + 1 + 16;

/// Checks that `value`, which comes from a store outside this process, can be the floor of `key`. The chain calls it on
/// each such hit, so it neither decodes nor allocates.
///
/// It compares the start of the value with what [`floor_wire::framed`] writes: the frame prefix, the resolved spec, the
/// generator version, the tag of the content hash. Of a floor of a pack the version counts if it can be one, because the
/// pack may have a generator of its own. The content is not checked: a floor with the right start and wrong rooms passes. Sealing with `cache.keys_file` prevents that.
///
/// # Errors
/// What is wrong with the value.
pub fn check(key: &Key, value: &[u8]) -> Result<(), &'static str> {
    let Some((&[flag, l0, l1, l2, l3], message)) = value.split_first_chunk::<FRAME_PREFIX_BYTES>() else {
        return Err("it is shorter than the prefix of a frame");
    };
    if flag != 0 {
        return Err("its frame claims to be compressed");
    }
    if u32::from_be_bytes([l0, l1, l2, l3]) as usize != message.len() {
        return Err("its frame claims another length");
    }
    let spec = spec(key).ok_or("no floor has its key")?;
    let mut fields = Prefix::new();
    fields.varint_field(1, spec.seed());
    fields.varint_field(2, spec.number().into());
    fields.varint_field(3, spec.width().into());
    fields.varint_field(4, spec.height().into());
    fields.varint_field(5, spec.kind() as u64);
    if spec.pack() != PackHash::BUILT_IN {
        // The key has no name, so that of the value counts if it can be one.
        let name = pack_name(message, fields.len, spec.pack()).ok_or("it is not of the pack of its key")?;
        fields.push(PACK);
        fields.push(name.len() as u8);
        fields.extend(name);
    }
    fields.varint_field(7, spec.view() as u64);
    let mut start = Prefix::new();
    start.push(SPEC);
    // At most 84 bytes, so one byte holds the length.
    start.push(fields.len as u8);
    start.extend(fields.as_bytes());
    let rest = message.strip_prefix(start.as_bytes()).ok_or("it is not the floor of its key")?;
    let version = if spec.pack() == PackHash::BUILT_IN { Some(GENERATOR_VERSION) } else { version(rest) };
    let mut version_and_tag = Prefix::new();
    version_and_tag.varint_field(2, version.unwrap_or_default().into());
    version_and_tag.push(HASH);
    let rest = rest.strip_prefix(version_and_tag.as_bytes()).ok_or("it is not the floor of its key")?;
    if rest.len() < HASH_BYTES { Err("it ends in its content hash") } else { Ok(()) }
}

/// The generator version that a floor begins with after its spec.
fn version(rest: &[u8]) -> Option<u32> {
    let mut version = 0u64;
    for (index, byte) in rest.strip_prefix(&[VERSION])?.iter().take(5).enumerate() {
        version |= u64::from(byte & 0x7f) << (7 * index);
        if byte & 0x80 == 0 {
            return u32::try_from(version).ok();
        }
    }
    None
}

/// `NAME@HASH` in a floor whose spec begins with `before` bytes of other fields, if its hash is `wanted`.
fn pack_name(message: &[u8], before: usize, wanted: PackHash) -> Option<&[u8]> {
    let (&length, rest) = message.get(SPEC_START + before + 1..)?.split_first()?;
    let name = rest.get(..usize::from(length)).filter(|name| name.len() <= LONGEST_PACK)?;
    let hash = PackRef::parse(str::from_utf8(name).ok()?).ok()?.hash;
    (hash == Some(wanted.0)).then_some(name)
}

/// The canonical encoding of the first fields of a floor, on the stack.
struct Prefix {
    bytes: [u8; Self::MAX],
    len: usize,
}

impl Prefix {
    /// The maximum: a spec of 2 + 11 + 4 * 6 + 2 + [`LONGEST_PACK`] + 2 bytes, a version of 6, a tag.
    const MAX: usize = 48 + 2 + LONGEST_PACK + 2;

    const fn new() -> Self {
        Self { bytes: [0; Self::MAX], len: 0 }
    }

    fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    fn push(&mut self, byte: u8) {
        self.bytes[self.len] = byte;
        self.len += 1;
    }

    fn extend(&mut self, bytes: &[u8]) {
        self.bytes[self.len..][..bytes.len()].copy_from_slice(bytes);
        self.len += bytes.len();
    }

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.push(value as u8);
    }

    /// A field of wire type varint. Zero is omitted.
    fn varint_field(&mut self, number: u8, value: u64) {
        if value != 0 {
            self.push(number << 3);
            self.varint(value);
        }
    }
}

#[cfg(test)]
mod tests {
    use floor_gen::{Generator, pack::Files};
    use floor_pack::LoadedPack;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_key_names_its_floor(seed in any::<u64>(), number in 1u32..=1_000_000, width in 16u32..=512, height in 16u32..=512, kind in prop::sample::select(Kind::ALL.to_vec())) {
            let wanted = FloorSpec::resolve(seed, number, width, height, Some(kind)).unwrap();
            prop_assert_eq!(spec(&of(&wanted)), Some(wanted));
            prop_assert!(tower(seed).matches(&of(&wanted)) && !tower(!seed).matches(&of(&wanted)));
        }

        #[test]
        fn a_key_with_a_changed_byte_names_another_floor_or_none(seed in any::<u64>(), at in 0..Key::LEN - 1, flip in 1u8..) {
            let wanted = FloorSpec::resolve(seed, 7, 0, 0, None).unwrap();
            let mut identity: [u8; Key::LEN - 1] = of(&wanted).as_bytes()[..Key::LEN - 1].try_into().unwrap();
            identity[at] ^= flip;
            let other = spec(&Key::new(identity, of(&wanted).class()));
            prop_assert_ne!(other, Some(wanted));
            prop_assert!(other.is_some() || at >= 8, "every seed is a tower");
        }
    }

    #[test]
    fn a_sealed_floor_has_a_key_of_its_own() {
        let spec = FloorSpec::resolve(7, 3, 16, 16, None).unwrap();
        let ids = [NonZeroU8::MIN, NonZeroU8::MAX];
        for id in ids {
            let key = of_sealed(&spec, id);
            assert_eq!((sealed_spec(&key), super::spec(&key)), (Some((spec, id)), None));
            assert_eq!(cells(&key), 256);
            assert!(check(&key, &framed(&spec)).is_err(), "no store has one");
        }
        assert_ne!(of_sealed(&spec, ids[0]), of_sealed(&spec, ids[1]));
        assert_eq!(sealed_spec(&of(&spec)), None);
    }

    #[test]
    fn the_scheduled_kind_and_the_same_kind_by_name_share_a_key() {
        let scheduled = FloorSpec::resolve(7, 10, 0, 0, None).unwrap();
        let named = FloorSpec::resolve(7, 10, 100, 100, Some(scheduled.kind())).unwrap();
        assert_eq!(of(&scheduled), of(&named));
    }

    #[test]
    fn packs_have_different_keys_and_the_pack_of_a_stored_floor_is_checked() {
        let load = |description: &str| {
            let mut files = Files::new();
            let text = format!("name = \"mine\"\ndescription = \"{description}\"\n");
            files.insert("pack.toml", text.as_bytes()).unwrap();
            LoadedPack::read(files).unwrap()
        };
        let (one, other, tower) = (load("one"), load("other"), LoadedPack::built_in());
        let resolve = |pack: &LoadedPack| pack.resolve(u64::MAX, 1_000_000, 16, 16, Some(Kind::Standard)).unwrap();
        let packs = [&one, &other, &**tower];
        let keys = packs.map(|pack| of(&resolve(pack)));
        let mut generator = Generator::new();
        for (pack, key) in packs.into_iter().zip(&keys) {
            assert_eq!(spec(key), Some(resolve(pack)));
            let matched = keys.map(|other| super::pack(resolve(pack).pack()).matches(&other));
            assert_eq!(matched, keys.map(|other| other == *key));
            let value = pack.framed(&mut generator, &resolve(pack)).unwrap().to_vec();
            for other in &keys {
                assert_eq!(check(other, &value).is_ok(), key == other);
            }
            for length in 0..value.len() {
                check(key, &value[..length]).unwrap_err();
            }
        }
        let mut value = one.framed(&mut generator, &resolve(&one)).unwrap().to_vec();
        let hash = format!("@{}", resolve(&one).pack());
        let at = value.windows(hash.len()).position(|bytes| bytes == hash.as_bytes()).unwrap();
        value[at + 1] ^= 1;
        assert_eq!(check(&keys[0], &value), Err("it is not of the pack of its key"));
        for length in FRAME_PREFIX_BYTES..200 {
            check(&keys[0], &reframed(value[..length].to_vec())).unwrap_err();
        }
    }

    fn framed(spec: &FloorSpec) -> Vec<u8> {
        floor_wire::framed(&floor_gen::generate(spec)).to_vec()
    }

    /// Sets the length in the prefix to that of the message.
    fn reframed(mut value: Vec<u8>) -> Vec<u8> {
        let length = u32::try_from(value.len() - FRAME_PREFIX_BYTES).unwrap();
        value[1..FRAME_PREFIX_BYTES].copy_from_slice(&length.to_be_bytes());
        value
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn every_floor_passes_under_its_key_and_under_no_other(
            seed in prop_oneof![Just(0), Just(u64::MAX), any::<u64>()],
            number in 1_u32..=1_000_000,
            size in 16_u32..=64,
            kind in prop::sample::select(Kind::ALL.to_vec()),
        ) {
            let resolve = |seed, number| FloorSpec::resolve(seed, number, size, size, Some(kind)).unwrap();
            let spec = resolve(seed, number);
            let value = framed(&spec);
            prop_assert_eq!(check(&of(&spec), &value), Ok(()));
            for other in [resolve(seed ^ 1, number), resolve(seed, number % 1_000_000 + 1)] {
                prop_assert!(check(&of(&other), &value).is_err());
            }
        }

        #[test]
        fn no_bytes_panic(seed in any::<u64>(), bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            let spec = FloorSpec::resolve(seed, 1, 16, 16, None).unwrap();
            prop_assert!(check(&of(&spec), &bytes).is_err());
        }
    }

    #[test]
    fn truncated_padded_or_changed_values_are_rejected() {
        let spec = FloorSpec::resolve(7, 3, 16, 16, None).unwrap();
        let (key, value) = (of(&spec), framed(&spec));
        for length in 0..value.len() {
            check(&key, &value[..length]).unwrap_err();
        }
        // The prefix, the tag and length of the spec, 9 bytes of spec, the version, the tag of the hash.
        let start = FRAME_PREFIX_BYTES + 2 + usize::from(value[6]) + 3;
        for at in 0..start {
            for bit in 0..8 {
                let mut changed = value.clone();
                changed[at] ^= 1 << bit;
                check(&key, &changed).unwrap_err();
            }
        }
        for length in FRAME_PREFIX_BYTES..start + HASH_BYTES {
            check(&key, &reframed(value[..length].to_vec())).unwrap_err();
        }
        check(&key, &[&value[..], &[0]].concat()).unwrap_err();
        let unnamed = Key::new([0xFF; Key::LEN - 1], key.class());
        check(&unnamed, &value).unwrap_err();
    }
}
