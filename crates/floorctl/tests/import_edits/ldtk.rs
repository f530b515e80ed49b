//! Edits of LDtk's projects.

use floor_client::{EncodedFloor, v1};
use floor_export::ldtk;
use floor_gen::pack::Look;
use serde_json::{Value, json};

use crate::{Case, Edit};

const SIDE: u32 = 32;

/// Edits after which the floor has everything.
pub(crate) const KEPT: [(&str, Edit); 15] = [
    ("move a thing", move_a_thing),
    ("delete a thing", delete_a_thing),
    ("change a level", change_a_level),
    ("add a monster", add_a_monster),
    ("an entity that was renamed", rename_entity),
    ("a field that was renamed", rename_field),
    ("layers that were renamed", rename_layers),
    ("names in other letters", letters),
    ("a second layer of entities", second_layer),
    ("another pivot", pivot),
    ("move the layer", offset),
    ("a level in a file of its own", external_level),
    ("own things", own),
    ("paint", paint),
    ("a level of a world", world),
];

/// Edits that a floor cannot keep.
pub(crate) const LOST: [(&str, Edit); 11] = [
    ("a layer of cells", |case, _| {
        let layer = json!({"__identifier": "Decor", "__type": "IntGrid", "layerDefUid": 1001, "intGridCsv": [0, 1, 1]});
        layers(case).push(layer);
        case.lost = Some("the layer `Decor` has 2 cells".to_owned());
    }),
    ("a layer of tiles", |case, _| {
        let layer =
            json!({"__identifier": "Decor", "__type": "Tiles", "layerDefUid": 1001, "gridTiles": [{"px": [0, 0]}]});
        layers(case).push(layer);
        case.lost = Some("the layer `Decor` has 1 cell".to_owned());
    }),
    ("an unknown terrain", |case, rng| {
        let cell = case.cell(rng);
        let width = case.floor.spec.as_ref().unwrap().width;
        definition(case, 6)["intGridCsv"][(cell.y * width + cell.x) as usize] = 99.into();
        case.lost = Some(format!("has the value 99, at ({}, {}); expected a terrain", cell.x, cell.y));
    }),
    ("outside of the level", |case, _| {
        let entity = first_of(case, "room");
        entity["px"] = json!([-5000, 3]);
        let iid = entity["iid"].as_str().unwrap().to_owned();
        case.lost = Some(iid);
    }),
    ("an unknown entity", |case, _| {
        let entity = first_of(case, "entry");
        (entity["__identifier"], entity["defUid"]) = ("Lever".into(), 1002.into());
        case.lost = Some("`Lever` ".to_owned());
    }),
    ("an unknown field", |case, _| {
        let field = json!({"__identifier": "fog", "__value": 3, "defUid": 1003, "realEditorValues": [{"id": "V_Int"}]});
        first_of(case, "room")["fieldInstances"].as_array_mut().unwrap().push(field);
        case.lost = Some("has `fog`, which".to_owned());
    }),
    ("a field of the level", |case, _| {
        let field = json!({"__identifier": "fog", "__value": 3, "defUid": 1003, "realEditorValues": [{"id": "V_Int"}]});
        level(case)["fieldInstances"].as_array_mut().unwrap().push(field);
        case.lost = Some("the map has `fog`".to_owned());
    }),
    ("a second level", |case, _| {
        inside(case);
        let mut second = level(case).clone();
        second["identifier"] = "Attic".into();
        case.map["levels"].as_array_mut().unwrap().push(second);
        case.lost = Some("`Attic`".to_owned());
    }),
    ("another grid", |case, _| {
        definition(case, 6)["__gridSize"] = 16.into();
        case.lost = Some("does not stand on the cells of the floor".to_owned());
    }),
    ("no layer of terrain", |case, _| {
        layers(case).retain(|layer| layer["layerDefUid"] != 6);
        case.lost = Some("the map has no layer `Terrain`".to_owned());
    }),
    ("a level that is gone", |case, _| {
        inside(case);
        let level = level(case);
        (level["layerInstances"], level["externalRelPath"]) = (Value::Null, "gone.ldtkl".into());
        case.lost = Some("the level in gone.ldtkl cannot be read".to_owned());
    }),
];

/// The project of a floor. Every entity knows which thing of the floor it is.
pub(crate) fn exported(floor: &EncodedFloor) -> Case {
    let decoded = floor.clone().decode().unwrap();
    let map = ldtk::document(&decoded, &Look::default());
    let floor = decoded.wire().clone();
    let mut case = Case { floor, map, files: Default::default(), lost: None, anchor: (0.0, 0.0), next_id: 5000 };
    let mut counts = std::collections::BTreeMap::<String, usize>::new();
    for entity in entities(&mut case) {
        let class = entity["__identifier"].as_str().unwrap().to_lowercase();
        let count = counts.entry(class.clone()).or_default();
        entity["ref"] = json!([class, count]);
        *count += 1;
    }
    case
}

/// Takes the level back into the project.
fn inside(case: &mut Case) {
    if case.map["levels"].as_array().is_some_and(Vec::is_empty) {
        let levels = case.map["worlds"][0]["levels"].take();
        (case.map["levels"], case.map["worlds"]) = (levels, json!([]));
    }
    let level =
        case.map["levels"].as_array_mut().unwrap().iter_mut().find(|level| level["identifier"] != "_Mine").unwrap();
    if let Some(path) = level["externalRelPath"].as_str() {
        *level = serde_json::from_slice(&case.files.remove(path).unwrap()).unwrap();
        level["externalRelPath"] = Value::Null;
    }
}

fn level(case: &mut Case) -> &mut Value {
    inside(case);
    case.map["levels"].as_array_mut().unwrap().iter_mut().find(|level| level["identifier"] != "_Mine").unwrap()
}

fn layers(case: &mut Case) -> &mut Vec<Value> {
    level(case)["layerInstances"].as_array_mut().unwrap()
}

fn definition(case: &mut Case, uid: u32) -> &mut Value {
    layers(case).iter_mut().find(|layer| layer["layerDefUid"] == uid).unwrap()
}

fn entities(case: &mut Case) -> impl Iterator<Item = &mut Value> {
    layers(case).iter_mut().filter_map(|layer| layer["entityInstances"].as_array_mut()).flatten()
}

fn first_of<'a>(case: &'a mut Case, class: &str) -> &'a mut Value {
    entities(case).find(|entity| entity["ref"] == json!([class, 0])).unwrap()
}

fn thing<'a>(case: &'a mut Case, rng: &mut fastrand::Rng) -> Option<(&'a mut Value, String, usize)> {
    let is_thing = |entity: &&mut Value| ["spawn", "item", "trap"].iter().any(|class| entity["ref"][0] == *class);
    let count = entities(case).filter(is_thing).count();
    let at = if count == 0 { return None } else { rng.usize(..count) };
    let entity = entities(case).filter(is_thing).nth(at).unwrap();
    let (class, index) = (entity["ref"][0].as_str().unwrap().to_owned(), entity["ref"][1].as_u64().unwrap() as usize);
    Some((entity, class, index))
}

fn move_a_thing(case: &mut Case, rng: &mut fastrand::Rng) {
    let to = case.cell(rng);
    let Some((entity, class, index)) = thing(case, rng) else { return };
    entity["moved"] = true.into();
    let from = case.place(&class, index).replace(to).unwrap();
    let by = |to: u32, from: u32| (f64::from(to) - f64::from(from)) * f64::from(SIDE);
    for entity in entities(case).filter(|entity| entity["moved"] == true) {
        move_by(entity, by(to.x, from.x), by(to.y, from.y));
        entity.as_object_mut().unwrap().remove("moved");
    }
}

fn move_by(entity: &mut Value, x: f64, y: f64) {
    entity["px"][0] = (entity["px"][0].as_f64().unwrap() + x).into();
    entity["px"][1] = (entity["px"][1].as_f64().unwrap() + y).into();
}

fn delete_a_thing(case: &mut Case, rng: &mut fastrand::Rng) {
    let Some((entity, class, index)) = thing(case, rng) else { return };
    let gone = entity["ref"].clone();
    for layer in layers(case) {
        if let Some(entities) = layer["entityInstances"].as_array_mut() {
            entities.retain(|entity| entity["ref"] != gone);
        }
    }
    case.delete(&class, index);
}

fn change_a_level(case: &mut Case, rng: &mut fastrand::Rng) {
    let number = rng.u32(1..100);
    let Some((entity, class, index)) = thing(case, rng) else { return };
    // The second field of each: level, or value.
    entity["fieldInstances"][1]["__value"] = number.into();
    let floor = &mut case.floor;
    match class.as_str() {
        "spawn" => floor.spawns[index].level = number,
        "item" => floor.items[index].value = number,
        _ => floor.traps[index].level = number,
    }
}

/// A monster as LDtk places it: fields that nobody set have the default of their type.
fn add_a_monster(case: &mut Case, rng: &mut fastrand::Rng) {
    let at = case.cell(rng);
    let index = case.floor.spawns.len();
    let id = case.id();
    let offset = ["X", "Y"].map(|axis| definition(case, 3)[format!("__pxTotalOffset{axis}")].as_f64().unwrap());
    let unset = |name: &str, uid: u32, value: Value| json!({"__identifier": name, "__value": value, "defUid": uid, "realEditorValues": []});
    let set = |name: &str, uid: u32, value: Value| json!({"__identifier": name, "__value": value, "defUid": uid, "realEditorValues": [{}]});
    let entity = json!({
        "__identifier": "Spawn", "defUid": 107, "iid": format!("new-{id}"), "__pivot": [0, 0], "width": SIDE, "height": SIDE,
        "ref": ["spawn", index],
        "px": [f64::from(at.x * SIDE) - offset[0], f64::from(at.y * SIDE) - offset[1]],
        "fieldInstances": [
            set("archetype", 370, "ghoul".into()), set("level", 371, 5.into()),
            unset("behaviour", 372, "".into()), unset("group", 373, 0.into()),
        ],
    });
    definition(case, 3)["entityInstances"].as_array_mut().unwrap().push(entity);
    let behaviour = v1::Behaviour::Guards.into();
    let spawn = v1::Spawn { at: Some(at), archetype: "ghoul".to_owned(), level: 5, behaviour, group: 0 };
    case.floor.spawns.push(spawn);
}

fn rename_entity(case: &mut Case, rng: &mut fastrand::Rng) {
    let uid = 100 + rng.u32(..9);
    for entity in entities(case).filter(|entity| entity["defUid"] == uid) {
        entity["__identifier"] = format!("Thing{uid}").into();
    }
}

fn rename_field(case: &mut Case, rng: &mut fastrand::Rng) {
    let at = rng.usize(..2);
    for entity in entities(case) {
        if entity["fieldInstances"][at].is_object() {
            entity["fieldInstances"][at]["__identifier"] = "renamed".into();
        }
    }
    level(case)["fieldInstances"][at]["__identifier"] = "renamed".into();
}

fn rename_layers(case: &mut Case, _: &mut fastrand::Rng) {
    for (index, layer) in
        layers(case).iter_mut().enumerate().filter(|(_, layer)| layer["layerDefUid"].as_u64().unwrap() < 100)
    {
        layer["__identifier"] = format!("Layer{index}").into();
    }
}

fn letters(case: &mut Case, rng: &mut fastrand::Rng) {
    let is_upper = rng.bool();
    let change = |name: &mut Value| {
        let text = name.as_str().unwrap();
        *name = if is_upper { text.to_uppercase() } else { text.to_lowercase() }.into();
    };
    for layer in layers(case).iter_mut().filter(|layer| layer["__identifier"] != "_Mine") {
        change(&mut layer["__identifier"]);
        for entity in layer["entityInstances"].as_array_mut().into_iter().flatten() {
            change(&mut entity["__identifier"]);
            entity["fieldInstances"]
                .as_array_mut()
                .into_iter()
                .flatten()
                .for_each(|field| change(&mut field["__identifier"]));
        }
    }
}

fn second_layer(case: &mut Case, rng: &mut fastrand::Rng) {
    let id = case.id();
    let layer = definition(case, 3);
    let offset = ["X", "Y"].map(|axis| layer[format!("__pxTotalOffset{axis}")].clone());
    let entities = layer["entityInstances"].as_array_mut().unwrap();
    let second = entities.split_off(rng.usize(..entities.len()));
    let [x, y] = offset;
    layers(case).push(json!({
        "__identifier": format!("More{id}"), "__type": "Entities", "layerDefUid": 1000 + id, "entityInstances": second,
        "__pxTotalOffsetX": x, "__pxTotalOffsetY": y,
    }));
}

/// Another pivot of a kind of entity: LDtk keeps it where it is.
fn pivot(case: &mut Case, rng: &mut fastrand::Rng) {
    let uid = 100 + rng.u32(..9);
    let to = [[0.5, 0.5], [0.5, 1.0], [1.0, 1.0], [0.0, 0.0]][rng.usize(..4)];
    for entity in entities(case).filter(|entity| entity["defUid"] == uid) {
        for (axis, side) in ["width", "height"].iter().enumerate() {
            let by = (to[axis] - entity["__pivot"][axis].as_f64().unwrap()) * entity[side].as_f64().unwrap();
            entity["px"][axis] = (entity["px"][axis].as_f64().unwrap() + by).into();
        }
        entity["__pivot"] = json!(to);
    }
}

/// Moves the layer of entities, and its entities back.
fn offset(case: &mut Case, rng: &mut fastrand::Rng) {
    let by = [f64::from(rng.i32(-40..40)), f64::from(rng.i32(-40..40))];
    let layer = definition(case, 3);
    for (axis, by) in ["X", "Y"].iter().zip(by) {
        let total = &mut layer[format!("__pxTotalOffset{axis}")];
        *total = (total.as_f64().unwrap() + by).into();
    }
    layer["entityInstances"].as_array_mut().unwrap().iter_mut().for_each(|entity| move_by(entity, -by[0], -by[1]));
}

fn external_level(case: &mut Case, _: &mut fastrand::Rng) {
    let level = level(case);
    let saved = level.to_string().into_bytes();
    (level["layerInstances"], level["externalRelPath"]) = (Value::Null, "map/Floor.ldtkl".into());
    case.files.insert("map/Floor.ldtkl".to_owned(), saved);
}

fn own(case: &mut Case, _: &mut fastrand::Rng) {
    let entity = json!({"__identifier": "Lever", "iid": "x", "defUid": 1002, "px": [-9, 0], "width": 9, "height": 9});
    let mine = json!({"__identifier": "_Mine", "__type": "Entities", "layerDefUid": 1001, "entityInstances": [entity]});
    layers(case).push(mine.clone());
    let field = json!({"__identifier": "_fog", "__value": 3, "defUid": 1003, "realEditorValues": [{"id": "V_Int"}]});
    first_of(case, "room")["fieldInstances"].as_array_mut().unwrap().push(field);
    case.map["levels"].as_array_mut().unwrap().push(json!({"identifier": "_Mine", "layerInstances": [mine]}));
}

fn paint(case: &mut Case, rng: &mut fastrand::Rng) {
    let index = case.paint(rng);
    definition(case, 6)["intGridCsv"][index] = (v1::Terrain::Pillar as u32).into();
}

fn world(case: &mut Case, _: &mut fastrand::Rng) {
    inside(case);
    let levels = case.map["levels"].take();
    (case.map["levels"], case.map["worlds"]) = (json!([]), json!([{"levels": levels}]));
}
