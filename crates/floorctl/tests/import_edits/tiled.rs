//! Edits of Tiled's maps.

use std::collections::BTreeMap;

use floor_client::{EncodedFloor, v1};
use floor_export::tiled;
use floor_gen::pack::Look;
use serde_json::{Value, json};

use crate::{Case, Edit, packed, xml};

const SIDE: f64 = 32.0;
/// The layers of things, each with its class.
const LAYERS: [(&str, &str); 3] = [("spawns", "spawn"), ("items", "item"), ("traps", "trap")];

/// Edits after which the floor has everything.
pub(crate) const KEPT: [(&str, Edit); 22] = [
    ("move a thing", move_a_thing),
    ("delete a thing", delete_a_thing),
    ("change a level", change_a_level),
    ("add a monster", add_a_monster),
    ("a class in other letters", letters_of_class),
    ("no class", no_class),
    ("turn a picture", turn),
    ("another shape", another_shape),
    ("a template", template),
    ("a group", group),
    ("move a layer", offset),
    ("flip pictures", flip),
    ("flip tiles", flip_tiles),
    ("paint", paint),
    ("layers in other letters", letters_of_layers),
    ("hide a layer", hide),
    ("an object in another layer", other_layer),
    ("own things", own),
    ("empty layers", empty_layers),
    ("other order", shuffle),
    ("off the grid", off_the_grid),
    ("other types of properties", types),
];

/// Edits that a floor cannot keep.
pub(crate) const LOST: [(&str, Edit); 20] = [
    ("a layer of tiles", |case, _| {
        let layer = json!({"type": "tilelayer", "id": 90, "name": "decor", "width": 2, "height": 1, "data": [0, 3]});
        add_layer(case, layer);
        case.lost = Some("the layer `decor` has 1 tile".to_owned());
    }),
    ("a picture", |case, _| {
        add_layer(case, json!({"type": "imagelayer", "id": 90, "name": "sky", "image": "sky.png"}));
        case.lost = Some("the layer `sky` is a picture".to_owned());
    }),
    ("outside of the map", |case, rng| {
        let id = thing(case, rng, |object| {
            object["x"] = (-5000).into();
            object["id"].clone()
        });
        case.lost = id.map(|id| format!("object {id} of")).or_else(|| isometric(case));
    }),
    ("an unknown property", |case, rng| {
        let id = thing(case, rng, |object| {
            set(object, "levle", 3.into());
            object["id"].clone()
        });
        case.lost = id.map(|_| "has `levle`, which".to_owned()).or_else(|| isometric(case));
    }),
    ("a property of the map", |case, _| {
        set(&mut case.map, "music", "drums.ogg".into());
        case.lost = Some("the map has `music`".to_owned());
    }),
    ("a property of a layer", |case, rng| {
        let layers = case.map["layers"].as_array_mut().unwrap();
        let at = rng.usize(..layers.len());
        set(&mut layers[at], "fog", true.into());
        layers[at]["name"] = layers[at]["name"].as_str().unwrap().trim_start_matches('_').into();
        case.lost = Some("has `fog`, which".to_owned());
    }),
    ("an unknown tile", |case, rng| {
        let cell = case.cell(rng);
        let width = case.floor.spec.as_ref().unwrap().width;
        layer(case, "terrain", |layer| layer["data"][(cell.y * width + cell.x) as usize] = 500.into());
        case.lost = Some(format!("the tile 500, which is in no tileset of the map, at ({}, {})", cell.x, cell.y));
    }),
    ("a tile of rooms in the terrain", |case, _| {
        layer(case, "terrain", |layer| layer["data"][0] = 114.into());
        case.lost = Some("the tile 1 of the tileset `room-tiles`, which is no terrain, at (0, 0)".to_owned());
    }),
    ("an object of an unknown tile", |case, rng| {
        thing(case, rng, |object| object["gid"] = 777.into());
        let named = "shows the tile 777".to_owned();
        case.lost = if has(case, "gid", &777.into()) { Some(named) } else { isometric(case) };
    }),
    ("a template that is gone", |case, rng| {
        let id = case.id();
        let cell = case.cell(rng);
        let object = json!({"id": id, "template": "parts/gone.tj", "x": cell.x, "y": cell.y});
        object_layer(case, rng, |layer, _| layer["objects"].as_array_mut().unwrap().push(object.clone()));
        case.lost = Some("its template parts/gone.tj cannot be read".to_owned());
    }),
    ("a class of the designer", |case, _| {
        let object = json!({"id": 9001, "type": "lever", "name": "", "x": 70, "y": 40, "width": 2, "height": 2});
        add_layer(case, json!({"type": "objectgroup", "id": 91, "name": "levers", "objects": [object]}));
        case.lost = Some("object 9001 of the layer `levers`, at (2, 1): its class is `lever`".to_owned());
    }),
    ("a second entry", |case, _| {
        let object = json!({"id": 9001, "type": "entry", "name": "", "x": 70, "y": 40, "width": 2, "height": 2});
        add_layer(case, json!({"type": "objectgroup", "id": 91, "name": "more", "objects": [object]}));
        case.lost = Some("the map has 2 objects of the class `entry`".to_owned());
    }),
    ("no layer of terrain", |case, _| {
        layer(case, "terrain", |layer| layer["name"] = "ground".into());
        case.lost = Some("`ground`".to_owned());
    }),
    ("a second layer of terrain", |case, _| {
        let spec = case.floor.spec.clone().unwrap();
        let data = vec![0; (spec.width * spec.height) as usize];
        let layer = json!({
            "type": "tilelayer", "id": 90, "name": "Terrain", "width": spec.width, "height": spec.height, "data": data,
        });
        add_layer(case, layer);
        case.lost = Some("the map has a second layer `".to_owned());
    }),
    ("the name of the stairs", |case, _| {
        visit(&mut case.map, (0.0, 0.0), &mut |layer, _| {
            for object in layer["objects"].as_array_mut().into_iter().flatten() {
                if object["type"] == "entry" {
                    object["name"] = "The Long Stair".into();
                }
            }
        });
        case.lost = Some("a floor does not keep its name `The Long Stair`".to_owned());
    }),
    ("a layer between the cells", |case, _| {
        layer(case, "region", |layer| layer["offsetx"] = (layer["offsetx"].as_f64().unwrap_or_default() + 5.0).into());
        case.lost = Some("and so stands between the cells".to_owned());
    }),
    ("another orientation", |case, _| case.lost = isometric(case)),
    ("data that is damaged", |case, _| {
        layer(case, "terrain", |layer| {
            (layer["data"], layer["encoding"]) = ("AAAA%%%".into(), "base64".into());
        });
        case.lost = Some("holds no base64".to_owned());
    }),
    ("no seed", |case, _| {
        case.map["properties"].as_array_mut().unwrap().retain(|property| property["name"] != "seed");
        case.lost = Some("the map has no `seed`".to_owned());
    }),
    ("a line to another room", |case, _| {
        let from = case.floor.rooms.iter().find(|room| room.id == case.floor.connections[0].from_room).unwrap();
        let other = case.floor.connections[0].to_room;
        let other = case.floor.rooms.iter().find(|room| ![from.id, other].contains(&room.id));
        let Some(other) = other else { return case.lost = isometric(case) };
        let (from, to) = (from.center.unwrap(), other.center.unwrap());
        let by = |to: u32, from: u32| (f64::from(to) - f64::from(from)) * SIDE;
        let (x, y) = (by(to.x, from.x), by(to.y, from.y));
        visit(&mut case.map, (0.0, 0.0), &mut |layer, _| {
            for object in layer["objects"].as_array_mut().into_iter().flatten() {
                if object["ref"] == json!(["connection", 0]) {
                    object["polyline"][1] = json!({"x": x, "y": y});
                }
            }
        });
        case.lost = Some("change one of the two".to_owned());
    }),
];

fn isometric(case: &mut Case) -> Option<String> {
    case.map["orientation"] = "isometric".into();
    Some("the map is isometric".to_owned())
}

/// The map of a floor, with the files beside it. Every object knows which thing of the floor it is.
pub(crate) fn exported(floor: &EncodedFloor) -> Case {
    let decoded = floor.clone().decode().unwrap();
    let files = tiled::files(&decoded, "map.tmj".to_owned(), &Look::default()).unwrap();
    let mut files = files.into_iter().map(|file| (file.name, file.bytes)).collect::<BTreeMap<_, _>>();
    let mut map: Value = serde_json::from_slice(&files.remove("map.tmj").unwrap()).unwrap();
    let mut counts = BTreeMap::<String, usize>::new();
    visit(&mut map, (0.0, 0.0), &mut |layer, _| {
        for object in layer["objects"].as_array_mut().into_iter().flatten() {
            let class = object["type"].as_str().unwrap().to_owned();
            let count = counts.entry(class.clone()).or_default();
            object["ref"] = json!([class, count]);
            *count += 1;
        }
    });
    let next_id = map["nextobjectid"].as_u64().unwrap();
    Case { floor: decoded.wire().clone(), map, files, lost: None, anchor: (0.0, 1.0), next_id }
}

/// A map to edit. Every third has pictures that are placed by another point.
pub(crate) fn case(exported: &Case, rng: &mut fastrand::Rng) -> Case {
    let mut case = exported.clone();
    let (name, anchor) = [("topleft", (0.0, 0.0)), ("center", (0.5, 0.5)), ("bottomright", (1.0, 1.0))][rng.usize(..3)];
    if rng.u8(..3) == 0 {
        let (old, moved) = (case.anchor, anchor);
        visit(&mut case.map, (0.0, 0.0), &mut |layer, _| {
            for object in layer["objects"].as_array_mut().into_iter().flatten().filter(|it| !it["gid"].is_null()) {
                object["x"] = (object["x"].as_f64().unwrap() + (moved.0 - old.0) * SIDE).into();
                object["y"] = (object["y"].as_f64().unwrap() + (moved.1 - old.1) * SIDE).into();
            }
        });
        case.anchor = anchor;
        for (file, bytes) in case.files.iter_mut().filter(|(file, _)| file.ends_with(".tsj")) {
            let mut tileset: Value = serde_json::from_slice(bytes).unwrap();
            tileset["objectalignment"] = name.into();
            *bytes = tileset.to_string().into_bytes();
            assert!(file.contains("tiles"));
        }
    }
    case
}

/// Calls `f` with every layer and by how many pixels it is moved, groups included.
fn visit(of: &mut Value, offset: (f64, f64), f: &mut dyn FnMut(&mut Value, (f64, f64))) {
    for layer in of["layers"].as_array_mut().into_iter().flatten() {
        let by = |key: &str| layer[key].as_f64().unwrap_or_default();
        let offset = (offset.0 + by("offsetx"), offset.1 + by("offsety"));
        f(layer, offset);
        visit(layer, offset, f);
    }
}

fn is(layer: &Value, name: &str) -> bool {
    layer["name"].as_str().is_some_and(|known| known.eq_ignore_ascii_case(name))
}

fn layer(case: &mut Case, name: &str, mut f: impl FnMut(&mut Value)) {
    visit(&mut case.map, (0.0, 0.0), &mut |layer, _| {
        if is(layer, name) {
            f(layer);
        }
    });
}

/// Calls `f` with one of the layers of things and by how much it is moved.
fn object_layer(case: &mut Case, rng: &mut fastrand::Rng, mut f: impl FnMut(&mut Value, (f64, f64))) {
    let (name, _) = LAYERS[rng.usize(..LAYERS.len())];
    visit(&mut case.map, (0.0, 0.0), &mut |layer, offset| {
        if is(layer, name) {
            f(layer, offset);
        }
    });
}

fn add_layer(case: &mut Case, layer: Value) {
    case.map["layers"].as_array_mut().unwrap().push(layer);
}

fn has(case: &mut Case, key: &str, value: &Value) -> bool {
    let mut found = false;
    visit(&mut case.map, (0.0, 0.0), &mut |layer, _| {
        found |= layer["objects"].as_array().into_iter().flatten().any(|object| object[key] == *value);
    });
    found
}

/// Calls `f` with a thing of the floor at random; none if there is none.
fn thing<T>(case: &mut Case, rng: &mut fastrand::Rng, mut f: impl FnMut(&mut Value) -> T) -> Option<T> {
    let is_thing = |object: &Value| LAYERS.iter().any(|(_, class)| object["ref"][0] == *class);
    let mut count = 0;
    visit(&mut case.map, (0.0, 0.0), &mut |layer, _| {
        count += layer["objects"].as_array().into_iter().flatten().filter(|object| is_thing(object)).count();
    });
    let mut left = if count == 0 { 0 } else { rng.usize(..count) };
    let mut result = None;
    visit(&mut case.map, (0.0, 0.0), &mut |layer, _| {
        for object in layer["objects"].as_array_mut().into_iter().flatten().filter(|object| is_thing(object)) {
            if left == 0 && result.is_none() {
                result = Some(f(object));
            }
            left = left.saturating_sub(1);
        }
    });
    result
}

fn set(of: &mut Value, name: &str, value: Value) {
    if of["properties"].is_null() {
        of["properties"] = json!([]);
    }
    let properties = of["properties"].as_array_mut().unwrap();
    properties.retain(|property| !property["name"].as_str().unwrap().eq_ignore_ascii_case(name));
    properties.push(json!({"name": name, "value": value}));
}

fn reference(object: &Value) -> (String, usize) {
    (object["ref"][0].as_str().unwrap().to_owned(), object["ref"][1].as_u64().unwrap() as usize)
}

fn move_by(object: &mut Value, x: f64, y: f64) {
    object["x"] = (object["x"].as_f64().unwrap() + x).into();
    object["y"] = (object["y"].as_f64().unwrap() + y).into();
}

fn move_a_thing(case: &mut Case, rng: &mut fastrand::Rng) {
    let to = case.cell(rng);
    let Some((class, index)) = thing(case, rng, |object| {
        object["moved"] = true.into();
        reference(object)
    }) else {
        return;
    };
    let from = case.place(&class, index).replace(to).unwrap();
    let by = |to: u32, from: u32| (f64::from(to) - f64::from(from)) * SIDE;
    visit(&mut case.map, (0.0, 0.0), &mut |layer, _| {
        for object in layer["objects"].as_array_mut().into_iter().flatten().filter(|object| object["moved"] == true) {
            move_by(object, by(to.x, from.x), by(to.y, from.y));
            object.as_object_mut().unwrap().remove("moved");
        }
    });
}

fn delete_a_thing(case: &mut Case, rng: &mut fastrand::Rng) {
    let Some((class, index)) = thing(case, rng, |object| {
        object["gone"] = true.into();
        reference(object)
    }) else {
        return;
    };
    visit(&mut case.map, (0.0, 0.0), &mut |layer, _| {
        if let Some(objects) = layer["objects"].as_array_mut() {
            objects.retain(|object| object["gone"] != true);
        }
    });
    case.delete(&class, index);
}

fn change_a_level(case: &mut Case, rng: &mut fastrand::Rng) {
    let level = rng.u32(1..100);
    let changed = thing(case, rng, |object| {
        let (class, index) = reference(object);
        let name = if class == "item" { "value" } else { "level" };
        set(object, name, level.into());
        (class, index)
    });
    let floor = &mut case.floor;
    match changed {
        Some((class, index)) if class == "spawn" => floor.spawns[index].level = level,
        Some((class, index)) if class == "item" => floor.items[index].value = level,
        Some((_, index)) => floor.traps[index].level = level,
        None => {}
    }
}

/// Adds an object with its upper left corner at a cell, and a thing that the floor is expected to have.
fn add(case: &mut Case, rng: &mut fastrand::Rng, mut object: Value, level: u32) {
    let at = case.cell(rng);
    let id = case.id();
    object["id"] = id.into();
    object["ref"] = json!(["spawn", case.floor.spawns.len()]);
    let anchor = if object["gid"].is_null() { (0.0, 0.0) } else { case.anchor };
    visit(&mut case.map, (0.0, 0.0), &mut |layer, offset| {
        if is(layer, "spawns") {
            object["x"] = (f64::from(at.x) * SIDE + anchor.0 * SIDE - offset.0).into();
            object["y"] = (f64::from(at.y) * SIDE + anchor.1 * SIDE - offset.1).into();
            layer["objects"].as_array_mut().unwrap().push(object.clone());
        }
    });
    let behaviour = v1::Behaviour::Guards.into();
    case.floor.spawns.push(v1::Spawn { at: Some(at), archetype: "ghoul".to_owned(), level, behaviour, group: 0 });
}

fn add_a_monster(case: &mut Case, rng: &mut fastrand::Rng) {
    let object = [
        json!({"gid": 17, "type": "", "width": 32, "height": 32}),
        json!({"type": "", "width": 32, "height": 32}),
        json!({"point": true}),
        json!({"ellipse": true, "type": "SPAWNS", "width": 20, "height": 10}),
        json!({"polygon": [{"x": 0, "y": 0}, {"x": 30, "y": 2}, {"x": 8, "y": 30}], "width": 0, "height": 0}),
    ];
    let mut object = object[rng.usize(..object.len())].clone();
    object["name"] = "ghoul".into();
    set(&mut object, "level", 5.into());
    add(case, rng, object, 5);
}

fn for_all(case: &mut Case, mut f: impl FnMut(&mut Value)) {
    visit(&mut case.map, (0.0, 0.0), &mut |layer, _| {
        layer["objects"].as_array_mut().into_iter().flatten().for_each(&mut f);
    });
}

fn letters_of_class(case: &mut Case, rng: &mut fastrand::Rng) {
    let upper = rng.bool();
    thing(case, rng, |object| {
        if let Some(class) = object["type"].as_str().filter(|class| !class.is_empty()) {
            let capital = format!("{}{}s", class[..1].to_uppercase(), &class[1..].trim_end_matches('s'));
            object["type"] = if upper { class.to_uppercase() } else { capital }.into();
        }
    });
}

/// Objects in the layer of their class need none.
fn no_class(case: &mut Case, _: &mut fastrand::Rng) {
    visit(&mut case.map, (0.0, 0.0), &mut |layer, _| {
        let class = LAYERS.iter().find(|(name, _)| is(layer, name)).map(|(_, class)| *class);
        for object in layer["objects"].as_array_mut().into_iter().flatten() {
            if class.is_some_and(|class| object["ref"][0] == class) && object["template"].is_null() {
                object["type"] = "".into();
            }
        }
    });
}

/// The middle of an object from its point, in pixels.
fn middle(object: &Value, anchor: (f64, f64)) -> (f64, f64) {
    let number = |key: &str| object[key].as_f64().unwrap_or_default();
    let (x, y) = ((0.5 - anchor.0) * number("width"), (0.5 - anchor.1) * number("height"));
    let turn = number("rotation").to_radians();
    (number("x") + x * turn.cos() - y * turn.sin(), number("y") + x * turn.sin() + y * turn.cos())
}

fn is_picture(object: &Value) -> bool {
    !object["gid"].is_null() && object["template"].is_null()
}

fn turn(case: &mut Case, rng: &mut fastrand::Rng) {
    let degrees = [90, 180, 270, -90, 45, 30][rng.usize(..6)];
    let anchor = case.anchor;
    thing(case, rng, |object| {
        if is_picture(object) {
            let was = middle(object, anchor);
            object["rotation"] = degrees.into();
            let is = middle(object, anchor);
            move_by(object, was.0 - is.0, was.1 - is.1);
        }
    });
}

/// Makes a rectangle, a point, an ellipse or a polygon of a picture.
fn another_shape(case: &mut Case, rng: &mut fastrand::Rng) {
    let shape = rng.usize(..4);
    let anchor = case.anchor;
    let mut changed = false;
    visit(&mut case.map, (0.0, 0.0), &mut |layer, _| {
        let class = LAYERS.iter().find(|(name, _)| is(layer, name)).map(|(_, class)| *class);
        for object in layer["objects"].as_array_mut().into_iter().flatten() {
            let has_class = !object["type"].as_str().unwrap_or_default().is_empty();
            let is_known = has_class || class.is_some_and(|class| object["ref"][0] == class);
            if changed || !is_picture(object) || !is_known || object["ref"].is_null() || object["ref"][0] == "lock" {
                continue;
            }
            changed = true;
            let (x, y) = middle(object, anchor);
            object.as_object_mut().unwrap().retain(|key, _| !["gid", "rotation"].contains(&key.as_str()));
            let (width, height) = match shape {
                0 => (32, 32),
                1 => {
                    object["ellipse"] = true.into();
                    (20, 10)
                }
                2 => {
                    object["point"] = true.into();
                    (0, 0)
                }
                _ => {
                    object["polygon"] = json!([{"x": -9, "y": 8}, {"x": 9, "y": -8}, {"x": 0, "y": -8}]);
                    (0, 0)
                }
            };
            (object["width"], object["height"]) = (width.into(), height.into());
            object["x"] = (x - f64::from(width) / 2.0).into();
            object["y"] = (y - f64::from(height) / 2.0).into();
        }
    });
}

/// Makes a template of an object, in a folder of its own, as JSON or XML, and an instance that may say more.
fn template(case: &mut Case, rng: &mut fastrand::Rng) {
    let name = format!("parts/{}.{}", case.id(), if rng.bool() { "tj" } else { "tx" });
    let source = case.map["tilesets"][0]["source"].as_str().unwrap().to_owned();
    let overrides = rng.bool();
    let path = name.clone();
    let made = thing(case, rng, |object| {
        if !object["template"].is_null() {
            return None;
        }
        let mut part = object.clone();
        let members = part.as_object_mut().unwrap();
        members.retain(|key, _| !["id", "x", "y", "ref", "rotation", "dragged"].contains(&key.as_str()));
        for property in part["properties"].as_array_mut().into_iter().flatten() {
            property["name"] = property["name"].as_str().unwrap().to_lowercase().into();
        }
        let kept = ["id", "x", "y", "ref", "rotation"];
        object.as_object_mut().unwrap().retain(|key, _| kept.contains(&key.as_str()));
        object["template"] = path.as_str().into();
        if overrides {
            object["name"] = part["name"].clone();
            part["name"] = "somebody".into();
        }
        Some(json!({
            "type": "template",
            "tileset": {"firstgid": 1, "source": format!("../{source}")},
            "object": part,
        }))
    });
    if let Some(template) = made.flatten() {
        let bytes = if name.ends_with("tx") { xml::of(&template) } else { template.to_string().into_bytes() };
        case.files.insert(name, bytes);
    }
}

/// Puts some layers into a group that is moved, and moves them back.
fn group(case: &mut Case, rng: &mut fastrand::Rng) {
    let layers = case.map["layers"].as_array_mut().unwrap();
    let first = rng.usize(..layers.len());
    let last = rng.usize(first..layers.len());
    let (dx, dy) = (rng.i32(-50..50), rng.i32(-50..50));
    let mut inside = layers.drain(first..=last).collect::<Vec<_>>();
    for layer in &mut inside {
        layer["offsetx"] = (layer["offsetx"].as_f64().unwrap_or_default() - f64::from(dx)).into();
        layer["offsety"] = (layer["offsety"].as_f64().unwrap_or_default() - f64::from(dy)).into();
    }
    let id = 100 + layers.len();
    let group = json!({
        "type": "group", "id": id, "name": "Group 1", "offsetx": dx, "offsety": dy, "visible": true, "opacity": 1, "layers": inside,
    });
    layers.insert(first, group);
}

/// Moves a layer, and its objects back.
fn offset(case: &mut Case, rng: &mut fastrand::Rng) {
    let (dx, dy) = (f64::from(rng.i32(-99..99)) / 2.0, f64::from(rng.i32(-99..99)) / 2.0);
    object_layer(case, rng, |layer, _| {
        layer["offsetx"] = (layer["offsetx"].as_f64().unwrap_or_default() + dx).into();
        layer["offsety"] = (layer["offsety"].as_f64().unwrap_or_default() + dy).into();
        layer["objects"].as_array_mut().unwrap().iter_mut().for_each(|object| move_by(object, -dx, -dy));
    });
}

fn flip(case: &mut Case, rng: &mut fastrand::Rng) {
    let bit = 1u64 << rng.u32(29..32);
    thing(case, rng, |object| {
        if is_picture(object) {
            object["gid"] = (object["gid"].as_u64().unwrap() | bit).into();
        }
    });
}

fn flip_tiles(case: &mut Case, rng: &mut fastrand::Rng) {
    let bit = 1u64 << rng.u32(29..32);
    layer(case, "terrain", |layer| {
        for tile in layer["data"].as_array_mut().unwrap().iter_mut().filter(|tile| **tile != 0).take(9) {
            *tile = (tile.as_u64().unwrap() | bit).into();
        }
    });
}

fn paint(case: &mut Case, rng: &mut fastrand::Rng) {
    let index = case.paint(rng);
    layer(case, "terrain", |layer| layer["data"][index] = (1 + v1::Terrain::Pillar as u32).into());
}

fn letters_of_layers(case: &mut Case, _: &mut fastrand::Rng) {
    visit(&mut case.map, (0.0, 0.0), &mut |layer, _| {
        let name = layer["name"].as_str().unwrap();
        layer["name"] = format!("{}{}", name[..1].to_uppercase(), &name[1..]).into();
    });
}

fn hide(case: &mut Case, rng: &mut fastrand::Rng) {
    object_layer(case, rng, |layer, _| {
        (layer["visible"], layer["opacity"]) = (false.into(), 0.5.into());
        layer["objects"].as_array_mut().unwrap().iter_mut().for_each(|object| object["visible"] = false.into());
    });
}

/// Moves an object with a class into another layer of objects.
fn other_layer(case: &mut Case, rng: &mut fastrand::Rng) {
    let mut taken = None;
    visit(&mut case.map, (0.0, 0.0), &mut |layer, offset| {
        if let Some(objects) = layer["objects"].as_array_mut().filter(|_| taken.is_none()) {
            let has_class = |object: &Value| object["type"].as_str().is_some_and(|class| !class.is_empty());
            let at = objects.iter().position(|object| has_class(object) && !object["ref"].is_null());
            taken = at.map(|at| (objects.remove(at), offset));
        }
    });
    let Some((mut object, was)) = taken else { return };
    object_layer(case, rng, |layer, is| {
        move_by(&mut object, was.0 - is.0, was.1 - is.1);
        layer["objects"].as_array_mut().unwrap().push(object.clone());
    });
}

fn own(case: &mut Case, rng: &mut fastrand::Rng) {
    let (id, other) = (case.id(), case.id());
    let object = json!({"id": id, "name": "_note", "x": -900, "y": 0, "point": true});
    object_layer(case, rng, |layer, _| layer["objects"].as_array_mut().unwrap().push(object.clone()));
    let object = json!({"id": other, "name": "", "type": "lever", "x": 3, "y": 0, "width": 5, "height": 5});
    let inner = json!({"type": "objectgroup", "id": 900 + id, "name": "levers", "objects": [object]});
    add_layer(case, json!({"type": "group", "id": 1900 + id, "name": "_mine", "layers": [inner]}));
    thing(case, rng, |object| set(object, "_voice", "deep".into()));
    set(&mut case.map, "_music", "drums".into());
}

fn empty_layers(case: &mut Case, _: &mut fastrand::Rng) {
    let spec = case.floor.spec.clone().unwrap();
    let id = case.id();
    let data = vec![0; (spec.width * spec.height) as usize];
    for layer in [
        json!({"type": "tilelayer", "id": 900 + id, "name": "plan", "width": spec.width, "height": spec.height, "data": data}),
        json!({"type": "objectgroup", "id": 1900 + id, "name": "later", "objects": []}),
        json!({"type": "group", "id": 2900 + id, "name": "empty", "layers": []}),
    ] {
        add_layer(case, layer);
    }
}

fn shuffle(case: &mut Case, rng: &mut fastrand::Rng) {
    rng.shuffle(case.map["layers"].as_array_mut().unwrap());
}

/// Drags a picture within its cell.
fn off_the_grid(case: &mut Case, rng: &mut fastrand::Rng) {
    let (x, y) = (f64::from(rng.i32(-12..12)) / 2.0, f64::from(rng.i32(-12..12)) / 2.0);
    thing(case, rng, |object| {
        if object["dragged"].is_null() {
            move_by(object, x, y);
            object["dragged"] = true.into();
        }
    });
}

/// A whole number as a float or as text, and names in other letters.
fn types(case: &mut Case, rng: &mut fastrand::Rng) {
    let as_text = rng.bool();
    thing(case, rng, |object| {
        let is_untouched = object["template"].is_null();
        for property in object["properties"].as_array_mut().into_iter().flatten() {
            if property["name"].as_str().is_some_and(|name| name.starts_with('_')) {
                continue;
            }
            if let Some(number) = property["value"].as_u64() {
                property["value"] = if as_text { number.to_string().into() } else { (number as f64).into() };
                property["type"] = if as_text { "string" } else { "float" }.into();
            }
            if is_untouched {
                property["name"] = property["name"].as_str().unwrap().to_uppercase().into();
            }
        }
    });
}

/// The bytes of the map as Tiled saves it in one of its ways, and what those are.
pub(crate) fn saved(case: &mut Case, rng: &mut fastrand::Rng) -> (Vec<u8>, Vec<String>) {
    let mut log = Vec::new();
    for_all(case, |object| {
        object.as_object_mut().unwrap().retain(|key, _| key != "ref" && key != "dragged");
    });
    let is_infinite = rng.u8(..3) == 0;
    let packing = rng.bool().then(|| packed::COMPRESSIONS[rng.usize(..4)]);
    case.map["infinite"] = is_infinite.into();
    log.push(format!("infinite {is_infinite}, packed {packing:?}"));
    let far = if is_infinite { rng.i64(-3..3) } else { 0 };
    visit(&mut case.map, (0.0, 0.0), &mut |layer, _| {
        let Some(tiles) = layer["data"].as_array() else { return };
        let tiles = tiles.iter().map(|tile| u32::try_from(tile.as_u64().unwrap()).unwrap()).collect::<Vec<_>>();
        let packed = |tiles: Vec<u32>| packing.map_or_else(|| json!(tiles), |how| packed::pack(&tiles, how).into());
        if let Some(how) = packing {
            (layer["encoding"], layer["compression"]) = ("base64".into(), how.into());
        }
        if is_infinite {
            // The whole layer is moved, and its tiles moved back.
            let moved = layer["offsetx"].as_f64().unwrap_or_default() - far as f64 * SIDE;
            layer["offsetx"] = moved.into();
            let width = layer["width"].as_i64().unwrap();
            layer["chunks"] = chunks(&tiles, width, far, packed);
            layer.as_object_mut().unwrap().remove("data");
        } else {
            layer["data"] = packed(tiles);
        }
    });
    let is_xml = rng.bool();
    // Tilesets in files of their own, in the other format, or inside the map.
    for tileset in case.map["tilesets"].as_array_mut().unwrap() {
        let source = tileset["source"].as_str().unwrap().to_owned();
        let described: Value = serde_json::from_slice(&case.files[&source]).unwrap();
        match rng.u8(..3) {
            0 => {
                let name = source.replace(".tsj", ".tsx");
                case.files.insert(name.clone(), xml::of(&described));
                tileset["source"] = name.into();
                log.push("tsx".to_owned());
            }
            1 => {
                let first = tileset["firstgid"].clone();
                *tileset = described;
                tileset["firstgid"] = first;
                log.push("embedded".to_owned());
            }
            _ => {}
        }
    }
    log.push(format!("xml {is_xml}"));
    (if is_xml { xml::of(&case.map) } else { case.map.to_string().into_bytes() }, log)
}

/// The tiles in chunks of 16x16, all of them moved to the right.
fn chunks(tiles: &[u32], width: i64, far: i64, packed: impl Fn(Vec<u32>) -> Value) -> Value {
    let height = tiles.len() as i64 / width;
    let at = |x: i64, y: i64| {
        let inside = (0..width).contains(&x) && (0..height).contains(&y);
        if inside { tiles[(y * width + x) as usize] } else { 0 }
    };
    let mut chunks = Vec::new();
    for (left, top) in (0..height).step_by(16).flat_map(|y| (-16..width + 16).step_by(16).map(move |x| (x, y))) {
        let cells = (0..16).flat_map(|y| (0..16).map(move |x| (x, y)));
        let tiles = cells.map(|(x, y)| at(left + x - far, top + y)).collect::<Vec<_>>();
        if tiles.iter().any(|tile| *tile != 0) {
            chunks.push(json!({"x": left, "y": top, "width": 16, "height": 16, "data": packed(tiles)}));
        }
    }
    chunks.into()
}
