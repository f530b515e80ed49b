//! The way back from editors: a map is the floor that it was, an edited one is checked, and becomes a floor or a pack's
//! authored floor.

#![allow(clippy::unwrap_used, reason = "a panic fails the test and names the line")]

use std::{
    path::Path,
    process::{Command, Output},
};

use floor_client::{EncodedFloor, v1};
use floor_export::{
    import::{self, Imported},
    ldtk, tiled,
};
use floor_gen::{Generator, Kind, pack::Look};
use floor_pack::{LoadedPack, pack_files};
use floor_proto::hash;
use serde_json::Value;

/// Runs floorctl without a server.
fn floorctl(arguments: &[&str]) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } =
        Command::new(env!("CARGO_BIN_EXE_floorctl")).args(arguments).output().unwrap();
    (status.code(), String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap())
}

fn no_file(path: &str) -> Result<Vec<u8>, String> {
    Err(format!("{path}: there are no files"))
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
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packs/drowned-library");
    let example = LoadedPack::read(pack_files::read(&example).unwrap()).unwrap();
    let mut generator = Generator::new();
    for i in 0..200u32 {
        let pack = if i < 150 { LoadedPack::built_in() } else { &example };
        let (width, height) = [(16, 16), (24, 40), (48, 32), (64, 64)][i as usize % 4];
        let kind = Kind::ALL[i as usize % Kind::ALL.len()];
        let spec = pack.resolve(u64::MAX - u64::from(i), 1 + i * 3, width, height, Some(kind)).unwrap();
        let encoded = EncodedFloor::new(floor_wire::unframed(&pack.framed(&mut generator, &spec).unwrap()));
        for map in maps(&encoded) {
            let Imported { floor, notes, .. } = import::parse(&map, &no_file).unwrap();
            assert_eq!(notes, [""; 0], "{spec:?}");
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
    let floor = import::parse(&std::fs::read(&path).unwrap(), &no_file).unwrap().floor;
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
    std::fs::write(&tmx, "<?xml version=\"1.0\"?><map><layer/>").unwrap();
    for (arguments, code, expected) in [
        (
            &["import", &path, "--output", output][..],
            1,
            "the layer `terrain` has the tile 9999, which is in no tileset of the map, at (0, 3); expected a terrain of",
        ),
        (&["import", tmx.to_str().unwrap(), "--output", output], 1, "floor.tmx as a floor: it is no XML"),
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

/// Exports a floor, edits its map, and imports it with the program: the exit code, what it wrote, and standard error.
fn edited(
    format: &str,
    files: &[(&str, String)],
    edit: impl Fn(&mut Value, &v1::Floor),
) -> (Option<i32>, Option<v1::Floor>, String) {
    let directory = tempfile::tempdir().unwrap();
    let (mut map, path) =
        exported(directory.path(), format, if format == "tiled" { "floor.tmj" } else { "floor.ldtk" });
    let floor = import::parse(&std::fs::read(&path).unwrap(), &no_file).unwrap().floor;
    edit(&mut map, &floor);
    std::fs::write(&path, map.to_string()).unwrap();
    for (name, text) in files {
        std::fs::write(directory.path().join(name), text).unwrap();
    }
    let output = directory.path().join("output.json");
    let (code, _, stderr) = floorctl(&["import", &path, "--output", output.to_str().unwrap()]);
    let written = std::fs::read(&output).ok().map(|text| floor_proto::floor_json::parse(&text).unwrap());
    (code, written, stderr)
}

fn objects<'a>(map: &'a mut Value, of: &str) -> &'a mut Vec<Value> {
    layer(map, of)["objects"].as_array_mut().unwrap()
}

/// The same edits as designers reported them to other readers of Tiled's maps: everything comes back.
#[test]
fn what_tiled_does_to_a_map_loses_nothing() {
    let template = serde_json::json!({
        "type": "template",
        "tileset": {"firstgid": 1, "source": "floor-tiles-crypt.tsj"},
        "object": {
            "gid": 17, "id": 1, "name": "ghoul", "type": "spawn", "width": 32, "height": 32, "x": 0, "y": 0, "visible": true,
            "rotation": 0, "properties": [
                {"name": "level", "type": "int", "value": 9}, {"name": "group", "type": "int", "value": 0},
                {"name": "behaviour", "type": "string", "value": "sleeps"}],
        },
    });
    let files = [("monster.tj", template.to_string())];
    type Edit = fn(&mut Value, &v1::Floor);
    type Compare = fn(&v1::Floor, &v1::Floor);
    // Long because it is a flat table.
    let edits: [(&str, Edit, Compare); 6] = [
        (
            "layers in a group",
            |map, _| {
                let layers = map["layers"].as_array_mut().unwrap();
                let (inside, outside) =
                    layers.drain(..).partition(|layer| layer["name"] == "spawns" || layer["name"] == "traps");
                *layers = outside;
                let inside: Vec<_> = inside;
                let inner = serde_json::json!({"type": "group", "name": "Monsters", "layers": inside});
                layers.push(serde_json::json!({"type": "group", "name": "Group", "layers": [inner]}));
            },
            |floor, back| assert_eq!((&back.spawns, &back.traps), (&floor.spawns, &floor.traps)),
        ),
        (
            "an object of a template",
            |map, floor| {
                let v1::Point { x, y } = bare(floor);
                let object = serde_json::json!({"id": 42, "template": "monster.tj", "x": x * 32, "y": (y + 1) * 32});
                objects(map, "spawns").push(object);
            },
            |floor, back| {
                let spawn = back.spawns.last().unwrap();
                let expected = (Some(bare(floor)), "ghoul", 9, v1::Behaviour::Sleeps);
                assert_eq!((spawn.at, spawn.archetype.as_str(), spawn.level, spawn.behaviour()), expected);
            },
        ),
        (
            "a rectangle and a point without a class, and a class in other letters",
            |map, floor| {
                let v1::Point { x, y } = bare(floor);
                let spawns = objects(map, "spawns");
                spawns[0]["type"] = "Spawn".into();
                for object in [
                    serde_json::json!({"id": 97, "name": "ghoul", "type": "", "x": x * 32, "y": y * 32, "width": 32, "height": 32}),
                    serde_json::json!({"id": 98, "name": "ghoul", "type": "", "x": (x + 1) * 32 + 5, "y": y * 32 + 5, "point": true}),
                ] {
                    spawns.push(object);
                }
            },
            |floor, back| {
                let cell = bare(floor);
                let added = back.spawns[floor.spawns.len()..].iter().map(|spawn| spawn.at.unwrap()).collect::<Vec<_>>();
                assert_eq!(added, [cell, v1::Point { x: cell.x + 1, y: cell.y }]);
            },
        ),
        (
            "a monster by its tile alone",
            |map, floor| {
                let v1::Point { x, y } = bare(floor);
                objects(map, "spawns").push(serde_json::json!({
                    "id": 90, "gid": 17, "name": "", "type": "", "x": x * 32, "y": (y + 1) * 32, "width": 32, "height": 32,
                }));
            },
            |floor, back| {
                let new = back.spawns.last().unwrap();
                assert_eq!((back.spawns.len(), new.at), (floor.spawns.len() + 1, Some(bare(floor))));
                let alike = floor.spawns.iter().filter(|spawn| spawn.archetype == new.archetype);
                assert!(alike.map(|spawn| spawn.level).any(|level| level == new.level), "{new:?}");
                assert_eq!((new.behaviour(), new.group), (v1::Behaviour::Guards, 0));
            },
        ),
        (
            "layers that are moved",
            |map, _| {
                for name in ["spawns", "items"] {
                    let layer = layer(map, name);
                    (layer["offsetx"], layer["offsety"]) = (13.5.into(), (-64).into());
                    for object in layer["objects"].as_array_mut().unwrap() {
                        object["x"] = (object["x"].as_f64().unwrap() - 13.5).into();
                        object["y"] = (object["y"].as_f64().unwrap() + 64.0).into();
                    }
                }
            },
            |floor, back| assert_eq!((&back.spawns, &back.items), (&floor.spawns, &floor.items)),
        ),
        (
            "layers of the designer's own",
            |map, _| {
                let layers = map["layers"].as_array_mut().unwrap();
                layers.push(serde_json::json!({"type": "imagelayer", "name": "_sketch", "image": "sketch.png"}));
                layers.push(serde_json::json!({"type": "objectgroup", "name": "_notes", "objects": [{"id": 90, "x": 0, "y": 0}]}));
            },
            |floor, back| assert_eq!(floor, back),
        ),
    ];
    for (name, edit, compare) in edits {
        let floor = std::cell::RefCell::new(v1::Floor::default());
        let (code, written, stderr) = edited("tiled", &files, |map, of| {
            *floor.borrow_mut() = of.clone();
            edit(map, of);
        });
        assert_eq!(code, Some(0), "{name}: {stderr}");
        compare(&floor.borrow(), &written.unwrap());
    }
}

/// Tiled turns a picture around its lower left corner.
#[test]
fn a_turned_picture_stands_where_tiled_shows_it() {
    let directory = tempfile::tempdir().unwrap();
    let (mut map, path) = exported(directory.path(), "tiled", "floor.tmj");
    let floor = import::parse(&std::fs::read(&path).unwrap(), &no_file).unwrap().floor;
    let v1::Point { x, y } = bare(&floor);
    for (id, turn, (left, down)) in
        [(90, 0, (0, 1)), (91, 90, (0, 0)), (92, 180, (1, 0)), (93, -90, (1, 1)), (94, 270, (1, 1))]
    {
        objects(&mut map, "spawns").push(serde_json::json!({
            "id": id, "gid": 17, "name": "ghoul", "rotation": turn, "width": 32, "height": 32,
            "x": (x + left) * 32, "y": (y + down) * 32,
        }));
    }
    let back = import::parse(map.to_string().as_bytes(), &no_file).unwrap().floor;
    let added = &back.spawns[floor.spawns.len()..];
    assert!(added.len() == 5 && added.iter().all(|spawn| spawn.at == Some(v1::Point { x, y })), "{added:?}");
}

#[test]
fn what_ldtk_does_to_a_project_loses_nothing() {
    fn layers(map: &mut Value) -> &mut Vec<Value> {
        map["levels"][0]["layerInstances"].as_array_mut().unwrap()
    }
    type Edit = fn(&mut Value);
    let edits: [(&str, Edit); 4] = [
        ("an entity that was renamed", |map| {
            for entity in layers(map)[0]["entityInstances"].as_array_mut().unwrap() {
                if entity["__identifier"] == "Spawn" {
                    entity["__identifier"] = "Monster".into();
                    entity["fieldInstances"][1]["__identifier"] = "strength".into();
                }
            }
        }),
        ("a second layer of entities", |map| {
            let entities = layers(map)[0]["entityInstances"].as_array_mut().unwrap();
            let (spawns, others) = entities.drain(..).partition(|entity| entity["__identifier"] == "Spawn");
            *entities = others;
            let spawns: Vec<_> = spawns;
            let second = serde_json::json!({
                "__identifier": "Monsters", "__type": "Entities", "layerDefUid": 1001, "entityInstances": spawns,
                "intGridCsv": [], "gridTiles": [],
            });
            layers(map).push(second);
        }),
        ("names in other letters", |map| {
            for layer in layers(map) {
                layer["__identifier"] = layer["__identifier"].as_str().unwrap().to_uppercase().into();
                for entity in layer["entityInstances"].as_array_mut().unwrap() {
                    entity["__identifier"] = entity["__identifier"].as_str().unwrap().to_uppercase().into();
                }
            }
        }),
        ("another pivot", |map| {
            for entity in layers(map)[0]["entityInstances"].as_array_mut().unwrap() {
                entity["__pivot"] = serde_json::json!([0.5, 1]);
                let (width, height) = (entity["width"].as_f64().unwrap(), entity["height"].as_f64().unwrap());
                entity["px"][0] = (entity["px"][0].as_f64().unwrap() + width / 2.0).into();
                entity["px"][1] = (entity["px"][1].as_f64().unwrap() + height).into();
            }
        }),
    ];
    for (name, edit) in edits {
        let floor = std::cell::RefCell::new(v1::Floor::default());
        let (code, written, stderr) = edited("ldtk", &[], |map, of| {
            *floor.borrow_mut() = of.clone();
            edit(map);
        });
        assert_eq!(code, Some(0), "{name}: {stderr}");
        assert_eq!(floor.into_inner(), written.unwrap(), "{name}");
    }
}

/// What a floor does not keep is named, with its layer, its id and its cell, and nothing is written.
#[test]
fn what_a_floor_does_not_keep_is_refused_by_name() {
    type Edit = fn(&mut Value, &v1::Floor);
    // Long because it is a flat table.
    let edits: [(&str, Edit, &[&str]); 8] = [
        (
            "tiled",
            |map, _| {
                let layers = map["layers"].as_array_mut().unwrap();
                layers.push(
                    serde_json::json!({"type": "tilelayer", "name": "decor", "width": 2, "height": 1, "data": [0, 3]}),
                );
            },
            &["the layer `decor` has 1 tile and is neither `terrain` nor `region`"],
        ),
        (
            "tiled",
            |map, _| {
                let object = serde_json::json!({"id": 42, "type": "lever", "x": 70, "y": 40, "width": 2, "height": 2});
                let layer = serde_json::json!({"type": "objectgroup", "name": "levers", "objects": [object]});
                map["layers"].as_array_mut().unwrap().push(layer);
            },
            &["object 42 of the layer `levers`, at (2, 1): its class is `lever`"],
        ),
        (
            "tiled",
            |map, _| objects(map, "spawns")[0]["x"] = (-40).into(),
            &["of the layer `spawns`, at (-1, ", "it stands outside of the map, which has 48x40 cells"],
        ),
        (
            "tiled",
            |map, _| layer(map, "terrain")["data"][3 * 48 + 2] = 500.into(),
            &[
                "the layer `terrain` has the tile 500, which is in no tileset of the map, at (2, 3); expected a terrain of",
            ],
        ),
        (
            "tiled",
            |map, _| layer(map, "terrain")["data"][3 * 48 + 2] = 17.into(),
            &[
                "the tile 16 of the tileset `floor-tiles-crypt`, which is a spawn and no terrain: place it as an object, at (2, 3)",
            ],
        ),
        (
            "tiled",
            |map, _| {
                objects(map, "connections")[0]["name"] = "The Long Stair".into();
                objects(map, "traps").push(serde_json::json!({"id": 43, "template": "gone.tx", "x": 32, "y": 32}));
            },
            &[
                "2 things",
                "its name `The Long Stair`",
                "object 43 of the layer `traps`, its template gone.tx cannot be read",
            ],
        ),
        (
            "ldtk",
            |map, _| {
                let entity = &mut map["levels"][0]["layerInstances"][0]["entityInstances"][0];
                (entity["__identifier"], entity["defUid"]) = ("Lever".into(), 1002.into());
            },
            &[
                "`Lever` ",
                "of the layer `Entities`, at (",
                "): a floor has no such thing",
                "0 objects of the class `entry`",
            ],
        ),
        (
            "ldtk",
            |map, _| {
                let level = map["levels"][0].clone();
                map["levels"].as_array_mut().unwrap().push(level);
            },
            &["the project has 2 levels, and a floor is one: `Floor_7`, `Floor_7`"],
        ),
    ];
    for (format, edit, expected) in edits {
        let (code, written, stderr) = edited(format, &[], edit);
        assert!(code == Some(1) && written.is_none(), "{stderr}");
        assert!(stderr.contains("cannot read the map"), "{stderr}");
        for part in expected {
            assert!(stderr.contains(part), "{part}: {stderr}");
        }
    }
}

/// A floor that somebody edited by hand is not overwritten by accident; one that `import` wrote is.
#[test]
fn an_import_overwrites_its_own_floors_only() {
    let directory = tempfile::tempdir().unwrap();
    let (_, path) = exported(directory.path(), "tiled", "floor.tmj");
    let output = directory.path().join("floor.json");
    let import = [&["import", &path, "--output"][..], &[output.to_str().unwrap()]].concat();
    for _ in 0..2 {
        let (code, _, stderr) = floorctl(&import);
        assert_eq!(code, Some(0), "{stderr}");
    }
    let mut floor: Value = serde_json::from_slice(&std::fs::read(&output).unwrap()).unwrap();
    floor["spawns"][0]["level"] = 77.into();
    std::fs::write(&output, floor.to_string()).unwrap();
    let (code, _, stderr) = floorctl(&import);
    assert!(code == Some(1) && stderr.contains("was edited by hand") && stderr.contains("--force"), "{stderr}");
    assert_eq!(std::fs::read_to_string(&output).unwrap(), floor.to_string());
    let (code, _, stderr) = floorctl(&[&import[..], &["--force"]].concat());
    assert_eq!(code, Some(0), "{stderr}");
}
