//! Exports floors of every kind without a server, and reads them back with the editors' own loaders: cells and
//! objects must be those of the floor. `.ci/exports` checks the files against schemas.

#![allow(clippy::unwrap_used, reason = "a panic fails the test and names the line")]

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    process::{Command, Output},
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use floor_client::{Terrain, v1};
use floor_gen::{FloorSpec, Kind};
use floor_proto::grid;
use serde_json::Value;

const WIDTH: u32 = 48;
const HEIGHT: u32 = 40;
/// Pixels of a tile.
const SIDE: u32 = 32;

/// Runs floorctl. An address where nothing listens stands for the server.
fn floorctl(arguments: &[&str]) -> (Option<i32>, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_floorctl"));
    let Output { status, stdout, stderr } =
        command.env("FLOORCTL_SERVER", "http://127.0.0.1:1").args(arguments).output().unwrap();
    (status.code(), String::from_utf8_lossy(&stdout).into_owned(), String::from_utf8(stderr).unwrap())
}

/// The floor of each kind, with its name.
fn floors() -> impl Iterator<Item = (String, v1::Floor)> {
    Kind::ALL.into_iter().map(|kind| {
        let spec = FloorSpec::resolve(42, 7, WIDTH, HEIGHT, Some(kind)).unwrap();
        (format!("42/7:{kind}@{WIDTH}x{HEIGHT}"), floor_wire::message(&floor_gen::generate(&spec)))
    })
}

/// Exports the floor to that file without a server, in the place of the floor before it.
fn export(floor: &str, format: &str, map: &Path) {
    let (code, _, stderr) =
        floorctl(&["export", floor, "--offline", "--to", format, "--output", map.to_str().unwrap(), "--force"]);
    assert_eq!(code, Some(0), "{floor}: {stderr}");
}

fn read_json(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// The cells of the terrain and of the rooms.
fn cells(floor: &v1::Floor) -> (Vec<u8>, Vec<u8>) {
    let decode = |encoded: &Option<v1::Grid>| grid::decode(encoded.as_ref().unwrap()).unwrap();
    (decode(&floor.terrain), decode(&floor.region))
}

/// How many objects of each class the floor has, as the editors' files name them.
fn counts(floor: &v1::Floor) -> BTreeMap<&'static str, usize> {
    BTreeMap::from([
        ("entry", 1),
        ("exit", 1),
        ("landing", 1),
        ("room", floor.rooms.len()),
        ("connection", floor.connections.len()),
        ("lock", floor.locks.len()),
        ("trap", floor.traps.len()),
        ("item", floor.items.len()),
        ("spawn", floor.spawns.len()),
        ("furniture", floor.furniture.iter().map(|kind| kind.cells.len()).sum()),
    ])
}

/// A spawn or an item: its cell, its archetype, and the rest of it by names, as text.
type Thing = (u32, u32, String, BTreeMap<String, String>);

/// The spawns and items of a floor, sorted.
fn things(floor: &v1::Floor) -> Vec<Thing> {
    let thing = |at: Option<v1::Point>, archetype: &String, values: &[(&str, String)]| {
        let values = values.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        (at.unwrap().x, at.unwrap().y, archetype.clone(), values)
    };
    let spawns = floor.spawns.iter().map(|spawn| {
        let behaviour = spawn.behaviour().as_str_name().trim_start_matches("BEHAVIOUR_").to_lowercase();
        let (level, group) = (spawn.level.to_string(), spawn.group.to_string());
        thing(spawn.at, &spawn.archetype, &[("level", level), ("behaviour", behaviour), ("group", group)])
    });
    let items = floor.items.iter().map(|item| {
        let values = [("value", item.value.to_string()), ("opens_lock", item.opens_lock.to_string())];
        thing(item.at, &item.archetype, &values)
    });
    let mut things = spawns.chain(items).collect::<Vec<_>>();
    things.sort();
    things
}

/// A value of a property as text.
fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// The formats of `--to`, each with the test that reads it back.
const READERS: [(&str, fn()); 5] = [
    ("tiled", a_tiled_map_has_every_cell_and_object),
    ("ldtk", ldtk_reads_every_cell_and_object),
    ("uvtt", a_virtual_tabletop_gets_walls_doors_and_a_picture),
    ("foundry", foundry_gets_a_scene_with_doors_of_each_type_and_a_journal),
    ("json", the_json_is_read_back),
];

#[test]
fn every_format_is_read_back_and_described() {
    let (_, help, _) = floorctl(&["export", "--help"]);
    let (_, values) = help.rsplit_once("--to <").unwrap();
    let values = values.split("\n      --").next().unwrap();
    let formats = values.lines().filter_map(|line| line.trim().strip_prefix("- ")?.split(':').next());
    assert_eq!(formats.collect::<Vec<_>>(), READERS.map(|(format, _)| format), "{help}");
    for (format, _) in READERS {
        for (page, part) in [
            ("floorctl.md", format!("\n| `{format}` | ")),
            ("level-designers.md", format!(" --to {format} ")),
            ("editors.md", format!(" --to {format} ")),
        ] {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(page);
            assert!(std::fs::read_to_string(path).unwrap().contains(&part), "docs/{page} has no {part:?}");
        }
    }
}

/// Exports every floor to LDtk and reads it with ldtk2.
#[test]
fn ldtk_reads_every_cell_and_object() {
    let directory = tempfile::tempdir().unwrap();
    for (name, floor) in floors() {
        let path = directory.path().join("floor.ldtk");
        export(&name, "ldtk", &path);
        let project = ldtk2::Ldtk::from_path(&path).unwrap();
        let level = &project.levels[0];
        assert_eq!((level.px_wid, level.px_hei), (i64::from(WIDTH * SIDE), i64::from(HEIGHT * SIDE)));
        let layers = level.layer_instances.as_ref().unwrap();
        let layer = |name: &str| layers.iter().find(|layer| layer.identifier == name).unwrap();
        let (terrain, region) = cells(&floor);
        let numbers = |cells: &[u8]| cells.iter().map(|cell| i64::from(*cell)).collect::<Vec<_>>();
        assert_eq!(layer("Terrain").int_grid_csv, numbers(&terrain), "{name}");
        assert_eq!(layer("Region").int_grid_csv, numbers(&region), "{name}");
        let drawn = layer("Tiles").grid_tiles.iter().map(|tile| tile.px[0] / 32 + tile.px[1] / 32 * i64::from(WIDTH));
        let shown = drawn.collect::<BTreeSet<_>>();
        let is_shown = |index: usize| shown.contains(&(index as i64));
        assert!((0..terrain.len()).all(|index| is_shown(index) != is_rock(&terrain, index)), "{name}");
        let mut found = BTreeMap::new();
        let mut found_things = Vec::new();
        for entity in &layer("Entities").entity_instances {
            *found.entry(entity.identifier.to_lowercase()).or_insert(0) += 1;
            if matches!(entity.identifier.as_str(), "Spawn" | "Item") {
                let fields = entity.field_instances.iter();
                let value = |field: &ldtk2::FieldInstance| text_of(field.value.as_ref().unwrap());
                let mut values: BTreeMap<_, _> = fields.map(|field| (field.identifier.clone(), value(field))).collect();
                let archetype = values.remove("archetype").unwrap();
                let (x, y) = (entity.px[0] as u32 / SIDE, entity.px[1] as u32 / SIDE);
                found_things.push((x, y, archetype, values));
            }
        }
        found_things.sort();
        assert_eq!(found_things, things(&floor), "{name}");
        for (class, count) in counts(&floor) {
            assert_eq!(found.get(class).copied().unwrap_or(0), count, "{name}: {class}");
        }
        for tileset in &project.defs.tilesets {
            let picture = directory.path().join(tileset.rel_path.as_ref().unwrap());
            let info = picture_info(&std::fs::read(picture).unwrap());
            assert_eq!((i64::from(info.0), i64::from(info.1)), (tileset.px_wid, tileset.px_hei));
        }
    }
}

/// Width and height of a PNG that decodes.
fn picture_info(file: &[u8]) -> (u32, u32) {
    let mut reader = png::Decoder::new(std::io::Cursor::new(file)).read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut pixels).unwrap();
    (info.width, info.height)
}

/// An object of a Tiled map: its class, its position in pixels, its name and its properties as text.
type TiledObject = (String, f32, f32, String, BTreeMap<String, String>);

/// What a Tiled map holds: the cells of its layers, and its objects.
struct TiledMap {
    terrain: Vec<u8>,
    region: Vec<u8>,
    objects: Vec<TiledObject>,
}

impl TiledMap {
    fn assert_holds(&self, floor: &v1::Floor, name: &str) {
        let (terrain, region) = cells(floor);
        assert_eq!(self.terrain, terrain, "{name}");
        assert_eq!(self.region, region, "{name}");
        for (class, count) in counts(floor) {
            assert_eq!(self.objects.iter().filter(|object| object.0 == class).count(), count, "{name}: {class}");
        }
        let is_thing = |class: &str| matches!(class, "spawn" | "item");
        let mut found = self
            .objects
            .iter()
            .filter(|object| is_thing(&object.0))
            // Pictures are placed by their lower left corner.
            .map(|(_, x, y, name, values)| (*x as u32 / SIDE, *y as u32 / SIDE - 1, name.clone(), values.clone()))
            .collect::<Vec<_>>();
        found.sort();
        assert_eq!(found, things(floor), "{name}");
    }
}

/// The terrain of each tile of a tileset, by its property. No tile is rock.
fn ground_of(tileset: &Value) -> BTreeMap<u8, u8> {
    let terrain = |tile: &Value| {
        let property = tile["properties"].as_array()?.iter().find(|property| property["name"] == "terrain")?;
        Some((tile["id"].as_u64()? as u8, property["value"].as_u64()? as u8))
    };
    let tiles = tileset["tiles"].as_array().unwrap().iter().filter_map(terrain);
    tiles.chain([(0, Terrain::Wall as u8)]).collect()
}

/// Checks the written JSON itself.
#[test]
fn a_tiled_map_has_every_cell_and_object() {
    let directory = tempfile::tempdir().unwrap();
    for (name, floor) in floors() {
        let path = directory.path().join("floor.tmj");
        export(&name, "tiled", &path);
        let map = read_json(&path);
        let tilesets = map["tilesets"].as_array().unwrap();
        let sources = tilesets.iter().map(|tileset| {
            let file = directory.path().join(tileset["source"].as_str().unwrap());
            let tileset_file = read_json(&file);
            let picture = std::fs::read(directory.path().join(tileset_file["image"].as_str().unwrap())).unwrap();
            let (width, height) = picture_info(&picture);
            assert_eq!(
                (tileset_file["imagewidth"].clone(), tileset_file["imageheight"].clone()),
                (width.into(), height.into())
            );
            let first = tileset["firstgid"].as_u64().unwrap();
            (first, first + tileset_file["tilecount"].as_u64().unwrap())
        });
        let ranges = sources.collect::<Vec<_>>();
        assert!(ranges[0].1 <= ranges[1].0, "the tilesets share ids: {ranges:?}");
        let layers = map["layers"].as_array().unwrap();
        let cells_of = |layer: &str, first: u64| {
            let layer = layers.iter().find(|found| found["name"] == layer).unwrap();
            let ids = layer["data"].as_array().unwrap().iter().map(|id| id.as_u64().unwrap());
            ids.map(|id| u8::try_from(id.saturating_sub(first)).unwrap()).collect::<Vec<_>>()
        };
        let ground = ground_of(&read_json(&tileset(directory.path(), &map)));
        let objects = layers.iter().filter_map(|layer| layer["objects"].as_array()).flatten().map(|object| {
            let properties = object["properties"].as_array().into_iter().flatten();
            let values =
                properties.map(|property| (property["name"].as_str().unwrap().to_owned(), text_of(&property["value"])));
            let text = |field: &str| object[field].as_str().unwrap().to_owned();
            let number = |field: &str| object[field].as_f64().unwrap() as f32;
            (text("type"), number("x"), number("y"), text("name"), values.collect())
        });
        let map = TiledMap {
            terrain: cells_of("terrain", ranges[0].0).into_iter().map(|tile| ground[&tile]).collect(),
            region: cells_of("region", ranges[1].0),
            objects: objects.collect(),
        };
        map.assert_holds(&floor, &name);
    }
}

/// Tiled reads each map and writes it in its other format, which the crate `tiled` reads.
///
/// Needs the program `tiled`. Without it the test says that it is skipped, or fails if `FLOORS_TEST_TILED=required`.
#[test]
fn tiled_reads_every_cell_and_object() {
    let directory = tempfile::tempdir().unwrap();
    let tiled = |arguments: &[&str]| {
        let mut command = Command::new("tiled");
        command.env("QT_QPA_PLATFORM", "offscreen").env("HOME", directory.path()).args(arguments).output()
    };
    if tiled(&["--quit"]).is_err() {
        assert!(std::env::var_os("FLOORS_TEST_TILED").is_none_or(|value| value != "required"), "there is no `tiled`");
        eprintln!("skipped: there is no `tiled`");
        return;
    }
    for (name, floor) in floors() {
        let (path, converted) = (directory.path().join("floor.tmj"), directory.path().join("converted.tmx"));
        export(&name, "tiled", &path);
        let arguments =
            ["--embed-tilesets", "--export-map", "tmx", path.to_str().unwrap(), converted.to_str().unwrap()];
        let output = tiled(&arguments).unwrap();
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
        let ground = ground_of(&read_json(&tileset(directory.path(), &read_json(&path))));
        read_tmx(&converted, &ground).assert_holds(&floor, &name);
        // What Tiled itself saves comes back as the floor that it was.
        let (saved, back) = (directory.path().join("saved.tmj"), directory.path().join("back.bin"));
        let output = tiled(&["--export-map", "json", path.to_str().unwrap(), saved.to_str().unwrap()]).unwrap();
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
        let (code, stdout, stderr) = floorctl(&["import", saved.to_str().unwrap(), "--output", back.to_str().unwrap()]);
        assert_eq!(code, Some(0), "{name}: {stdout}{stderr}");
        assert_eq!(std::fs::read(&back).unwrap(), floor_proto::hash::encode_hashed(&floor, 0), "{name}");
        for file in [converted, saved, back] {
            std::fs::remove_file(file).unwrap();
        }
    }
}

/// The file of a map's tileset of terrain.
fn tileset(directory: &Path, map: &Value) -> PathBuf {
    directory.join(map["tilesets"][0]["source"].as_str().unwrap())
}

fn read_tmx(path: &Path, ground: &BTreeMap<u8, u8>) -> TiledMap {
    let map = tiled::Loader::new().load_tmx_map(path).unwrap();
    let layers = map.layers().collect::<Vec<_>>();
    let cells_of = |name: &str, tileset: usize| {
        let layer = layers.iter().find(|layer| layer.name == name).unwrap().as_tile_layer().unwrap();
        let positions = (0..HEIGHT as i32).flat_map(|y| (0..WIDTH as i32).map(move |x| (x, y)));
        let cell = |(x, y)| {
            layer.get_tile(x, y).map_or(0, |data| {
                assert_eq!(data.tileset_index(), tileset);
                u8::try_from(data.id()).unwrap()
            })
        };
        positions.map(cell).collect::<Vec<_>>()
    };
    let objects = layers.iter().filter_map(|layer| layer.as_object_layer()).flat_map(|layer| {
        let objects = layer.object_data().iter().map(|object| {
            let values = object.properties.iter().filter_map(|(name, value)| match value {
                tiled::PropertyValue::IntValue(number) => Some((name.clone(), number.to_string())),
                tiled::PropertyValue::StringValue(text) => Some((name.clone(), text.clone())),
                _ => None,
            });
            (object.user_type.clone(), object.x, object.y, object.name.clone(), values.collect())
        });
        objects.collect::<Vec<_>>()
    });
    let terrain = cells_of("terrain", 0).into_iter().map(|tile| ground[&tile]).collect();
    TiledMap { terrain, region: cells_of("region", 1), objects: objects.collect() }
}

/// Compares walls and doors with the cells.
#[test]
fn a_virtual_tabletop_gets_walls_doors_and_a_picture() {
    let directory = tempfile::tempdir().unwrap();
    for (name, floor) in floors() {
        let path = directory.path().join("floor.dd2vtt");
        export(&name, "uvtt", &path);
        let map = read_json(&path);
        let (terrain, _) = cells(&floor);
        let at = |x: u32, y: u32| Terrain::try_from(i32::from(terrain[(y * WIDTH + x) as usize])).unwrap();
        let is_wall = |x: u32, y: u32| at(x, y) == Terrain::Wall;

        let mut walls = unit_edges(&map["line_of_sight"]);
        let mut expected = Vec::new();
        for (x, y) in (0..HEIGHT).flat_map(|y| (0..WIDTH).map(move |x| (x, y))) {
            if x > 0 && is_wall(x, y) != is_wall(x - 1, y) {
                expected.push(((x, y), (x, y + 1)));
            }
            if y > 0 && is_wall(x, y) != is_wall(x, y - 1) {
                expected.push(((x, y), (x + 1, y)));
            }
        }
        walls.sort_unstable();
        expected.sort_unstable();
        assert_eq!(walls, expected, "{name}: walls are not the edges between wall and ground");

        let doors = [Terrain::Door, Terrain::LockedDoor, Terrain::SecretDoor];
        let is_door = |cell: &&u8| doors.iter().any(|door| *door as u8 == **cell);
        let portals = map["portals"].as_array().unwrap();
        assert_eq!(portals.len(), terrain.iter().filter(is_door).count(), "{name}");
        for portal in portals {
            let half = |end: usize, axis: &str| (portal["bounds"][end][axis].as_f64().unwrap() * 2.0) as u32;
            let [(x, y), (to_x, to_y)] = [0, 1].map(|end| (half(end, "x"), half(end, "y")));
            assert_eq!((to_x - x) + (to_y - y), 2, "{name}: a door is one cell wide");
            // The cells beside both ends of the door are walls, so nobody sees past it.
            let (low, high) = if to_x > x {
                let row = (y.min(2 * HEIGHT - 1)) / 2;
                ((x / 2 - 1, row), (to_x / 2, row))
            } else {
                let column = (x.min(2 * WIDTH - 1)) / 2;
                ((column, y / 2 - 1), (column, to_y / 2))
            };
            let flush = portal["kind"] == "secret door";
            assert!(flush || is_wall(low.0, low.1) && is_wall(high.0, high.1), "{name}: {portal}");
        }

        let pillars = terrain.iter().filter(|cell| **cell == Terrain::Pillar as u8).count();
        assert_eq!(map["objects_line_of_sight"].as_array().unwrap().is_empty(), pillars == 0, "{name}");
        let picture = STANDARD.decode(map["image"].as_str().unwrap()).unwrap();
        assert_eq!(picture_info(&picture), (WIDTH * 50, HEIGHT * 50), "{name}");
        assert!(map["lights"].as_array().unwrap().len() >= 2, "{name}");
    }
}

/// The edges of cells that polylines consist of, each from its lesser corner.
fn unit_edges(polylines: &Value) -> Vec<((u32, u32), (u32, u32))> {
    let corner = |value: &Value| (value["x"].as_f64().unwrap() as u32, value["y"].as_f64().unwrap() as u32);
    let mut edges = Vec::new();
    for polyline in polylines.as_array().unwrap() {
        for line in polyline.as_array().unwrap().windows(2) {
            let (a, b) = (corner(&line[0]), corner(&line[1]));
            let (mut here, end) = (a.min(b), a.max(b));
            assert!((here.0 == end.0) != (here.1 == end.1), "{here:?} to {end:?}");
            while here != end {
                let next = if here.0 < end.0 { (here.0 + 1, here.1) } else { (here.0, here.1 + 1) };
                edges.push((here, next));
                here = next;
            }
        }
    }
    edges
}

#[test]
fn the_json_is_read_back() {
    let directory = tempfile::tempdir().unwrap();
    for (name, floor) in floors() {
        let path = directory.path().join("floor.json");
        export(&name, "json", &path);
        let document = read_json(&path);
        assert_eq!(document["spawns"].as_array().unwrap().len(), floor.spawns.len());
        let again = directory.path().join("again.json");
        let arguments = [path.to_str().unwrap(), "--to", "json", "--output", again.to_str().unwrap(), "--force"];
        let (code, _, stderr) = floorctl(&[&["export"], &arguments[..]].concat());
        assert_eq!(code, Some(0), "{stderr}");
        assert_eq!(read_json(&again), document, "{name}");
    }
}

/// Whether a cell and all around it are wall.
fn is_rock(terrain: &[u8], index: usize) -> bool {
    let (x, y) = (index as u32 % WIDTH, index as u32 / WIDTH);
    let near = |at: u32| at.saturating_sub(1)..=at + 1;
    let is_wall = |x, y| x >= WIDTH || y >= HEIGHT || terrain[(y * WIDTH + x) as usize] == Terrain::Wall as u8;
    near(y).all(|y| near(x).all(|x| is_wall(x, y)))
}

/// Compares walls and doors with the cells, and the journal with the rooms.
#[test]
fn foundry_gets_a_scene_with_doors_of_each_type_and_a_journal() {
    let directory = tempfile::tempdir().unwrap();
    for (name, floor) in floors() {
        let path = directory.path().join("floor.json");
        export(&name, "foundry", &path);
        let (scene, journal) = (read_json(&path), read_json(&directory.path().join("floor-journal.json")));
        let size = scene["grid"]["size"].as_u64().unwrap();
        assert_eq!((scene["width"].as_u64(), scene["height"].as_u64()), (Some(48 * size), Some(40 * size)));
        assert_eq!((&scene["padding"], &scene["environment"]["darknessLevel"]), (&0.into(), &1.into()), "{name}");
        let picture = std::fs::read(directory.path().join(scene["background"]["src"].as_str().unwrap())).unwrap();
        assert_eq!(picture_info(&picture), (WIDTH * 50, HEIGHT * 50));

        let (terrain, _) = cells(&floor);
        let walls = scene["walls"].as_array().unwrap();
        let number = |wall: &Value, key: &str| wall[key].as_u64().unwrap();
        let of = |door: u64, state: u64| {
            walls.iter().filter(|wall| (number(wall, "door"), number(wall, "ds")) == (door, state)).count()
        };
        let has = |terrain_shown: Terrain| terrain.iter().filter(|cell| **cell == terrain_shown as u8).count();
        assert_eq!(of(1, 0), has(Terrain::Door), "{name}: doors");
        assert_eq!(of(1, 2), has(Terrain::LockedDoor), "{name}: locked doors");
        assert_eq!(of(2, 0), has(Terrain::SecretDoor), "{name}: secret doors");
        for wall in walls {
            let c = wall["c"].as_array().unwrap().iter().map(|at| at.as_u64().unwrap()).collect::<Vec<_>>();
            assert!(c.len() == 4 && (c[0] == c[2]) != (c[1] == c[3]), "{name}: {wall}");
            assert!(c[0].max(c[2]) <= 48 * size && c[1].max(c[3]) <= 40 * size, "{name}: {wall}");
        }

        // As Foundry checks ids: 16 letters and digits, each once.
        let documents = ["walls", "lights", "notes"].iter().flat_map(|key| scene[key].as_array().unwrap());
        let pages = journal["pages"].as_array().unwrap();
        let ids = documents.chain(pages).chain([&scene, &journal]).map(|document| document["_id"].as_str().unwrap());
        let ids = ids.collect::<Vec<_>>();
        assert!(ids.iter().all(|id| id.len() == 16 && id.bytes().all(|byte| byte.is_ascii_alphanumeric())), "{name}");
        assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len(), "{name}");
        // The first page is the floor's.
        let (about, pages) = pages.split_first().unwrap();
        assert!(about["text"]["content"].as_str().unwrap().contains(&floor.hook.as_ref().unwrap().text), "{name}");
        assert_eq!(pages.len(), floor.rooms.len(), "{name}");
        let notes = scene["notes"].as_array().unwrap();
        for (note, page) in notes.iter().zip(pages) {
            assert_eq!((&note["entryId"], &note["pageId"]), (&journal["_id"], &page["_id"]), "{name}");
        }
        let text = pages.iter().map(|page| page["text"]["content"].as_str().unwrap()).collect::<String>();
        let keys = floor.locks.iter().all(|lock| text.contains(&format!(" {}</li>", lock.id)));
        assert!(notes.len() == pages.len() && keys, "{name}: {text}");
        assert!(scene["lights"].as_array().unwrap().len() >= 2, "{name}");
    }
}

/// What somebody edited stays, whatever the format.
#[test]
fn a_file_that_differs_is_overwritten_by_force_only() {
    for (format, file, tileset) in
        [("tiled", "floor.tmj", "room-tiles.tsj"), ("ldtk", "floor.ldtk", "room-tiles.png"), ("json", "floor.json", "")]
    {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(file);
        let arguments = ["export", "42/7:halls@48x40", "--offline", "--to", format, "--output", path.to_str().unwrap()];
        let (code, _, stderr) = floorctl(&arguments);
        assert!(code == Some(0) && stderr.contains("wrote "), "{stderr}");
        let (code, _, stderr) = floorctl(&arguments);
        assert!(code == Some(0) && stderr.contains("unchanged ") && !stderr.contains("wrote "), "{stderr}");

        let edited = std::fs::read_to_string(&path).unwrap().replacen("level", "LEVEL", 1);
        std::fs::write(&path, &edited).unwrap();
        let beside = directory.path().join(tileset);
        let has_tileset = !tileset.is_empty();
        if has_tileset {
            std::fs::remove_file(&beside).unwrap();
        }
        let (code, _, stderr) = floorctl(&arguments);
        assert_eq!(code, Some(1), "{stderr}");
        for part in [path.to_str().unwrap(), "--force", "--output", "nothing was written"] {
            assert!(stderr.contains(part), "{stderr}");
        }
        assert_eq!(std::fs::read_to_string(&path).unwrap(), edited);
        assert!(!has_tileset || !beside.exists());
        let (code, _, stderr) = floorctl(&[&arguments[..], &["--force"]].concat());
        assert!(code == Some(0) && stderr.contains("wrote "), "{stderr}");
        assert_ne!(std::fs::read_to_string(&path).unwrap(), edited);
    }
}

/// A JSON file of a floor of that kind.
fn saved(directory: &Path, kind: &str) -> PathBuf {
    let path = directory.join("floor.json");
    export(&format!("42/7:{kind}@48x40"), "json", &path);
    path
}

#[test]
fn an_edited_floor_that_breaks_a_rule_names_the_rule_and_the_cells() {
    let directory = tempfile::tempdir().unwrap();
    let path = saved(directory.path(), "standard");
    let name = path.to_str().unwrap();
    let (code, stdout, stderr) = floorctl(&["validate", name]);
    assert_eq!((code, stdout.as_str(), stderr.as_str()), (Some(0), "42/7:standard@48x40: every rule holds\n", ""));

    let mut document = read_json(&path);
    let row = document["terrainRows"][3].as_str().unwrap().to_owned();
    document["terrainRows"][3] = format!(".{}", &row[1..]).into();
    std::fs::write(&path, document.to_string()).unwrap();
    let (code, stdout, stderr) = floorctl(&["validate", name]);
    assert_eq!(code, Some(1));
    assert!(stdout.contains("\nopen border\n") && stdout.contains("(0, 3)"), "{stdout}");
    assert!(stderr.contains("was edited"), "{stderr}");
    for flag in [&["--json"][..], &["--format", "json"]] {
        let (code, stdout, _) = floorctl(&[&["validate", name], flag].concat());
        let report: Value = serde_json::from_str(&stdout).unwrap();
        assert_eq!((code, &report["valid"], &report["edited"]), (Some(1), &false.into(), &true.into()));
        assert_eq!(report["violations"][0]["rule"], "open border");
        assert_eq!(report["violations"][0]["cells"], serde_json::json!([[0, 3]]));
    }
    let rehashed = directory.path().join("rehashed.bin");
    let (code, _, stderr) = floorctl(&["validate", name, "--rehash", rehashed.to_str().unwrap()]);
    assert_eq!((code, rehashed.exists()), (Some(1), false), "{stderr}");
    assert!(stderr.contains("nothing was written"), "{stderr}");
}

#[test]
fn an_edit_that_breaks_no_rule_is_reported_and_can_be_rehashed() {
    let directory = tempfile::tempdir().unwrap();
    let path = saved(directory.path(), "halls");
    let mut document = read_json(&path);
    document["spawns"][0]["level"] = 99.into();
    document["metrics"]["loops"] = 77.into();
    std::fs::write(&path, document.to_string()).unwrap();
    let name = path.to_str().unwrap();
    let (code, stdout, stderr) = floorctl(&["validate", name]);
    assert_eq!(code, Some(1), "{stderr}");
    assert!(stdout.contains("breaks 1 rule\n") && stdout.contains("not 77"), "{stdout}");
    for file in ["mended.json", "mended.bin"] {
        let mended = directory.path().join(file);
        let mended = mended.to_str().unwrap();
        let (code, stdout, stderr) = floorctl(&["validate", name, "--rehash", mended]);
        assert_eq!(code, Some(0), "{stderr}");
        assert!(
            stdout.contains("every rule holds after these metrics are corrected\n") && stdout.contains("not 77"),
            "{stdout}"
        );
        assert!(stderr.ends_with(&format!("wrote {mended}\n")), "{stderr}");
        let (code, stdout, stderr) = floorctl(&["validate", mended]);
        assert_eq!((code, stderr.as_str()), (Some(0), ""), "{stdout}");
        let (code, text, stderr) = floorctl(&["export", mended, "--to", "json"]);
        assert_eq!(code, Some(0), "{stderr}");
        let document: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(document["spawns"][0]["level"], 99);
    }
}

#[test]
fn a_saved_floor_is_rendered_without_a_server() {
    let directory = tempfile::tempdir().unwrap();
    let path = saved(directory.path(), "cavern");
    let name = path.to_str().unwrap();
    let (code, from_file, stderr) = floorctl(&["render", name, "--plain"]);
    assert_eq!(code, Some(0), "{stderr}");
    let (code, offline, stderr) = floorctl(&["render", "42/7:cavern@48x40", "--offline", "--plain"]);
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    assert_eq!(from_file, offline);
    let output = Command::new(env!("CARGO_BIN_EXE_floorctl"))
        .args(["render", "-", "--png", "-", "--no-legend", "--scale", "4"])
        .stdin(std::fs::File::open(&path).unwrap())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(picture_info(&output.stdout), (WIDTH * 4, HEIGHT * 4));
}

#[test]
fn bad_input_is_refused_with_the_reason() {
    let directory = tempfile::tempdir().unwrap();
    let path = saved(directory.path(), "maze");
    let text = std::fs::read_to_string(&path).unwrap();
    let file = |name: &str, bytes: &[u8]| {
        let path = directory.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let truncated = file("truncated.json", &text.as_bytes()[..text.len() / 2]);
    let empty = file("empty.bin", b"");
    let picture = file("picture.png", b"\x89PNG\r\n\x1a\nand so on");
    let current = format!("\"generatorVersion\": {},", floor_gen::GENERATOR_VERSION);
    let version = file("version.json", text.replace(&current, "\"generatorVersion\": 0,").as_bytes());
    for (saved, expected) in [
        (&truncated, "the JSON ends too early"),
        (&empty, "it is empty"),
        (&picture, "neither JSON nor a complete message"),
        (&version, "generator version is 0"),
    ] {
        for command in [&["validate"][..], &["render"], &["export", "--to", "json"]] {
            let (code, stdout, stderr) = floorctl(&[command, &[saved.as_str()]].concat());
            assert_eq!((code, stdout.as_str()), (Some(1), ""), "{stderr}");
            assert!(stderr.contains(expected) && stderr.contains("holds no floor"), "{stderr}");
        }
    }
    for (arguments, expected) in [
        (&["export", "42/7", "--offline"][..], "--to <FORMAT>"),
        (&["export", "42/7", "--offline", "--to", "unity"], "tiled, ldtk, uvtt, foundry, json"),
        (&["export", "42/7", "--offline", "--to", "tiled"], "name a directory or the map's file with --output"),
        (
            &["export", "42/7", "--offline", "--to", "json", "--scale", "40"],
            "--scale, --style and --day are for --to uvtt",
        ),
        (&["export", "1/1@512x512", "--offline", "--to", "uvtt", "--scale", "40"], "--scale is at most 16"),
        (&["validate", "no/such.json"], "there is no such file"),
        (&["render", "42/7", "--offline", "--no-cache"], "cannot be used with"),
    ] {
        let (code, _, stderr) = floorctl(arguments);
        assert_eq!(code, Some(2), "{arguments:?}: {stderr}");
        assert!(stderr.contains(expected), "{arguments:?} said: {stderr}");
    }
}

/// One view of the floor in text, maps and saved files, made here or from a whole floor.
#[test]
fn what_players_may_see_is_the_same_in_every_output() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    for (name, _) in floors() {
        let run = |arguments: &[&str]| {
            let (code, stdout, stderr) = floorctl(arguments);
            assert_eq!(code, Some(0), "{arguments:?}: {stderr}");
            stdout
        };
        let whole = run(&["render", &name, "--offline", "--plain", "--no-legend"]);
        let seen = run(&["render", &name, "--offline", "--plain", "--no-legend", "--players"]);
        assert!(whole.contains(['^', '$', '%', 'S']), "{name}");
        assert!(!seen.contains(|c: char| "^$%S".contains(c) || c.is_ascii_lowercase()), "{name}:\n{seen}");
        let (map, of_players) = (path("whole.json"), path("players.json"));
        run(&["export", &name, "--offline", "--to", "json", "--output", &map, "--force"]);
        run(&["export", &name, "--offline", "--to", "json", "--output", &of_players, "--force", "--players"]);
        for saved in [vec![map.as_str(), "--players"], vec![of_players.as_str()]] {
            assert_eq!(run(&[&["render", "--plain", "--no-legend"], saved.as_slice()].concat()), seen, "{name}");
        }
        let picture = |arguments: &[&str]| {
            run(&[&["render", "--png", &path("floor.png"), "--style", "map"], arguments].concat());
            std::fs::read(path("floor.png")).unwrap()
        };
        assert_eq!(picture(&[&name, "--offline", "--players"]), picture(&[&map, "--players"]), "{name}");
    }
    let (code, _, stderr) = floorctl(&["search", "--players", "--where", "rooms > 3"]);
    assert!(code == Some(2) && stderr.contains("--players cannot be used here"), "{stderr}");
}

#[test]
fn a_card_and_its_page_name_the_floor() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    let (picture, page) = (path("a \"card\".png"), path("card.html"));
    let viewer = "https://floors.example/";
    let (code, _, stderr) =
        floorctl(&["card", "42/7", "--offline", "--output", &picture, "--page", &page, "--viewer", viewer]);
    assert_eq!(code, Some(0), "{stderr}");
    let file = std::fs::File::open(&picture).unwrap();
    let reader = png::Decoder::new(std::io::BufReader::new(file)).read_info().unwrap();
    assert_eq!((reader.info().width, reader.info().height), (1200, 630));
    let page = std::fs::read_to_string(&page).unwrap();
    let title = FloorSpec::resolve(42, 7, 0, 0, None).map(|spec| floor_wire::message(&floor_gen::generate(&spec)));
    let title = title.unwrap().name.unwrap().text;
    for part in [
        format!("<meta property=\"og:title\" content=\"{title}\">"),
        "<meta property=\"og:image\" content=\"a &quot;card&quot;.png\">".to_owned(),
        "<a href=\"https://floors.example/#f=42/7:keep@100x100\">".to_owned(),
    ] {
        assert!(page.contains(&part), "{part} in\n{page}");
    }
    let (code, _, stderr) = floorctl(&["card", "42/7", "--offline", "--output", "-", "--page", &path("other.html")]);
    assert!(code == Some(2) && stderr.contains("name one with --output"), "{stderr}");
}
