//! The way back from editors: a map is the floor that it was, an edited one is checked, and becomes a floor or a pack's
//! authored floor.

#![allow(clippy::unwrap_used, reason = "a panic fails the test and names the line")]

use std::{
    path::Path,
    process::{Command, Output},
};

use floor_client::{EncodedFloor, v1};
use floor_export::{import, ldtk, tiled};
use floor_gen::{Generator, Kind, pack::Look};
use floor_proto::hash;
use floor_wire::{LoadedPack, pack_files};
use serde_json::Value;

/// Runs floorctl without a server.
fn floorctl(arguments: &[&str]) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } =
        Command::new(env!("CARGO_BIN_EXE_floorctl")).args(arguments).output().unwrap();
    (status.code(), String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap())
}

/// The maps of a floor: of Tiled and of LDtk.
fn maps(encoded: &EncodedFloor) -> [Vec<u8>; 2] {
    let floor = encoded.clone().decode().unwrap();
    let look = Look::default();
    [tiled::document(&floor, &look), ldtk::document(&floor, &look)].map(|map| map.to_string().into_bytes())
}

/// 200 floors: of every kind, of all themes, of several sizes, the last fifty of another pack.
#[test]
fn two_hundred_floors_come_back_without_a_difference() {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../packs/drowned-library");
    let example = LoadedPack::read(pack_files::read(&example).unwrap()).unwrap();
    let mut generator = Generator::new();
    for i in 0..200u32 {
        let pack = if i < 150 { LoadedPack::built_in() } else { &example };
        let (width, height) = [(16, 16), (24, 40), (48, 32), (64, 64)][i as usize % 4];
        let kind = Kind::ALL[i as usize % Kind::ALL.len()];
        let spec = pack.resolve(u64::MAX - u64::from(i), 1 + i * 3, width, height, Some(kind)).unwrap();
        let encoded = EncodedFloor::new(floor_wire::unframed(&pack.framed(&mut generator, &spec).unwrap()));
        for map in maps(&encoded) {
            let floor = import::parse(&map).unwrap();
            assert_eq!(hash::encode_hashed(&floor, 0), encoded.bytes()[..], "{spec:?}");
        }
    }
}

/// Writes the Tiled map of a floor, and returns it with its path.
fn exported(directory: &Path, format: &str, file: &str) -> (Value, String) {
    let path = directory.join(file).to_str().unwrap().to_owned();
    let (code, _, stderr) = floorctl(&["export", "42/7:halls@48x40", "--offline", "--to", format, "--output", &path]);
    assert_eq!(code, Some(0), "{stderr}");
    (serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap(), path)
}

fn layer<'a>(map: &'a mut Value, name: &str) -> &'a mut Value {
    map["layers"].as_array_mut().unwrap().iter_mut().find(|layer| layer["name"] == name).unwrap()
}

/// A cell of floor that holds nothing, beside which there is floor on all sides.
fn bare(floor: &v1::Floor) -> v1::Point {
    let decoded = EncodedFloor::new(hash::encode_hashed(floor, 0).into()).decode().unwrap();
    let taken = floor.spawns.iter().map(|it| it.at).chain(floor.items.iter().map(|it| it.at));
    let mut taken = taken
        .chain(floor.traps.iter().map(|it| it.at))
        .chain([floor.landing])
        .chain(floor.rooms.iter().map(|it| it.center));
    let is_floor = |x, y| decoded.terrain_at(x, y) == Some(v1::Terrain::Floor);
    let cells = (1..39).flat_map(|y| (1..47).map(move |x| (x, y)));
    let mut open = cells.filter(|(x, y)| (x - 1..=x + 1).all(|x| (y - 1..=y + 1).all(|y| is_floor(x, y))));
    let (x, y) = open.find(|(x, y)| taken.all(|at| at != Some(v1::Point { x: *x, y: *y }))).unwrap();
    v1::Point { x, y }
}

/// Puts a pillar, and a monster by its tile alone, as a designer would.
#[test]
fn an_edited_map_of_tiled_becomes_a_floor() {
    let directory = tempfile::tempdir().unwrap();
    let (mut map, path) = exported(directory.path(), "tiled", "floor.tmj");
    let floor = import::parse(&std::fs::read(&path).unwrap()).unwrap();
    let v1::Point { x, y } = bare(&floor);
    layer(&mut map, "terrain")["data"][(y * 48 + x) as usize] = (1 + v1::Terrain::Pillar as u32).into();
    layer(&mut map, "spawns")["objects"].as_array_mut().unwrap().push(serde_json::json!({
        "gid": 17, "id": 9999, "name": "goblin", "type": "", "x": (x + 1) * 32, "y": (y + 1) * 32, "width": 32, "height": 32,
        "properties": [
            {"name": "level", "type": "int", "value": 3}, {"name": "group", "type": "int", "value": 0},
            {"name": "behaviour", "type": "string", "value": "sleeps"},
        ],
    }));
    std::fs::write(&path, map.to_string()).unwrap();

    let (code, stdout, stderr) = floorctl(&["validate", &path]);
    assert_eq!(code, Some(1), "{stderr}");
    assert!(stdout.contains("passable_cells"), "{stdout}");
    let output = directory.path().join("floor.json");
    let (code, stdout, stderr) = floorctl(&["import", &path, "--output", output.to_str().unwrap()]);
    assert_eq!(code, Some(0), "{stdout}{stderr}");
    assert!(stderr.contains("was edited"), "{stderr}");
    let (code, stdout, stderr) = floorctl(&["validate", output.to_str().unwrap()]);
    assert_eq!((code, stderr.as_str()), (Some(0), ""), "{stdout}");
    let imported = floor_proto::floor_json::parse(&std::fs::read(&output).unwrap()).unwrap();
    assert_eq!(imported.spawns.len(), floor.spawns.len() + 1);
    assert_eq!(imported.spawns.last().unwrap().at, Some(v1::Point { x: x + 1, y }));
    assert_eq!((imported.theme, imported.rooms), (floor.theme, floor.rooms));
}

#[test]
fn an_ldtk_project_becomes_an_authored_floor_of_a_pack() {
    let directory = tempfile::tempdir().unwrap();
    let pack = directory.path().join("mine");
    std::fs::create_dir(&pack).unwrap();
    std::fs::write(pack.join("pack.toml"), "name = \"mine\"\n").unwrap();
    let (_, path) = exported(directory.path(), "ldtk", "floor.ldtk");
    for (flags, file) in [(&[][..], "7.json"), (&["--one-tower"][..], "42-7.json")] {
        let (code, stdout, stderr) = floorctl(&[&["import", &path, "--into", pack.to_str().unwrap()], flags].concat());
        assert_eq!(code, Some(0), "{stdout}{stderr}");
        assert!(pack.join("floors").join(file).is_file(), "{stderr}");
    }
    let (code, stdout, stderr) = floorctl(&["pack", "check", pack.to_str().unwrap()]);
    assert_eq!(code, Some(0), "{stdout}{stderr}");
}

#[test]
fn a_map_that_breaks_a_rule_or_is_none_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let (mut map, path) = exported(directory.path(), "tiled", "floor.tmj");
    let output = directory.path().join("floor.json");
    let output = output.to_str().unwrap();
    layer(&mut map, "terrain")["data"][3 * 48] = (1 + v1::Terrain::Floor as u32).into();
    std::fs::write(&path, map.to_string()).unwrap();
    let (code, stdout, stderr) = floorctl(&["import", &path, "--output", output]);
    assert_eq!(code, Some(1));
    assert!(stdout.contains("open border") && stderr.contains("nothing was written"), "{stdout}{stderr}");
    assert!(!Path::new(output).exists());
    let (_, stdout, _) = floorctl(&["import", &path, "--output", output, "--json"]);
    let report: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(report["violations"][0]["rule"], "open border");

    layer(&mut map, "terrain")["data"][3 * 48] = 9999.into();
    std::fs::write(&path, map.to_string()).unwrap();
    let tmx = directory.path().join("floor.tmx");
    std::fs::write(&tmx, "<?xml version=\"1.0\"?><map/>").unwrap();
    for (arguments, code, expected) in [
        (&["import", &path, "--output", output][..], 1, "at (0, 3); expected one of `floor-tiles` there"),
        (&["import", tmx.to_str().unwrap(), "--output", output], 1, "save the map as JSON"),
        (&["import", &path], 2, "--output <FILE>"),
        (&["import", "no/such.tmj", "--output", output], 2, "there is no such file"),
    ] {
        let (found, _, stderr) = floorctl(arguments);
        assert!(found == Some(code) && stderr.contains(expected), "{arguments:?}: {stderr}");
    }
    let (_, path) = exported(directory.path(), "tiled", "whole.tmj");
    let (code, _, stderr) = floorctl(&["import", &path, "--into", directory.path().to_str().unwrap()]);
    assert!(code == Some(2) && stderr.contains("there is no pack.toml"), "{stderr}");
}
