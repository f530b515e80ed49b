//! Maps that are read, and maps that are refused, each by its own words.

#![allow(clippy::unwrap_used, reason = "a panic fails the test and names the line")]

use super::*;
use crate::{fixture, ldtk, tiled};

/// The maps of a floor.
fn maps() -> [Vec<u8>; 2] {
    let floor = fixture::floor();
    let look = floor_gen::pack::Look::default();
    [tiled::document(&floor, &look), ldtk::document(&floor, &look)].map(|map| map.to_string().into_bytes())
}

fn no_file(path: &str) -> Result<Vec<u8>, String> {
    Err(format!("{path}: there are no files"))
}

#[test]
fn a_map_is_the_floor_that_it_was() {
    for map in maps() {
        assert!(is_map(&map));
        let imported = parse(&map, &no_file).unwrap();
        assert_eq!(imported.floor, fixture::message());
        assert_eq!(imported.notes, [""; 0]);
        assert_eq!(imported.tally.to_string(), "read 480 cells and 22 of 22 objects");
    }
    assert!(!is_map(br#"{"terrainRows": []}"#));
}

/// Each edit of the text of a map, and what the error says about it.
#[test]
fn what_is_wrong_is_named_with_its_place() {
    let [tiled, ldtk] = maps().map(|map| String::from_utf8(map).unwrap());
    for (map, found, replacement, expected) in [
        (
            &tiled,
            "\"name\":\"terrain\"",
            "\"name\":\"ground\"",
            "the map has no layer `terrain`; its layers of tiles are `ground`, `region`",
        ),
        (
            &tiled,
            "\"value\":\"guards\"",
            "\"value\":\"gards\"",
            "the spawn at (17, 2), object 16 of the layer `spawns`: `behaviour` is \"gards\"; expected one of",
        ),
        (
            &tiled,
            "\"name\":\"level\",\"type\":\"int\",\"value\":3",
            "\"name\":\"lvl\",\"type\":\"int\",\"value\":3",
            "the spawn at (17, 2), object 16 of the layer `spawns` has `lvl`, which a floor does not keep; it keeps archetype, \
             behaviour, group, level",
        ),
        (&tiled, "\"orientation\":\"orthogonal\"", "\"orientation\":\"isometric\"", "the map is isometric"),
        (&ldtk, "\"__identifier\":\"Terrain\"", "\"__identifier\":\"_Ground\"", "the map has no layer `Terrain`"),
        (&ldtk, "\"__value\":\"standard\"", "\"__value\":\"standart\"", "the map: `kind` is \"standart\""),
    ] {
        assert!(map.contains(found), "{found}");
        let error = parse(map.replacen(found, replacement, 1).as_bytes(), &no_file).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    assert!(parse(&tiled.as_bytes()[..900], &no_file).unwrap_err().to_string().starts_with("it is no JSON"));
    let error = parse(b"<?xml version=\"1.0\"?><svg/>", &no_file).unwrap_err().to_string();
    assert_eq!(error, "it is XML whose root is <svg>; a map of Tiled has <map>");
}

/// Whatever a map holds, it is read or refused, and nothing panics.
#[test]
fn no_damage_to_a_map_panics() {
    for map in maps() {
        for i in (0..map.len()).step_by(997) {
            let mut damaged = map.clone();
            damaged[i] = b"9-x\"{,"[i % 6];
            let _ = parse(&damaged, &no_file);
        }
    }
}
