//! The test vectors: a manifest, and the files that it names.
//!
//! The example writes them, and `crates/floor-pack/tests/vectors.rs` compares them with the committed files.

mod floors;
mod grids;
mod json;
mod malformed;
mod packs;
mod picture;
mod requests;
mod seeds;
mod statuses;
mod ways;

use std::{collections::BTreeMap, fmt::Write as _};

use floor_gen::GENERATOR_VERSION;
use serde::Serialize;
use xxhash_rust::xxh3::xxh3_64;

/// The folders of the files that the manifest names.
pub(crate) const FOLDERS: [&str; 4] = ["floors", "batches", "malformed", "packs"];
/// The name of the manifest.
pub(crate) const MANIFEST: &str = "manifest.json";
/// The layout of the manifest. Rises when a program that reads it must change.
const FORMAT: u32 = 1;

/// The files by their path below `proto/vectors`.
pub(crate) type Files = BTreeMap<String, Vec<u8>>;

#[derive(Serialize)]
struct Manifest {
    format: u32,
    generator_version: u32,
    requests: Vec<requests::Request>,
    floors: Vec<floors::FloorVector>,
    batches: Vec<floors::BatchVector>,
    grids: Vec<grids::GridVector>,
    malformed_grids: Vec<malformed::MalformedGrid>,
    malformed_floors: Vec<malformed::MalformedFloor>,
    statuses: Vec<statuses::StatusVector>,
    packs: Vec<packs::PackVector>,
    ways: Vec<ways::WayVector>,
    seeds: Vec<seeds::SeedVector>,
}

/// All files, the manifest among them.
pub(crate) fn files() -> Files {
    let mut files = Files::new();
    let manifest = Manifest {
        format: FORMAT,
        generator_version: GENERATOR_VERSION,
        requests: requests::all(),
        floors: [floors::all(&mut files), packs::floors(&mut files)].into_iter().flatten().collect(),
        batches: floors::batches(&mut files),
        grids: grids::all(),
        malformed_grids: malformed::grids(),
        malformed_floors: malformed::floors(&mut files),
        statuses: statuses::all(),
        packs: packs::all(&mut files),
        ways: ways::all(),
        seeds: seeds::all(),
    };
    files.insert(MANIFEST.to_owned(), json::text(&manifest));
    files
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("writing to a string cannot fail");
        text
    })
}

/// The XXH3-64 hash of bytes, as 16 hexadecimal digits.
fn digest(bytes: &[u8]) -> String {
    format!("{:016x}", xxh3_64(bytes))
}
