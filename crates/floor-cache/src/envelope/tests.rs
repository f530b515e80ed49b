//! Property tests: a sealed value opens under its key in every codec, and nothing else opens.

use proptest::prelude::*;

use super::*;
use crate::key::Class;

fn namespace(name: &str) -> Namespace {
    Namespace::new(name).unwrap()
}

fn keys(list: &[(u8, &str)]) -> MasterKeys {
    let list: Vec<_> = list.iter().map(|(id, byte)| format!("{id}:{}", byte.repeat(32))).collect();
    list.join(",").parse().unwrap()
}

fn plain(version: u32) -> Envelope {
    Envelope::new(namespace("floors"), version)
}

fn sealing(version: u32) -> Envelope {
    plain(version).sealing(&keys(&[(1, "ab")]))
}

/// An envelope of each codec.
fn envelopes(version: u32) -> [Envelope; 4] {
    [plain(version), plain(version).compressing(true), sealing(version), sealing(version).compressing(true)]
}

fn sealed(envelope: &Envelope, key: &StoredKey, value: &[u8]) -> Vec<u8> {
    let mut out = b"before".to_vec();
    envelope.seal(key, value, &mut out).unwrap();
    out.split_off(6)
}

/// Opens in both ways, which must agree.
fn open(envelope: &Envelope, key: &StoredKey, bytes: &[u8]) -> Result<Bytes, Defect> {
    let opened = envelope.open(key, bytes);
    assert_eq!(envelope.open_owned(key, bytes.to_vec()), opened);
    opened
}

fn numbered(number: u64) -> Key {
    let mut identity = [0; Key::LEN - 1];
    identity[..8].copy_from_slice(&number.to_le_bytes());
    Key::new(identity, Class::new(1))
}

fn any_key() -> impl Strategy<Value = Key> {
    (any::<[u8; Key::LEN - 1]>(), any::<u8>()).prop_map(|(identity, class)| Key::new(identity, Class::new(class)))
}

/// Values that compress and values that do not.
fn any_value() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        prop::collection::vec(any::<u8>(), 0..2000),
        prop::collection::vec(0..3_u8, 0..5000),
        (any::<u8>(), 0..100_000_usize).prop_map(|(byte, len)| vec![byte; len]),
    ]
}

#[test]
fn the_format_stays_as_it_is() {
    let key = plain(1).stored(&Key::new([7; Key::LEN - 1], Class::new(2)));
    let header = [b'F', b'L', b'C', 1, 0, 0, 0, 0, 1, 0, 0, 0, 5, 0, 0, 0];
    let hash = [13, 32, 161, 57, 108, 20, 229, 127];
    assert_eq!(sealed(&plain(1), &key, b"floor"), [&header[..], &hash, b"floor"].concat());
    let both = sealed(&envelopes(1)[3], &key, &[0; 1000]);
    assert_eq!(both[..16], [b'F', b'L', b'C', 1, 3, 1, 0, 0, 1, 0, 0, 0, 0xE8, 3, 0, 0]);
}

/// Every bit of 1,000 values in each codec.
#[test]
fn every_flipped_bit_is_detected() {
    for envelope in envelopes(1) {
        for number in 0..1000_u64 {
            let key = envelope.stored(&numbered(number));
            let value: Vec<u8> = (0..number % 100).map(|i| ((i * number) >> 6) as u8).collect();
            let mut bytes = sealed(&envelope, &key, &value);
            assert_eq!(open(&envelope, &key, &bytes).unwrap(), value);
            for bit in 0..8 * bytes.len() {
                bytes[bit / 8] ^= 1 << (bit % 8);
                assert!(envelope.open(&key, &bytes).is_err(), "{envelope:?}, value {number}, bit {bit}");
                bytes[bit / 8] ^= 1 << (bit % 8);
            }
        }
    }
}

proptest! {
    #[test]
    fn a_sealed_value_opens_under_its_key(key in any_key(), value in any_value()) {
        for envelope in envelopes(1) {
            let key = envelope.stored(&key);
            prop_assert_eq!(&open(&envelope, &key, &sealed(&envelope, &key, &value)).unwrap()[..], &value[..]);
        }
    }

    #[test]
    fn an_envelope_does_not_open_under_another_key(key in any_key(), other in any_key(), value in any_value()) {
        prop_assume!(key != other);
        for envelope in envelopes(1) {
            let bytes = sealed(&envelope, &envelope.stored(&key), &value);
            let defect = open(&envelope, &envelope.stored(&other), &bytes).unwrap_err();
            prop_assert!(matches!(defect, Defect::Hash | Defect::Forged), "{}", defect);
        }
    }

    #[test]
    fn an_envelope_does_not_open_in_another_namespace(key in any_key(), value in any_value()) {
        let other = Envelope::new(namespace("floor"), 1);
        for (envelope, other) in [(plain(1), other.clone()), (sealing(1), other.sealing(&keys(&[(1, "ab")])))] {
            let bytes = sealed(&envelope, &envelope.stored(&key), &value);
            prop_assert!(open(&other, &other.stored(&key), &bytes).is_err());
        }
    }

    #[test]
    fn another_version_does_not_open(key in any_key(), value in any_value(), version in 2_u32..) {
        for (envelope, other) in envelopes(1).into_iter().zip(envelopes(version)) {
            let key = envelope.stored(&key);
            prop_assert_eq!(open(&other, &key, &sealed(&envelope, &key, &value)), Err(Defect::ValueVersion));
        }
    }

    #[test]
    fn a_truncated_envelope_does_not_open(key in any_key(), value in any_value(), at: prop::sample::Index) {
        for envelope in envelopes(1) {
            let key = envelope.stored(&key);
            let bytes = sealed(&envelope, &key, &value);
            prop_assert!(open(&envelope, &key, &bytes[..at.index(bytes.len())]).is_err());
        }
    }

    #[test]
    fn a_zeroed_stretch_does_not_open(key in any_key(), value in any_value(), from: prop::sample::Index) {
        for envelope in envelopes(1) {
            let key = envelope.stored(&key);
            let good = sealed(&envelope, &key, &value);
            let mut bad = good.clone();
            bad[from.index(good.len())..].fill(0);
            prop_assume!(bad != good);
            prop_assert!(open(&envelope, &key, &bad).is_err());
        }
    }

    #[test]
    fn noise_does_not_open(key in any_key(), noise: Vec<u8>) {
        for envelope in envelopes(1) {
            let key = envelope.stored(&key);
            prop_assert!(open(&envelope, &key, &noise).is_err());
            // With a valid header, so that each codec reads the noise.
            for codec in 0..4 {
                let header = Header { codec, key_id: 1, value_version: 1, len: noise.len() as u32 * 100 };
                prop_assert!(open(&envelope, &key, &[&header.to_bytes()[..], &[0; 8], &noise].concat()).is_err());
            }
        }
    }
}

#[test]
fn a_value_too_long_is_neither_sealed_nor_opened() {
    let key = plain(1).stored(&numbered(0));
    let long = vec![0; MAX_VALUE + 1];
    for envelope in envelopes(1) {
        assert_eq!(envelope.seal(&key, &long, &mut Vec::new()), Err(Defect::TooLong));
        assert_eq!(envelope.open(&key, &vec![0; MAX_ENVELOPE + 1]), Err(Defect::TooLong));
        let longest = vec![7; MAX_VALUE];
        assert!(envelope.open(&key, &sealed(&envelope, &key, &longest)).unwrap() == longest);
    }
}

/// A short envelope with a large length in its header is rejected before memory is allocated.
#[test]
fn a_decompression_bomb_is_rejected() {
    let envelope = plain(1).compressing(true);
    let key = envelope.stored(&numbered(0));
    let mut bytes = sealed(&envelope, &key, &vec![0; MAX_VALUE]);
    assert!(bytes.len() < MAX_VALUE / 200);
    for claim in [MAX_VALUE as u32 + 1, u32::MAX] {
        bytes[12..16].copy_from_slice(&claim.to_le_bytes());
        assert_eq!(open(&envelope, &key, &bytes), Err(Defect::TooLong));
    }
    // With a length that is too small, decompression stops at that length.
    bytes[12..16].copy_from_slice(&1000_u32.to_le_bytes());
    assert_eq!(open(&envelope, &key, &bytes), Err(Defect::Compression));
    let header = Header { codec: LZ4, key_id: 0, value_version: 1, len: MAX_VALUE as u32 };
    let tiny = [&header.to_bytes()[..], &[0; 8], &[0xFF; 16]].concat();
    assert_eq!(open(&envelope, &key, &tiny), Err(Defect::Compression));
}

#[test]
fn a_value_that_does_not_shrink_by_a_tenth_is_stored_uncompressed() {
    let envelope = plain(1).compressing(true);
    let key = envelope.stored(&numbered(0));
    let noise: Vec<u8> = (0..1000_u64).map(|i| (i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as u8).collect();
    assert_eq!(sealed(&envelope, &key, &noise), sealed(&plain(1), &key, &noise));
    assert!(sealed(&envelope, &key, &[0; 1000]).len() < 100);
}

#[test]
fn an_owned_value_is_opened_in_place() {
    for (envelope, offset) in [(plain(1), HEADER), (sealing(1), HEADER + NONCE)] {
        let key = envelope.stored(&numbered(0));
        let bytes = sealed(&envelope, &key, b"floor");
        let at = bytes[offset..].as_ptr();
        assert_eq!(envelope.open_owned(&key, bytes).unwrap().as_ptr(), at);
    }
}

#[test]
fn keys_rotate() {
    let key = plain(1).stored(&numbered(0));
    let of = |list| plain(1).sealing(&keys(list));
    let (old, both, new) = (of(&[(1, "ab")]), of(&[(2, "cd"), (1, "ab")]), of(&[(2, "cd")]));
    let before = sealed(&old, &key, b"floor");
    assert_eq!(open(&both, &key, &before).unwrap(), &b"floor"[..], "old keys read");
    let after = sealed(&both, &key, b"floor");
    assert_eq!(after[5], 2, "the new key writes");
    assert_eq!(open(&new, &key, &after).unwrap(), &b"floor"[..]);
    assert_eq!(open(&new, &key, &before), Err(Defect::UnknownKey), "until the old one is dropped");
    let reused = of(&[(2, "ef")]);
    assert_eq!(open(&reused, &key, &after), Err(Defect::Forged), "another key under an old id");
}

#[test]
fn a_chain_with_keys_rejects_unsealed_values() {
    let key = plain(1).stored(&numbered(0));
    assert_eq!(open(&sealing(1), &key, &sealed(&plain(1), &key, b"floor")), Err(Defect::Codec));
    assert_eq!(open(&plain(1), &key, &sealed(&sealing(1), &key, b"floor")), Err(Defect::Codec));
}

#[test]
fn sealing_twice_gives_different_bytes() {
    let key = plain(1).stored(&numbered(0));
    assert_ne!(sealed(&sealing(1), &key, b"floor"), sealed(&sealing(1), &key, b"floor"));
}
