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
        assert_eq!(imported.tally.to_string(), "read 480 cells and 27 of 27 objects");
    }
    assert!(!is_map(br#"{"terrainRows": []}"#));
}

/// What a designer calls a room in Tiled is its name; furniture that they place has the type that most others have.
#[test]
fn a_room_gets_a_name_and_a_grave_a_place() {
    let mut map: Value = serde_json::from_slice(&maps()[0]).unwrap();
    let layers = map["layers"].as_array_mut().unwrap();
    let layer = |name: &str| layers.iter().position(|layer| layer["name"] == name).unwrap();
    let (rooms, furniture) = (layer("rooms"), layer("furniture"));
    layers[rooms]["objects"][0]["name"] = "The Long Stair".into();
    let grave = serde_json::json!({"id": 900, "x": 32, "y": 32, "width": 32, "height": 32});
    layers[furniture]["objects"].as_array_mut().unwrap().push(grave);
    let Imported { floor, notes, .. } = parse(map.to_string().as_bytes(), &no_file).unwrap();
    let name = v1::Text { text: "The Long Stair".to_owned(), ..v1::Text::default() };
    assert_eq!(floor.rooms[0].name, Some(name));
    assert_eq!(floor.rooms[3].name, fixture::message().rooms[3].name);
    assert_eq!(floor.furniture[0].cells, [31, 45, 62, 2]);
    assert!(
        notes[0].ends_with("object 900 of the layer `furniture` says no more, so it has archetype grave"),
        "{notes:?}"
    );
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

/// The map of Tiled, edited.
fn edited(edit: impl FnOnce(&mut Value)) -> Value {
    let mut map = serde_json::from_slice(&maps()[0]).unwrap();
    edit(&mut map);
    map
}

fn objects(map: &mut Value, layer: usize) -> &mut Vec<Value> {
    map["layers"][layer]["objects"].as_array_mut().unwrap()
}

/// The layers of traps, items and spawns.
const TRAPS: usize = 5;
const ITEMS: usize = 6;
const SPAWNS: usize = 7;

/// What is placed by its tile alone is what most of its kind on the floor are, and the import says so.
#[test]
fn a_bare_thing_is_as_others_of_the_floor() {
    let tile = |gid: u32, name: &str, x: u32| serde_json::json!({"id": 100 + x, "gid": gid, "name": name, "x": x * 32, "y": 64, "width": 32, "height": 32});
    let map = edited(|map| {
        objects(map, SPAWNS).extend([tile(17, "", 2), tile(17, "ogre", 3), tile(17, "rat", 4)]);
        objects(map, TRAPS).push(tile(20, "", 5));
        objects(map, ITEMS).extend([tile(19, "gem", 6), tile(1 + 3 * 16 + 1, "", 7)]);
    });
    let Imported { floor, notes, tally } = parse(map.to_string().as_bytes(), &no_file).unwrap();
    let spawns = floor.spawns[4..].iter().map(|it| (it.archetype.as_str(), it.level, it.behaviour(), it.group));
    let guards = v1::Behaviour::Guards;
    // Two goblins have the levels 3 and 5, the ogre has 6; a rat is as strong as the weakest of equally common ones.
    assert_eq!(spawns.collect::<Vec<_>>(), [("goblin", 3, guards, 0), ("ogre", 6, guards, 0), ("rat", 3, guards, 0)]);
    assert_eq!((floor.traps[1].archetype.as_str(), floor.traps[1].level), ("darts", 2));
    let items = floor.items[3..].iter().map(|it| (it.archetype.as_str(), it.value, it.opens_lock)).collect::<Vec<_>>();
    assert_eq!(items, [("gem", 120, 0), ("key", 0, 1)]);
    assert_eq!((notes.len(), tally.objects), (6, 33));
    assert!(
        notes.contains(&"the spawn at (2, 1), object 102 of the layer `spawns` says no more, so it has archetype goblin, level 3, behaviour guards, group 0".to_owned()),
        "{notes:?}"
    );
}

/// A tileset of the designer's own says with properties and classes what its tiles are.
#[test]
fn a_tileset_of_ones_own_stands_for_terrain_and_things() {
    let tileset = br#"<tileset name="mine" tilecount="4" tilewidth="64" tileheight="64" objectalignment="center">
        <tile id="1"><properties><property name="terrain" type="int" value="13"/></properties></tile>
        <tile id="2" type="Spawn"><properties>
            <property name="level" type="int" value="8"/><property name="sound" value="roar"/></properties></tile>
        </tileset>"#;
    let map = edited(|map| {
        map["tilesets"].as_array_mut().unwrap().push(serde_json::json!({"firstgid": 1000, "source": "art/mine.tsx"}));
        map["layers"][0]["data"][30 + 2] = 1001.into();
        objects(map, ITEMS).push(serde_json::json!({"id": 100, "gid": 1002, "name": "ogre", "x": 80, "y": 48}));
    });
    let read = |path: &str| if path == "art/mine.tsx" { Ok(tileset.to_vec()) } else { no_file(path) };
    let floor = parse(map.to_string().as_bytes(), &read).unwrap().floor;
    assert_eq!(floor_proto::grid::decode(floor.terrain.as_ref().unwrap()).unwrap()[32], 13);
    // The layer of items comes before that of spawns.
    let spawn = &floor.spawns[0];
    assert_eq!((spawn.at, spawn.level), (Some(v1::Point { x: 2, y: 1 }), 8));
    let error = parse(map.to_string().as_bytes(), &no_file).unwrap_err().to_string();
    for expected in
        ["the tile 1 of the tileset `mine.tsx`", "object 100 of the layer `items`", "art/mine.tsx: there are no files"]
    {
        assert!(error.contains(expected), "{error}");
    }
}

/// Where a map says a thing twice, the import says which of the two counts.
#[test]
fn what_a_map_says_twice_is_noted() {
    let map = edited(|map| objects(map, 2)[0]["x"] = 64.into());
    let Imported { floor, notes, .. } = parse(map.to_string().as_bytes(), &no_file).unwrap();
    assert_eq!(floor, fixture::message());
    assert!(notes[0].contains("object 1 of the layer `rooms` is drawn elsewhere than its cells"), "{notes:?}");

    let mut project: Value = serde_json::from_slice(&maps()[1]).unwrap();
    project["levels"][0]["layerInstances"][3]["intGridCsv"][3 * 30 + 4] = (v1::Terrain::Pillar as u32).into();
    let notes = parse(project.to_string().as_bytes(), &no_file).unwrap().notes;
    assert_eq!(notes, ["the layer `Tiles` shows another terrain than `Terrain` has, at (4, 3): `Terrain` counts"]);
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
