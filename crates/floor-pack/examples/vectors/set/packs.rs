//! A pack besides the built-in one, and floors of it, generated and authored.

use floor_gen::{Generator, Kind, pack::Files as PackFiles};
use floor_pack::LoadedPack;
use floor_proto::v1::FloorSpec;
use serde::Serialize;

use super::{
    Files,
    floors::{FloorVector, save, vector},
};

/// The name of the pack.
pub(super) const NAME: &str = "sample";
/// The floor of [`a_floor`], in the list of floors.
pub(super) const A_FLOOR: &str = "pack_standard";

/// The files of the pack.
macro_rules! sample {
    ($($path:literal)+) => {
        [$(($path, include_bytes!(concat!("../sample/", $path)).as_slice())),+]
    };
}

#[derive(Serialize)]
pub(super) struct PackVector {
    name: String,
    /// The hash of the bytes, as 16 hexadecimal digits.
    hash: String,
    /// The file of the bytes that `GetPack` has in `file`.
    bytes: String,
    description: String,
    themes: Vec<String>,
    floors_authored: usize,
}

pub(super) fn all(files: &mut Files) -> Vec<PackVector> {
    let loaded = load();
    let pack = loaded.pack();
    vec![PackVector {
        name: pack.name().to_owned(),
        hash: pack.hash().to_string(),
        bytes: save(files, format!("packs/{NAME}.floorpack"), pack.files().to_bytes()),
        description: pack.description().to_owned(),
        themes: pack.themes().iter().map(|theme| theme.name().to_owned()).collect(),
        floors_authored: loaded.authored_count(),
    }]
}

/// Floors by version and by name, generated and authored. The last two are generated: another tower and another size have
/// the authored floor.
pub(super) fn floors(files: &mut Files) -> Vec<FloorVector> {
    let loaded = load();
    let version = loaded.reference();
    [
        (A_FLOOR, 42, 1, 0, 0, Some(Kind::Standard), version),
        ("pack_cavern", 42, 2, 40, 24, Some(Kind::Cavern), version),
        ("pack_boss", 7, 4, 0, 0, None, NAME),
        ("pack_authored", 7, 5, 0, 0, None, version),
        ("pack_authored_for_a_tower", 42, 6, 0, 0, None, NAME),
        ("pack_not_authored_for_a_tower", 7, 6, 0, 0, None, version),
        ("pack_not_authored_in_a_size", 7, 5, 24, 24, None, version),
    ]
    .into_iter()
    .map(|(name, seed, number, width, height, kind, pack)| {
        let spec = loaded.resolve(seed, number, width, height, kind).expect("the specs of the vectors are valid");
        let encoded =
            floor_wire::unframed(&loaded.framed(&mut Generator::new(), &spec).expect("it has no generator of its own"))
                .to_vec();
        let kind = kind.map_or(0, |kind| floor_wire::kind(kind).into());
        let requested = FloorSpec { seed, number, width, height, kind, pack: pack.to_owned(), view: 0 };
        vector(name, Some(NAME), requested, encoded, files)
    })
    .collect()
}

/// A request for [`A_FLOOR`] of `pack`.
pub(super) fn a_floor(pack: &str) -> FloorSpec {
    FloorSpec { seed: 42, number: 1, pack: pack.to_owned(), ..FloorSpec::default() }
}

fn load() -> LoadedPack {
    let mut files = PackFiles::new();
    let sample = sample!["pack.toml" "vaults/well.txt" "floors/5.json" "floors/42-6.json"];
    for (path, content) in sample {
        files.insert(path, content).expect("the paths are valid");
    }
    LoadedPack::read(files).unwrap_or_else(|errors| panic!("{errors}"))
}
