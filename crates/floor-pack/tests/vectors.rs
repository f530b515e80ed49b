//! Checks that `proto/vectors` is what the example `vectors` writes:
//! `cargo run -p floor-pack --features authored --example vectors -- proto/vectors`.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

#[path = "../examples/vectors/set/mod.rs"]
mod set;

use std::{collections::BTreeSet, fs, path::Path};

/// The most that the vectors may weigh in the repository, in bytes.
const MAX_BYTES: usize = 1_000_000;

fn folder() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../proto/vectors"))
}

#[test]
fn the_committed_vectors_are_current() {
    let files = set::files();
    for (path, expected) in &files {
        let committed = fs::read(folder().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
        // Another version of the encoder may write other bytes for the same picture.
        let equal =
            if path.ends_with(".png") { pixels(&committed) == pixels(expected) } else { committed == *expected };
        assert!(
            equal,
            "{path} is not current: cargo run -p floor-pack --features authored --example vectors -- proto/vectors"
        );
    }
    let mut committed = BTreeSet::from([set::MANIFEST.to_owned()]);
    for name in set::FOLDERS {
        let entries = fs::read_dir(folder().join(name)).unwrap();
        committed.extend(entries.map(|entry| format!("{name}/{}", entry.unwrap().file_name().to_str().unwrap())));
    }
    assert_eq!(committed, files.keys().cloned().collect());
    assert!(files.values().map(Vec::len).sum::<usize>() < MAX_BYTES, "the vectors have become too large");
}

/// The width, the colours and the colour index of each pixel.
fn pixels(file: &[u8]) -> (u32, Vec<u8>, Vec<u8>) {
    let mut reader = png::Decoder::new(std::io::Cursor::new(file)).read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    reader.next_frame(&mut pixels).unwrap();
    let colours = reader.info().palette.as_deref().unwrap_or_default().to_vec();
    (reader.info().width, colours, pixels)
}

#[test]
fn every_encoding_of_grids_occurs() {
    let files = set::files();
    let manifest: serde_json::Value = serde_json::from_slice(&files[set::MANIFEST]).unwrap();
    let grids = manifest["grids"].as_array().unwrap().iter();
    let found: BTreeSet<String> =
        grids.map(|grid| format!("{} {}", grid["encoding"].as_str().unwrap(), grid["bits"])).collect();
    let expected = ["PACKED 1", "PACKED 2", "PACKED 4", "RAW8 0", "RLE 0", "UNIFORM 0"];
    assert_eq!(found, expected.map(|name| format!("GRID_ENCODING_{name}")).into());
}
