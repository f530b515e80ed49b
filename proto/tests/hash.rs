//! The content hash: what it covers and what it catches.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use floor_proto::{
    grid,
    hash::{HashError, content_hash, encode_hashed, verify, verify_encoded},
    v1::{Floor, FloorSpec, Point, Spawn},
};
use proptest::prelude::*;
use prost::Message;
use xxhash_rust::xxh3::xxh3_64;

fn floor(seed: u64, archetype: String) -> Floor {
    Floor {
        spec: Some(FloorSpec { seed, number: 3, width: 16, height: 16, kind: 1, ..FloorSpec::default() }),
        generator_version: 1,
        terrain: Some(grid::encode(16, 16, &[1; 256])),
        entry: Some(Point { x: 1, y: 2 }),
        spawns: vec![Spawn { at: Some(Point { x: 3, y: 4 }), archetype, level: 2, ..Spawn::default() }],
        ..Floor::default()
    }
}

proptest! {
    #[test]
    fn encode_hashed_fills_the_hash_in(seed in any::<u64>(), name in "[a-z]{0,300}", prefix_len in 0usize..20) {
        let mut floor = floor(seed, name);
        let encoded = encode_hashed(&floor, prefix_len);
        floor.content_hash = content_hash(&floor);
        prop_assert!(verify(&floor));
        prop_assert_eq!(&encoded[..prefix_len], &vec![0; prefix_len][..]);
        prop_assert_eq!(&encoded[prefix_len..], &floor.encode_to_vec()[..]);
        prop_assert_eq!(verify_encoded(&encoded[prefix_len..]), Ok(floor));
    }

    #[test]
    fn every_flipped_bit_is_detected(seed in any::<u64>(), at in any::<prop::sample::Index>(), bit in 0u8..8) {
        let mut encoded = encode_hashed(&floor(seed, "rat".into()), 0);
        let at = at.index(encoded.len());
        encoded[at] ^= 1 << bit;
        prop_assert!(verify_encoded(&encoded).is_err());
    }
}

/// Replaces the hash in an encoded floor to which bytes were added.
fn rehashed(encoded: &[u8]) -> Vec<u8> {
    let at = encoded.windows(2).position(|bytes| bytes == [2 << 3, 1]).unwrap() + 2;
    assert_eq!(encoded[at], 3 << 3 | 1, "the hash follows field 2");
    let bare = [&encoded[..at], &encoded[at + 9..]].concat();
    [&encoded[..=at], &xxh3_64(&bare).to_le_bytes()[..], &encoded[at + 9..]].concat()
}

#[test]
fn unknown_fields_count_towards_the_hash() {
    let older = floor(1, "rat".into());
    let mut encoded = encode_hashed(&older, 0);
    // Field 1000, a string that this version does not know.
    encoded.extend([0xC2, 0x3E, 3, b'n', b'e', b'w']);
    assert!(matches!(verify_encoded(&encoded), Err(HashError::Mismatch { .. })), "added bytes count towards the hash");
    let encoded = rehashed(&encoded);
    let read = verify_encoded(&encoded).unwrap();
    assert_eq!(Floor { content_hash: 0, ..read }, older);
}

#[test]
fn a_repeated_hash_field_is_rejected() {
    let mut encoded = encode_hashed(&floor(1, "rat".into()), 0);
    let hash = encoded[encoded.iter().position(|byte| *byte == 3 << 3 | 1).unwrap()..][..9].to_vec();
    encoded.extend(hash);
    assert_eq!(verify_encoded(&encoded), Err(HashError::Repeated(2)));
}

#[test]
fn bytes_added_without_a_new_hash_are_rejected() {
    let mut encoded = encode_hashed(&floor(1, "rat".into()), 0);
    // A second field 2 with the same value: it decodes to the same floor, but the bytes differ.
    encoded.extend([2 << 3, 1]);
    assert!(matches!(verify_encoded(&encoded), Err(HashError::Mismatch { .. })));
}
