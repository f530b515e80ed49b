//! The floor of a map.

use std::collections::BTreeMap;

use floor_proto::{
    grid,
    pack::PackRef,
    v1::{self, Behaviour, FloorKind, FloorMetrics, FloorSpec, Point, RoomRole, Terrain},
};

use super::{Fields, ImportError, Map, Object, wrong};
use crate::names;

pub(super) fn floor(map: Map) -> Result<v1::Floor, ImportError> {
    let region = region(&map);
    let fields = &map.fields;
    let spec = spec(&map)?;
    Ok(v1::Floor {
        pack_hash: PackRef::hash_of(&spec.pack)
            .ok_or_else(|| wrong(format!("`pack` is {}; expected NAME@HASH", spec.pack)))?,
        spec: Some(spec),
        generator_version: fields.number("generator_version")?,
        content_hash: u64::from_str_radix(fields.text("content_hash")?, 16).unwrap_or_default(),
        theme: fields.text_or_empty("theme")?,
        terrain: Some(grid::encode(map.width, map.height, &map.terrain)),
        entry: one(&map, "entry")?,
        exit: one(&map, "exit")?,
        landing: one(&map, "landing")?,
        rooms: rooms(&map, &region)?,
        region: Some(grid::encode(map.width, map.height, &region)),
        connections: each(&map, "connection", connection)?,
        spawns: each(&map, "spawn", spawn)?,
        items: each(&map, "item", item)?,
        locks: each(&map, "lock", |lock| Ok(v1::Lock { id: lock.fields.number("id")?, at: Some(lock.at) }))?,
        traps: each(&map, "trap", trap)?,
        metrics: Some(FloorMetrics {
            critical_path: fields.number("critical_path")?,
            passable_cells: fields.number("passable_cells")?,
            loops: fields.number("loops")?,
            difficulty: fields.number("difficulty")?,
        }),
    })
}

fn spec(map: &Map) -> Result<FloorSpec, ImportError> {
    let kinds = (1..).map_while(|number| FloorKind::try_from(number).ok());
    Ok(FloorSpec {
        seed: map.fields.large_number("seed")?,
        number: map.fields.number("number")?,
        width: map.width,
        height: map.height,
        kind: map.fields.named("kind", kinds.map(|kind| (names::kind(kind), kind.into())))?,
        pack: map.fields.text_or_empty("pack")?,
    })
}

/// The marks of rooms. Walls and doors belong to none.
fn region(map: &Map) -> Vec<u8> {
    let none = [Terrain::Wall, Terrain::Door, Terrain::LockedDoor, Terrain::SecretDoor].map(|terrain| terrain as u8);
    map.terrain.iter().zip(&map.region).map(|(terrain, mark)| if none.contains(terrain) { 0 } else { *mark }).collect()
}

/// Everything of a class, in the order of the map.
fn each<T>(map: &Map, class: &str, read: impl Fn(&Object) -> Result<T, ImportError>) -> Result<Vec<T>, ImportError> {
    map.objects.iter().filter(|object| object.class == class).map(read).collect()
}

/// The cell of what a floor has once.
fn one(map: &Map, class: &str) -> Result<Option<Point>, ImportError> {
    match each(map, class, |object| Ok(object.at))?[..] {
        [at] => Ok(Some(at)),
        ref found => Err(wrong(format!("the map has {} objects of the class `{class}`; expected one", found.len()))),
    }
}

/// The rooms, each with the box of its cells.
fn rooms(map: &Map, region: &[u8]) -> Result<Vec<v1::Room>, ImportError> {
    let mut boxes = BTreeMap::<u32, (Point, Point)>::new();
    for (index, mark) in (0..).zip(region).filter(|(_, mark)| **mark > 0) {
        let at = Point { x: index % map.width, y: index / map.width };
        let (min, max) = boxes.entry(u32::from(*mark) - 1).or_insert((at, at));
        (min.x, max.x, max.y) = (min.x.min(at.x), max.x.max(at.x), at.y);
    }
    let roles = || (1..).map_while(|number| RoomRole::try_from(number).ok());
    each(map, "room", |room| {
        let id = room.fields.number("id")?;
        let around = boxes.get(&id);
        let (min, max) = *around.ok_or_else(|| wrong(format!("room {id} has no cell in the layer of regions")))?;
        let center = Point { x: room.fields.number("center_x")?, y: room.fields.number("center_y")? };
        let role = room.fields.named("role", roles().map(|role| (names::role(role), role.into())))?;
        Ok(v1::Room { id, min: Some(min), max: Some(max), role, center: Some(center) })
    })
}

fn connection(Object { fields, .. }: &Object) -> Result<v1::Connection, ImportError> {
    Ok(v1::Connection {
        from_room: fields.number("from_room")?,
        to_room: fields.number("to_room")?,
        lock_id: fields.number("lock_id")?,
        secret: fields.truth("secret")?,
    })
}

fn spawn(Object { at, fields, .. }: &Object) -> Result<v1::Spawn, ImportError> {
    let behaviours = (1..).map_while(|number| Behaviour::try_from(number).ok());
    let behaviours = behaviours.map(|behaviour| (names::behaviour(behaviour), behaviour.into()));
    Ok(v1::Spawn {
        at: Some(*at),
        archetype: archetype(fields)?,
        level: fields.number("level")?,
        behaviour: fields.named("behaviour", behaviours)?,
        group: fields.number("group")?,
    })
}

fn item(Object { at, fields, .. }: &Object) -> Result<v1::Item, ImportError> {
    let (value, opens_lock) = (fields.number("value")?, fields.number("opens_lock")?);
    Ok(v1::Item { at: Some(*at), archetype: archetype(fields)?, value, opens_lock })
}

fn trap(Object { at, fields, .. }: &Object) -> Result<v1::Trap, ImportError> {
    Ok(v1::Trap { at: Some(*at), archetype: archetype(fields)?, level: fields.number("level")? })
}

fn archetype(fields: &Fields) -> Result<String, ImportError> {
    let name = fields.text("archetype")?;
    if name.is_empty() {
        Err(wrong(format!("{} has no name: its archetype, such as goblin", fields.of)))
    } else {
        Ok(name.to_owned())
    }
}
