//! Golden content hashes: a spec and a generator version give the same bytes on every platform and in every build. An
//! intended change raises `GENERATOR_VERSION` (docs/generator.md).
#![allow(clippy::unwrap_used, reason = "a panic fails the test and names the line")]

use std::fmt::Write as _;

use floor_gen::{FloorSpec, GENERATOR_VERSION, Generator, Kind};
use floor_proto::hash;

const SIZES: [(u32, u32); 4] = [(16, 16), (64, 64), (100, 100), (200, 120)];
const SEEDS: [(u64, u32); 2] = [(0, 1), (42, 7)];

#[test]
fn content_hashes_are_those_on_record() {
    let mut generator = Generator::new();
    let mut record = format!("generator version {GENERATOR_VERSION}\n");
    for kind in &Kind::ALL {
        for (width, height) in SIZES {
            for (seed, number) in SEEDS {
                let spec = FloorSpec::resolve(seed, number, width, height, Some(*kind)).unwrap();
                let encoded = floor_wire::unframed(&floor_wire::framed(&generator.generate(&spec)));
                let floor = hash::verify_encoded(&encoded).unwrap();
                let bytes = encoded.len();
                let hash = floor.content_hash;
                writeln!(record, "{kind} {width}x{height} tower {seed} floor {number}: {hash:016x} {bytes} B").unwrap();
            }
        }
    }
    insta::assert_snapshot!(record);
}

#[test]
fn a_floor_does_not_depend_on_what_was_generated_before() {
    let spec = |number| FloorSpec::resolve(1, number, 0, 0, None).unwrap();
    let mut busy = Generator::new();
    for number in 1..50 {
        let _ = busy.generate(&spec(number));
    }
    assert_eq!(floor_wire::framed(&busy.generate(&spec(50))), floor_wire::framed(&floor_gen::generate(&spec(50))));
}

#[test]
fn a_framed_floor_is_a_grpc_message() {
    let framed = floor_wire::framed(&floor_gen::generate(&FloorSpec::resolve(1, 1, 0, 0, None).unwrap()));
    assert_eq!(framed[0], 0, "not compressed");
    assert_eq!(u32::from_be_bytes(framed[1..5].try_into().unwrap()) as usize, framed.len() - 5);
}
