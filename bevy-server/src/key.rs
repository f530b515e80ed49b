//! The storage key of a floor. It contains everything that the bytes depend on, so a stored floor is never stale.
//!
//! | bytes | what | order |
//! |---|---|---|
//! | 0..8 | seed | big-endian |
//! | 8..12 | number | big-endian |
//! | 12..14 | width | big-endian |
//! | 14..16 | height | big-endian |
//! | 16..20 | generator version | big-endian |
//! | 20..23 | zero | |
//! | 23 | kind | the key's [`Class`] |
//!
//! Big-endian, so that an ordered store keeps the floors of a tower adjacent.

use floor_cache::{Class, Key};
use floor_gen::{FloorSpec, GENERATOR_VERSION, Kind};

/// The key of a floor.
#[must_use]
pub fn of(spec: &FloorSpec) -> Key {
    let mut identity = [0; Key::LEN - 1];
    identity[0..8].copy_from_slice(&spec.seed().to_be_bytes());
    identity[8..12].copy_from_slice(&spec.number().to_be_bytes());
    identity[12..14].copy_from_slice(&spec.width().to_be_bytes());
    identity[14..16].copy_from_slice(&spec.height().to_be_bytes());
    identity[16..20].copy_from_slice(&GENERATOR_VERSION.to_be_bytes());
    Key::new(identity, class(spec.kind()))
}

/// The floor of a key, or `None` if [`of`] never returns that key.
#[must_use]
pub fn spec(key: &Key) -> Option<FloorSpec> {
    let bytes = key.as_bytes();
    let field = |from: usize, to: usize| bytes[from..to].iter().fold(0u64, |value, byte| value << 8 | u64::from(*byte));
    let small = |from, to| u32::try_from(field(from, to)).ok();
    if small(16, 20)? != GENERATOR_VERSION {
        return None;
    }
    let kind = Kind::from_number(key.class().index() as u32)?;
    let spec = FloorSpec::resolve(field(0, 8), small(8, 12)?, small(12, 14)?, small(14, 16)?, Some(kind)).ok()?;
    (of(&spec) == *key).then_some(spec)
}

/// The class of a kind.
#[must_use]
pub const fn class(kind: Kind) -> Class {
    Class::new(kind as u8)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_key_names_its_floor(seed in any::<u64>(), number in 1u32..=1_000_000, width in 16u32..=512, height in 16u32..=512, kind in prop::sample::select(Kind::ALL.to_vec())) {
            let wanted = FloorSpec::resolve(seed, number, width, height, Some(kind)).unwrap();
            prop_assert_eq!(spec(&of(&wanted)), Some(wanted));
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
    fn the_scheduled_kind_and_the_same_kind_by_name_share_a_key() {
        let scheduled = FloorSpec::resolve(7, 10, 0, 0, None).unwrap();
        let named = FloorSpec::resolve(7, 10, 100, 100, Some(scheduled.kind())).unwrap();
        assert_eq!(of(&scheduled), of(&named));
    }
}
