//! The towers of generator versions that no program generates any more, in packs/tower-3.floorpack and tower-4.floorpack:
//! their floors are those on record from the programs that froze them. tower-N.txt is the golden of the last commit of that
//! version; tower-N-served.txt has the floors as servers name and hash them, for the tests of all programs that run the pack.
#![allow(clippy::unwrap_used, reason = "a panic fails the test and names the line")]

use std::{fmt::Write as _, path::Path};

use floor_gen::{FloorSpec, Generator, Kind};
use floor_pack::{LoadedPack, pack_files};
use floor_proto::{hash, v1};
use prost::Message as _;

const SIZES: [(u32, u32); 4] = [(16, 16), (64, 64), (100, 100), (200, 120)];

#[test]
fn floors_of_version_3_are_those_on_record() {
    assert_on_record(3, include_str!("tower-3.txt"), include_str!("tower-3-served.txt"));
}

#[test]
fn floors_of_version_4_are_those_on_record() {
    assert_on_record(4, include_str!("tower-4.txt"), include_str!("tower-4-served.txt"));
}

/// Compares the floors of `packs/tower-VERSION.floorpack`, beside which the built-in pack makes those of today.
fn assert_on_record(version: u32, golden: &str, on_record: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../packs/tower-{version}.floorpack"));
    let frozen = LoadedPack::read(pack_files::read(&file).unwrap()).unwrap();
    let mut record = format!("generator version {version}\n");
    let mut served = format!("{}\n", frozen.reference());
    let mut generator = Generator::new();
    for kind in Kind::ALL {
        for (width, height) in SIZES {
            for (seed, number) in [(0, 1), (42, 7)] {
                let spec = frozen.resolve(seed, number, width, height, Some(kind)).unwrap();
                let mut floor = frozen.message(&mut generator, &spec).unwrap();
                let name = format!("{kind} {width}x{height} tower {seed} floor {number}");
                writeln!(served, "{name}: {}", hash_and_length(floor.clone())).unwrap();
                let reference = std::mem::take(&mut floor.spec.as_mut().unwrap().pack);
                assert_eq!((reference.as_str(), floor.pack_hash), (frozen.reference(), frozen.pack().hash().0));
                // As the built-in pack that it was.
                floor.pack_hash = 0;
                writeln!(record, "{name}: {}", hash_and_length(floor)).unwrap();
            }
        }
    }
    assert_eq!(record, golden);
    assert_eq!(served, on_record);
    let spec = FloorSpec::resolve(42, 7, 0, 0, None).unwrap();
    let today = LoadedPack::built_in().message(&mut generator, &spec).unwrap();
    assert_eq!(today.generator_version, floor_gen::GENERATOR_VERSION);
}

fn hash_and_length(mut floor: v1::Floor) -> String {
    floor.content_hash = hash::content_hash(&floor);
    format!("{:016x} {} B", floor.content_hash, floor.encoded_len())
}
