//! The content hash: what it covers and what it catches.

use floor_proto::{
    grid,
    hash::{HashError, content_hash, encode_hashed, verify, verify_encoded},
    v1::{Floor, FloorSpec, Point, Spawn},
};
use proptest::prelude::*;
use prost::Message;

fn floor(seed: u64, archetype: String) -> Floor {
    Floor {
        spec: Some(FloorSpec { seed, number: 3, width: 16, height: 16, kind: 1 }),
        generator_version: 1,
        terrain: Some(grid::encode(16, 16, &[1; 256])),
        entry: Some(Point { x: 1, y: 2 }),
        spawns: vec![Spawn { at: Some(Point { x: 3, y: 4 }), archetype, level: 2 }],
        ..Floor::default()
    }
}

proptest! {
    #[test]
    fn hashing_while_encoding_is_encoding_a_hashed_floor(seed in any::<u64>(), name in "[a-z]{0,300}", room in 0usize..20) {
        let mut floor = floor(seed, name);
        let encoded = encode_hashed(&floor, room);
        floor.content_hash = content_hash(&floor);
        prop_assert!(verify(&floor));
        prop_assert_eq!(&encoded[..room], &vec![0; room][..]);
        prop_assert_eq!(&encoded[room..], &floor.encode_to_vec()[..]);
        prop_assert_eq!(verify_encoded(&encoded[room..]), Ok(floor));
    }

    #[test]
    fn no_flipped_bit_passes(seed in any::<u64>(), at in any::<prop::sample::Index>(), bit in 0u8..8) {
        let mut encoded = encode_hashed(&floor(seed, "rat".into()), 0);
        let at = at.index(encoded.len());
        encoded[at] ^= 1 << bit;
        prop_assert!(verify_encoded(&encoded).is_err());
    }
}

#[test]
fn a_floor_that_hashes_right_but_is_encoded_otherwise_is_named() {
    let mut encoded = encode_hashed(&floor(1, "rat".into()), 0);
    // Field 2 once more, with the value it has: the same floor to a decoder, other bytes to a reader.
    encoded.extend([2 << 3, 1]);
    assert!(matches!(verify_encoded(&encoded), Err(HashError::NotCanonical { .. })));
}
