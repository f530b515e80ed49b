//! The floor of a map.

use std::collections::BTreeMap;

use floor_proto::{
    grid,
    pack::PackRef,
    v1::{self, Behaviour, FloorKind, FloorMetrics, FloorSpec, Point, RoomRole, Terrain},
};

use super::{Class, Fields, ImportError, Map, Object, Outline, Report, wrong};
use crate::names;

/// The floor, as far as the map holds one. What is wrong goes to the report.
pub(super) fn floor(map: &Map, report: &mut Report) -> v1::Floor {
    let region = region(map);
    let fields = &map.fields;
    let spec = spec(map, report);
    let floor = v1::Floor {
        pack_hash: report.take(pack_hash(&spec)),
        spec: Some(spec),
        generator_version: report.take(fields.number("generator_version")),
        content_hash: report
            .take(fields.text("content_hash").map(|hash| u64::from_str_radix(hash, 16).unwrap_or_default())),
        theme: report.take(fields.text_or_empty("theme")),
        terrain: Some(grid::encode(map.width, map.height, &map.terrain)),
        entry: one(map, Class::Entry, report),
        exit: one(map, Class::Exit, report),
        landing: one(map, Class::Landing, report),
        name: report.take(text(fields, "name")),
        hook: report.take(text(fields, "hook")),
        landmark: report.take(fields.number_or("landmark", Some(0))),
        furniture: furniture(map, report),
        rooms: rooms(map, &region, report),
        region: Some(grid::encode(map.width, map.height, &region)),
        connections: each(map, Class::Connection, report, |object| connection(map, object)),
        spawns: each(map, Class::Spawn, report, spawn),
        items: each(map, Class::Item, report, item),
        locks: each(map, Class::Lock, report, |lock| Ok(v1::Lock { id: lock.fields.number("id")?, at: Some(lock.at) })),
        traps: each(map, Class::Trap, report, trap),
        metrics: Some(FloorMetrics {
            critical_path: report.take(fields.number("critical_path")),
            passable_cells: report.take(fields.number("passable_cells")),
            loops: report.take(fields.number("loops")),
            difficulty: report.take(fields.number("difficulty")),
        }),
    };
    fields.report_left(report);
    floor
}

/// A text with its ids, if there is one. One that a designer wrote has no ids.
fn text(fields: &Fields, name: &str) -> Result<Option<v1::Text>, ImportError> {
    let (text, id) = (fields.text_or_empty(name)?, fields.text_or_empty(&format!("{name}_id"))?);
    let parts = fields.text_or_empty(&format!("{name}_parts"))?;
    let parts = parts.split(',').map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned).collect();
    Ok((!text.is_empty()).then_some(v1::Text { text, id, parts }))
}

/// The furniture by type, in the order in which the map has the first of each.
fn furniture(map: &Map, report: &mut Report) -> Vec<v1::Furniture> {
    let cell = |at: Point| at.y * map.width + at.x;
    let pieces = each(map, Class::Furniture, report, |Object { at, fields, .. }| Ok((archetype(fields)?, cell(*at))));
    let mut types = Vec::<v1::Furniture>::new();
    for (archetype, cell) in pieces {
        match types.iter_mut().find(|known| known.archetype == archetype) {
            Some(known) => known.cells.push(cell),
            None => types.push(v1::Furniture { archetype, cells: vec![cell] }),
        }
    }
    for kind in &mut types {
        kind.cells.sort_unstable();
        let mut before = 0;
        kind.cells.iter_mut().for_each(|cell| *cell -= std::mem::replace(&mut before, *cell));
    }
    types
}

fn spec(map: &Map, report: &mut Report) -> FloorSpec {
    let kinds = (1..).map_while(|number| FloorKind::try_from(number).ok());
    FloorSpec {
        seed: report.take(map.fields.large_number("seed")),
        number: report.take(map.fields.number("number")),
        width: map.width,
        height: map.height,
        kind: report.take(map.fields.named("kind", kinds.map(|kind| (names::kind(kind), kind.into())))),
        pack: report.take(map.fields.text_or_empty("pack")),
        view: report.take(map.fields.number_or("view", Some(0))) as i32,
    }
}

fn pack_hash(spec: &FloorSpec) -> Result<u64, ImportError> {
    PackRef::hash_of(&spec.pack).ok_or_else(|| wrong(format!("`pack` is {}; expected NAME@HASH", spec.pack)))
}

/// The marks of rooms. Walls and doors belong to none.
fn region(map: &Map) -> Vec<u8> {
    let none = [Terrain::Wall, Terrain::Door, Terrain::LockedDoor, Terrain::SecretDoor].map(|terrain| terrain as u8);
    map.terrain.iter().zip(&map.region).map(|(terrain, mark)| if none.contains(terrain) { 0 } else { *mark }).collect()
}

/// Everything of a class, in the order of the map. Each thing that is wrong is reported, also with what it has beside the
/// fields that a floor keeps.
fn each<'a, T>(
    map: &'a Map,
    class: Class,
    report: &mut Report,
    read: impl Fn(&'a Object) -> Result<T, ImportError>,
) -> Vec<T> {
    let mut all = Vec::new();
    for object in map.objects.iter().filter(|object| object.class == class) {
        let thing = read(object).map(Some);
        if thing.is_ok() {
            object.fields.report_left(report);
        }
        all.extend(report.take(thing));
    }
    all
}

/// The cell of what a floor has once.
fn one(map: &Map, class: Class, report: &mut Report) -> Option<Point> {
    let found = each(map, class, report, |object| Ok((object.at, &object.fields.of)));
    if let [(at, _)] = found[..] {
        return Some(at);
    }
    let name = class.name();
    let places = found.iter().map(|(_, of)| format!("; {of}")).collect::<String>();
    report.problem(format!("the map has {} objects of the class `{name}`; expected one{places}", found.len()));
    None
}

/// The rooms, each with the box of its cells.
fn rooms(map: &Map, region: &[u8], report: &mut Report) -> Vec<v1::Room> {
    let mut boxes = BTreeMap::<u32, (Point, Point)>::new();
    for (index, mark) in (0..).zip(region).filter(|(_, mark)| **mark > 0) {
        let at = Point { x: index % map.width, y: index / map.width };
        let (min, max) = boxes.entry(u32::from(*mark) - 1).or_insert((at, at));
        (min.x, max.x, max.y) = (min.x.min(at.x), max.x.max(at.x), at.y);
    }
    let roles = || (0..).map_while(|number| RoomRole::try_from(number).ok());
    let rooms = each(map, Class::Room, report, |room| {
        let id = room.fields.number("id")?;
        let around = boxes.get(&id);
        let (min, max) = *around.ok_or_else(|| wrong(format!("room {id} has no cell in the layer of regions")))?;
        let center = Point { x: room.fields.number("center_x")?, y: room.fields.number("center_y")? };
        let role = room.fields.named("role", roles().map(|role| (names::role(role), role.into())))?;
        Ok((
            v1::Room {
                id,
                min: Some(min),
                max: Some(max),
                role,
                center: Some(center),
                name: text(&room.fields, "name")?,
            },
            room,
        ))
    });
    for (room, Object { outline, fields, .. }) in &rooms {
        let (min, max) = (room.min.unwrap_or_default(), room.max.unwrap_or_default());
        let cells = [(min.x.into(), min.y.into()), (max.x.into(), max.y.into())];
        if matches!(outline, Outline::Area(drawn) if *drawn != cells) {
            report
                .note(format!("{} is drawn elsewhere than its cells: those in the layer of regions count", fields.of));
        }
    }
    rooms.into_iter().map(|(room, _)| room).collect()
}

/// A connection. Its line may say between which rooms it leads, and must not contradict the fields.
fn connection(map: &Map, Object { outline, fields, .. }: &Object) -> Result<v1::Connection, ImportError> {
    let ends = match outline {
        Outline::Line(ends) => ends.map(|end| map.room_at(end?)),
        Outline::Area(_) | Outline::Other => [None; 2],
    };
    let connection = v1::Connection {
        from_room: fields.number_or("from_room", ends[0])?,
        to_room: fields.number_or("to_room", ends[1])?,
        lock_id: fields.number("lock_id")?,
        secret: fields.truth("secret")?,
    };
    let rooms = [connection.from_room, connection.to_room];
    let agrees = |rooms: [u32; 2]| ends.iter().zip(rooms).all(|(end, room)| end.is_none_or(|end| end == room));
    if agrees(rooms) || agrees([rooms[1], rooms[0]]) {
        return Ok(connection);
    }
    let drawn = ends.map(|end| end.map_or_else(|| "no room".to_owned(), |room| format!("room {room}")));
    Err(wrong(format!(
        "{} is a line from {} to {}, and its `from_room` and `to_room` are {} and {}: change one of the two",
        fields.of, drawn[0], drawn[1], rooms[0], rooms[1]
    )))
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
    if fields.has("archetype") {
        fields.text("archetype").map(str::to_owned)
    } else {
        Err(wrong(format!("{} has no name: its archetype, such as goblin", fields.of)))
    }
}
