//! The level of a project: the instances of layers, entities and fields.

use floor_proto::{
    floor::Floor,
    v1::{Point, Room},
};
use serde_json::{Value, json};

use super::{
    REGION_OPACITY,
    definitions::{Entity, EntityKind, FieldType, LEVEL_FIELDS, rectangle, uid},
};
use crate::{
    ROOMS, cells_name,
    names::{self, hash},
    picture::tiles::{SIDE, Tile},
};

/// The ids of instances, which follow from the floor, so that one floor always gives the same file.
pub(super) struct Ids {
    hash: u64,
    next: u32,
}

impl Ids {
    pub(super) fn new(floor: &Floor) -> Self {
        Self { hash: floor.content_hash(), next: 0 }
    }

    pub(super) fn next(&mut self) -> String {
        self.next += 1;
        let Self { hash, next } = *self;
        format!("{:08x}-{:04x}-{:04x}-8000-{next:012x}", hash >> 32, hash >> 16 & 0xffff, hash & 0xffff)
    }
}

/// The level, with the values of its fields and its layers.
pub(super) fn value(floor: &Floor, rock: &str, ids: &mut Ids) -> Value {
    let metrics = floor.wire().metrics.unwrap_or_default();
    let [name, hook] = [&floor.wire().name, &floor.wire().hook].map(|text| names::text(text.as_ref()));
    let [[name, name_id, name_parts], [hook, hook_id, hook_parts]] = [name, hook];
    let fields: [Value; LEVEL_FIELDS.len()] = [
        floor.spec().seed.to_string().into(),
        floor.spec().number.into(),
        names::kind_of(floor.spec()).into(),
        floor.theme().into(),
        floor.spec().pack.as_str().into(),
        floor.wire().generator_version.into(),
        hash(floor.content_hash()).into(),
        metrics.critical_path.into(),
        metrics.passable_cells.into(),
        metrics.loops.into(),
        metrics.difficulty.into(),
        name.into(),
        name_id.into(),
        name_parts.into(),
        hook.into(),
        hook_id.into(),
        hook_parts.into(),
        floor.wire().landmark.into(),
        floor.spec().view.into(),
    ];
    let region = floor.region().iter().map(|mark| u32::from(*mark)).collect();
    let terrain = floor.terrain().iter().map(|terrain| *terrain as u32).collect();
    let tileset = cells_name(floor);
    let (cells, rooms) = (Some((uid::CELLS, tileset.as_str())), Some((uid::ROOMS, ROOMS)));
    let layers = [
        LayerInstance { entities: entities(floor, ids), ..LayerInstance::new(uid::ENTITIES, "Entities", "Entities") },
        LayerInstance {
            tileset: rooms,
            values: region,
            opacity: REGION_OPACITY,
            ..LayerInstance::new(uid::REGION, "Region", "IntGrid")
        },
        LayerInstance {
            tileset: cells,
            tiles: tile_instances(floor),
            ..LayerInstance::new(uid::TILES, "Tiles", "Tiles")
        },
        LayerInstance { tileset: cells, values: terrain, ..LayerInstance::new(uid::TERRAIN, "Terrain", "IntGrid") },
    ];
    json!({
        "identifier": format!("Floor_{}", floor.spec().number),
        "iid": ids.next(),
        "uid": uid::LEVEL,
        "worldX": 0,
        "worldY": 0,
        "worldDepth": 0,
        "pxWid": floor.width() * SIDE,
        "pxHei": floor.height() * SIDE,
        "__bgColor": rock,
        "bgColor": null,
        "useAutoIdentifier": false,
        "bgRelPath": null,
        "bgPos": null,
        "bgPivotX": 0.5,
        "bgPivotY": 0.5,
        "__smartColor": "#5C5B60",
        "__bgPos": null,
        "externalRelPath": null,
        "fieldInstances": field_instances(&LEVEL_FIELDS, uid::FIRST_LEVEL_FIELD, &fields),
        "__neighbours": [],
        "layerInstances": layers.map(|layer| layer.value(floor, ids)),
    })
}

/// What distinguishes a layer of the level.
struct LayerInstance<'a> {
    uid: u32,
    name: &'static str,
    kind: &'static str,
    opacity: f64,
    tileset: Option<(u32, &'a str)>,
    values: Vec<u32>,
    tiles: Vec<Value>,
    entities: Vec<Value>,
}

impl LayerInstance<'_> {
    const fn new(uid: u32, name: &'static str, kind: &'static str) -> Self {
        Self {
            uid,
            name,
            kind,
            opacity: 1.0,
            tileset: None,
            values: Vec::new(),
            tiles: Vec::new(),
            entities: Vec::new(),
        }
    }

    fn value(self, floor: &Floor, ids: &mut Ids) -> Value {
        json!({
            "__identifier": self.name,
            "__type": self.kind,
            "__cWid": floor.width(),
            "__cHei": floor.height(),
            "__gridSize": SIDE,
            "__opacity": self.opacity,
            "__pxTotalOffsetX": 0,
            "__pxTotalOffsetY": 0,
            "__tilesetDefUid": self.tileset.map(|(uid, _)| uid),
            "__tilesetRelPath": self.tileset.map(|(_, name)| format!("{name}.png")),
            "iid": ids.next(),
            "levelId": uid::LEVEL,
            "layerDefUid": self.uid,
            "pxOffsetX": 0,
            "pxOffsetY": 0,
            "visible": true,
            "optionalRules": [],
            "intGridCsv": self.values,
            "autoLayerTiles": [],
            "seed": 0,
            "overrideTilesetUid": null,
            "gridTiles": self.tiles,
            "entityInstances": self.entities,
        })
    }
}

fn tile_instances(floor: &Floor) -> Vec<Value> {
    let instance = |index: u32| {
        let (x, y) = (index % floor.width(), index / floor.width());
        let tile = Tile::of(floor, x, y)?;
        let (source_x, source_y) = tile.corner();
        Some(json!({
            "px": [x * SIDE, y * SIDE],
            "src": [source_x, source_y],
            "f": 0,
            "t": tile.index(),
            "d": [index],
            "a": 1,
        }))
    };
    (0..floor.width() * floor.height()).filter_map(instance).collect()
}

fn entities(floor: &Floor, ids: &mut Ids) -> Vec<Value> {
    let wire = floor.wire();
    let mut entities =
        vec![entity(Entity::Entry, Some(floor.entry()), &[], ids), entity(Entity::Exit, Some(floor.exit()), &[], ids)];
    entities.extend(wire.rooms.iter().map(|room| room_entity(room, ids)));
    let center = |id: u32| wire.rooms.iter().find(|room| room.id == id).and_then(|room| room.center);
    entities.extend(wire.connections.iter().map(|connection| {
        let fields: [Value; 5] = [
            connection.from_room.into(),
            connection.to_room.into(),
            connection.lock_id.into(),
            connection.secret.into(),
            point(center(connection.to_room)),
        ];
        entity(Entity::Connection, center(connection.from_room), &fields, ids)
    }));
    entities.extend(wire.locks.iter().map(|lock| {
        let mut entity = entity(Entity::Lock, lock.at, &[lock.id.into()], ids);
        entity["__tile"] = rectangle(uid::CELLS, Tile::Locked(lock.id).corner());
        entity
    }));
    entities.extend(
        wire.traps
            .iter()
            .map(|trap| entity(Entity::Trap, trap.at, &[trap.archetype.as_str().into(), trap.level.into()], ids)),
    );
    entities.extend(wire.items.iter().map(|item| {
        let fields: [Value; 3] = [item.archetype.as_str().into(), item.value.into(), item.opens_lock.into()];
        let mut entity = entity(Entity::Item, item.at, &fields, ids);
        if item.opens_lock != 0 {
            entity["__tile"] = rectangle(uid::CELLS, Tile::Key(item.opens_lock).corner());
        }
        entity
    }));
    entities.extend(wire.spawns.iter().map(|spawn| {
        let behaviour = names::behaviour_of(spawn);
        let fields: [Value; 4] =
            [spawn.archetype.as_str().into(), spawn.level.into(), behaviour.into(), spawn.group.into()];
        entity(Entity::Spawn, spawn.at, &fields, ids)
    }));
    entities.push(entity(Entity::Landing, Some(floor.landing()), &[], ids));
    let furniture = floor.furniture();
    entities.extend(furniture.map(|piece| entity(Entity::Furniture, Some(piece.at), &[piece.archetype.into()], ids)));
    entities
}

fn room_entity(room: &Room, ids: &mut Ids) -> Value {
    let (min, max) = (room.min.unwrap_or_default(), room.max.unwrap_or_default());
    let [name, name_id, name_parts] = names::text(room.name.as_ref());
    let fields: [Value; 6] = [
        room.id.into(),
        names::role_of(room).into(),
        point(room.center),
        name.into(),
        name_id.into(),
        name_parts.into(),
    ];
    let mut entity = entity(Entity::Room, Some(min), &fields, ids);
    entity["width"] = ((max.x.saturating_sub(min.x) + 1) * SIDE).into();
    entity["height"] = ((max.y.saturating_sub(min.y) + 1) * SIDE).into();
    entity
}

fn point(at: Option<Point>) -> Value {
    let Point { x, y } = at.unwrap_or_default();
    json!({"cx": x, "cy": y})
}

fn entity(entity: Entity, at: Option<Point>, values: &[Value], ids: &mut Ids) -> Value {
    let EntityKind { name, tile, colour, fields } = entity.kind();
    let Point { x, y } = at.unwrap_or_default();
    json!({
        "__identifier": name,
        "__grid": [x, y],
        "__pivot": [0, 0],
        "__tags": [],
        "__tile": tile.map(|tile| rectangle(uid::CELLS, tile.corner())),
        "__smartColor": colour,
        "iid": ids.next(),
        "width": SIDE,
        "height": SIDE,
        "defUid": entity.uid(),
        "px": [x * SIDE, y * SIDE],
        "fieldInstances": field_instances(fields, entity.first_field(), values),
        "__worldX": x * SIDE,
        "__worldY": y * SIDE,
    })
}

fn field_instances(fields: &[(&str, FieldType)], first: u32, values: &[Value]) -> Vec<Value> {
    let instance = |((uid, (name, kind)), value): ((u32, &(&str, FieldType)), &Value)| {
        let stored = match kind {
            FieldType::Int => json!({"id": "V_Int", "params": [value]}),
            FieldType::String => json!({"id": "V_String", "params": [value]}),
            FieldType::Bool => json!({"id": "V_Bool", "params": [value]}),
            FieldType::Point => json!({"id": "V_String", "params": [format!("{},{}", value["cx"], value["cy"])]}),
        };
        json!({
            "__identifier": name,
            "__type": format!("{kind:?}"),
            "__value": value,
            "__tile": null,
            "defUid": uid,
            "realEditorValues": [stored],
        })
    };
    (first..).zip(fields).zip(values).map(instance).collect()
}
