//! Floors and batches as the server sends them.

use floor_gen::{FloorSpec, Generator, Kind, View};
use floor_pack::LoadedPack;
use floor_proto::{
    grid, hash,
    v1::{self, BatchGetFloorsRequest, Grid},
};
use prost::Message;
use prost_reflect::DynamicMessage;
use serde::Serialize;

use super::{Files, digest, hex, json, picture};

/// The size of the floors of which there is one of each kind.
const SMALL: (u32, u32) = (48, 32);
/// The floors of which there is a picture.
const WITH_PICTURE: [&str; 3] = ["default", "boss", "cavern"];
/// Rows of cells take a third of a megabyte in a larger floor.
const MAX_JSON_CELLS: u32 = 20_000;

#[derive(Serialize)]
pub(super) struct FloorVector {
    name: String,
    /// The name of the pack that it is of, unless that is the built-in one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pack: Option<&'static str>,
    /// The encoded `GetFloorRequest`, in hexadecimal.
    request: String,
    /// The file of the encoded `Floor`.
    bytes: String,
    /// The file of the decoded floor; none for the largest floors.
    #[serde(skip_serializing_if = "Option::is_none")]
    json: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    picture: Option<String>,
    content_hash: String,
    terrain: GridFacts,
    region: GridFacts,
}

/// What a decoder must find in a grid of a floor.
#[derive(Serialize)]
struct GridFacts {
    encoding: &'static str,
    bits: u32,
    /// XXH3-64 of the cells, one byte each, row by row.
    cells_xxh3: String,
}

/// The decoded floor: the message as proto3 JSON, and its cells as rows of hexadecimal digits.
#[derive(Serialize)]
struct DecodedFloor {
    floor: DynamicMessage,
    terrain: Vec<String>,
    region: Vec<String>,
}

#[derive(Serialize)]
pub(super) struct BatchVector {
    name: &'static str,
    /// The encoded `BatchGetFloorsRequest`, in hexadecimal.
    request: String,
    /// The file of the encoded `BatchGetFloorsResponse`.
    bytes: String,
    /// The names of its floors, in order.
    floors: Vec<String>,
}

/// A floor by its name, seed, number, width, height and kind. A size of 0 and no kind are left to the server.
type Named = (String, u64, u32, u32, u32, Option<Kind>);

/// What the names of floors in the player's view begin with.
const PLAYERS: &str = "players_";

fn named() -> Vec<Named> {
    let kinds = (0..).zip(Kind::ALL).map(|(i, kind)| {
        let name = kind.to_string().to_lowercase();
        (name, 1000 + i, 3 + 11 * i as u32, SMALL.0, SMALL.1, Some(kind))
    });
    let special = [
        ("default", 42, 7, 0, 0, None),
        ("scheduled_boss", 42, 10, 0, 0, None),
        ("tower_zero", 0, 1, 16, 16, None),
        ("last", u64::MAX, 1_000_000, 17, 23, None),
        ("widest", 7, 200, 512, 16, None),
        ("tallest", 7, 201, 16, 512, None),
        ("largest", 1 << 63, 77_777, 512, 512, Some(Kind::Halls)),
        ("players_default", 42, 7, 0, 0, None),
        ("players_cavern", 1003, 36, SMALL.0, SMALL.1, Some(Kind::Cavern)),
        ("players_boss", 1006, 69, SMALL.0, SMALL.1, Some(Kind::Boss)),
    ];
    let special =
        special.map(|(name, seed, number, width, height, kind)| (name.to_owned(), seed, number, width, height, kind));
    kinds.chain(special).collect()
}

pub(super) fn all(files: &mut Files) -> Vec<FloorVector> {
    named().into_iter().map(|floor| vector(&floor.0, None, requested(&floor), encoded(&floor), files)).collect()
}

pub(super) fn vector(
    name: &str,
    pack: Option<&'static str>,
    requested: v1::FloorSpec,
    encoded: Vec<u8>,
    files: &mut Files,
) -> FloorVector {
    let floor = hash::verify_encoded(&encoded).expect("a generated floor has its hash");
    let terrain = cells(floor.terrain.as_ref());
    let region = cells(floor.region.as_ref());
    let spec = floor.spec.clone().expect("a generated floor has a spec");
    let json = (spec.width * spec.height <= MAX_JSON_CELLS).then(|| {
        let decoded = DecodedFloor {
            floor: json::message("Floor", &floor),
            terrain: rows(&terrain, spec.width, |cell| format!("{cell:x}")),
            region: rows(&region, spec.width, |cell| format!("{cell:02x}")),
        };
        save(files, format!("floors/{name}.json"), json::text(&decoded))
    });
    let picture = WITH_PICTURE
        .contains(&name)
        .then(|| save(files, format!("floors/{name}.png"), picture::of(spec.width, spec.height, &terrain)));
    FloorVector {
        name: name.to_owned(),
        pack,
        request: hex(&v1::GetFloorRequest { spec: Some(requested) }.encode_to_vec()),
        json,
        picture,
        content_hash: format!("{:016x}", floor.content_hash),
        terrain: facts(floor.terrain.as_ref(), &terrain),
        region: facts(floor.region.as_ref(), &region),
        bytes: save(files, format!("floors/{name}.bin"), encoded),
    }
}

/// Batches of one floor, and of several with one of them twice.
pub(super) fn batches(files: &mut Files) -> Vec<BatchVector> {
    [("one", vec!["default"]), ("several", vec!["maze", "tower_zero", "boss", "maze"])]
        .into_iter()
        .map(|(name, floors)| batch(name, &floors, files))
        .collect()
}

fn batch(name: &'static str, floors: &[&str], files: &mut Files) -> BatchVector {
    let all = named();
    let chosen: Vec<&Named> = floors
        .iter()
        .map(|floor| all.iter().find(|(name, ..)| name == floor).expect("the batch names a floor"))
        .collect();
    let mut bytes = Vec::new();
    for floor in &chosen {
        // Field 1, an embedded message.
        prost::encoding::bytes::encode(1, &encoded(floor), &mut bytes);
    }
    let specs = chosen.iter().map(|floor| requested(floor)).collect();
    BatchVector {
        name,
        request: hex(&BatchGetFloorsRequest { specs }.encode_to_vec()),
        bytes: save(files, format!("batches/{name}.bin"), bytes),
        floors: floors.iter().map(|floor| (*floor).to_owned()).collect(),
    }
}

/// The encoded floor named `name`.
pub(super) fn encoded_by_name(name: &str) -> Vec<u8> {
    encoded(named().iter().find(|(known, ..)| known == name).expect("a floor of the list"))
}

fn encoded((name, seed, number, width, height, kind): &Named) -> Vec<u8> {
    let spec = FloorSpec::resolve(*seed, *number, *width, *height, *kind).expect("the specs of the vectors are valid");
    let spec = spec.with_view(if name.starts_with(PLAYERS) { View::Player } else { View::Everything });
    let framed = LoadedPack::built_in().framed(&mut Generator::new(), &spec);
    floor_wire::unframed(&framed.expect("the built-in pack has every floor")).to_vec()
}

fn requested(&(ref name, seed, number, width, height, kind): &Named) -> v1::FloorSpec {
    let view = if name.starts_with(PLAYERS) { v1::View::Player } else { v1::View::Unspecified };
    v1::FloorSpec {
        view: view.into(),
        seed,
        number,
        width,
        height,
        kind: kind.map_or(0, |kind| floor_wire::kind(kind).into()),
        ..v1::FloorSpec::default()
    }
}

fn cells(grid: Option<&Grid>) -> Vec<u8> {
    grid::decode(grid.expect("a generated floor has both grids")).expect("a generated grid decodes")
}

fn rows(cells: &[u8], width: u32, digits: impl Fn(&u8) -> String) -> Vec<String> {
    cells.chunks(width as usize).map(|row| row.iter().map(&digits).collect()).collect()
}

fn facts(grid: Option<&Grid>, cells: &[u8]) -> GridFacts {
    let grid = grid.expect("a generated floor has both grids");
    GridFacts { encoding: grid.encoding().as_str_name(), bits: grid.bits, cells_xxh3: digest(cells) }
}

/// Adds a file. Returns its path.
pub(super) fn save(files: &mut Files, path: String, bytes: Vec<u8>) -> String {
    files.insert(path.clone(), bytes);
    path
}
