//! Runs the test vectors of `proto/vectors` through the library's decoder.

#![allow(clippy::unwrap_used, reason = "a panic fails the test and names the line")]

use std::fs;

use floor_client::{ClientError, EncodedFloor, Floor, FloorSpec, GridError, InvalidFloor, v1::GetFloorRequest};
use floor_proto::{
    grid,
    v1::{BatchGetFloorsResponse, Grid},
};
use prost::Message as _;
use serde_json::Value;

fn file(path: &str) -> Vec<u8> {
    fs::read(format!("{}/../../proto/vectors/{path}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

fn json(path: &str) -> Value {
    serde_json::from_slice(&file(path)).unwrap()
}

/// The vectors of one list of the manifest.
fn vectors(list: &str) -> Vec<Value> {
    let vectors = json("manifest.json")[list].as_array().unwrap().clone();
    assert!(!vectors.is_empty(), "{list}");
    vectors
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap()
}

fn bytes(hex: &str) -> Vec<u8> {
    hex.as_bytes().chunks(2).map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

/// The spec in a request in hexadecimal.
fn requested(hex: &str) -> FloorSpec {
    GetFloorRequest::decode(bytes(hex).as_slice()).unwrap().spec.unwrap()
}

fn decode(vector: &Value) -> Result<Floor, ClientError> {
    let encoded = EncodedFloor::new(file(text(vector, "bytes")).into());
    match vector["request"].as_str() {
        Some(request) => encoded.decode_for(&requested(request)),
        None => encoded.decode_for(&encoded_spec(&encoded)),
    }
}

/// The spec that the bytes name, so that only the other checks can fail.
fn encoded_spec(encoded: &EncodedFloor) -> FloorSpec {
    floor_proto::v1::Floor::decode(encoded.bytes().as_ref()).ok().and_then(|floor| floor.spec).unwrap_or_default()
}

#[test]
fn floors_decode() {
    for vector in vectors("floors") {
        let name = text(&vector, "name");
        let floor = decode(&vector).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(format!("{:016x}", floor.content_hash()), text(&vector, "content_hash"), "{name}");
        let Some(path) = vector["json"].as_str() else { continue };
        let decoded = json(path);
        let terrain: Vec<i32> = hex_cells(&decoded["terrain"], 1);
        assert!(floor.terrain().iter().map(|terrain| *terrain as i32).eq(terrain), "{name}: terrain");
        let region: Vec<i32> = hex_cells(&decoded["region"], 2);
        assert!(floor.region().iter().map(|cell| i32::from(*cell)).eq(region), "{name}: region");
        assert_eq!(floor.rooms().len(), decoded["floor"]["rooms"].as_array().unwrap().len(), "{name}");
    }
}

/// The cells of rows with so many hexadecimal digits a cell.
fn hex_cells(rows: &Value, digits: usize) -> Vec<i32> {
    let rows = rows.as_array().unwrap().iter().map(|row| row.as_str().unwrap().as_bytes());
    let cells = rows.flat_map(|row| row.chunks(digits));
    cells.map(|cell| i32::from_str_radix(str::from_utf8(cell).unwrap(), 16).unwrap()).collect()
}

#[test]
fn batches_hold_their_floors() {
    for vector in vectors("batches") {
        let batch = BatchGetFloorsResponse::decode(file(text(&vector, "bytes")).as_slice()).unwrap();
        let names = vector["floors"].as_array().unwrap().iter().map(|name| name.as_str().unwrap());
        let floors: Vec<Vec<u8>> = names.map(|name| file(&format!("floors/{name}.bin"))).collect();
        let encoded: Vec<Vec<u8>> = batch.floors.iter().map(prost::Message::encode_to_vec).collect();
        assert_eq!(encoded, floors, "{}", text(&vector, "name"));
    }
}

#[test]
fn grids_decode() {
    for vector in vectors("grids") {
        let name = text(&vector, "name");
        let encoded = Grid::decode(bytes(text(&vector, "bytes")).as_slice()).unwrap();
        let cells = grid::decode(&encoded).unwrap_or_else(|error| panic!("{name}: {error}"));
        if let Some(expected) = vector["cells"].as_str() {
            assert_eq!(cells, bytes(expected), "{name}");
        }
        let canonical = grid::encode(encoded.width, encoded.height, &cells) == encoded;
        assert_eq!(canonical, vector["canonical"].as_bool().unwrap(), "{name}");
    }
}

#[test]
fn malformed_grids_are_rejected_with_their_class() {
    for vector in vectors("malformed_grids") {
        let encoded = Grid::decode(bytes(text(&vector, "bytes")).as_slice()).unwrap();
        let class = match grid::decode(&encoded).unwrap_err() {
            GridError::Size { .. } => "size",
            GridError::Palette(_) => "palette",
            GridError::Encoding(_) => "encoding",
            GridError::Bits(_) => "bits",
            GridError::Index { .. } => "index",
            GridError::Length { .. } => "length",
            GridError::Padding => "padding",
            other => panic!("{other}"),
        };
        assert_eq!(class, text(&vector, "error"), "{}", text(&vector, "name"));
    }
}

#[test]
fn malformed_floors_are_rejected_with_their_class() {
    for vector in vectors("malformed_floors") {
        let name = text(&vector, "name");
        let ClientError::Invalid { source, .. } = decode(&vector).expect_err(name) else { panic!("{name}") };
        let class = match *source {
            InvalidFloor::Hash(floor_client::HashError::Decode(_)) => "protobuf",
            InvalidFloor::Hash(_) => "hash",
            InvalidFloor::Grid { .. } => "grid",
            InvalidFloor::Missing(_) => "missing",
            InvalidFloor::Terrain { .. } => "terrain",
            InvalidFloor::Outside { .. } => "outside",
            InvalidFloor::Pack { .. } | InvalidFloor::SpecMismatch { .. } => "spec",
            other => panic!("{other}"),
        };
        assert_eq!(class, text(&vector, "error"), "{name}: {source}");
    }
}
