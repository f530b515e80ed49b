//! Encodes a generated floor as a gRPC frame with a `floors.v1.Floor`. The server's workers call [`framed`] once for each
//! floor; floorctl and the benches use the same conversion. [`decode`] goes the other way.
#![forbid(unsafe_code)]

pub mod decode;
pub mod view;

use bytes::Bytes;
use floor_gen::{Floor, FloorSpec, Kind, Point, View};
use floor_proto::{FRAME_PREFIX_BYTES, grid, hash, limits, v1};

/// Generator and wire do not know each other, so each states the limits.
const _: () = {
    assert!(FloorSpec::MAX_NUMBER == limits::MAX_FLOOR);
    assert!(FloorSpec::MIN_SIDE as u32 == limits::MIN_SIDE && FloorSpec::MAX_SIDE as u32 == limits::MAX_SIDE);
    assert!(FloorSpec::DEFAULT_SIDE as u32 == limits::DEFAULT_SIDE);
};

/// Encodes `floor` with its content hash, after the 5-byte gRPC frame prefix. The tiers store these bytes, and the
/// transport sends them unchanged.
#[must_use]
pub fn framed(floor: &Floor<'_>) -> Bytes {
    framed_message(&message(floor))
}

/// The same for a floor that is a message.
#[must_use]
pub fn framed_message(message: &v1::Floor) -> Bytes {
    let mut bytes = hash::encode_hashed(message, FRAME_PREFIX_BYTES);
    let length = u32::try_from(bytes.len() - FRAME_PREFIX_BYTES).expect("a floor is far smaller than 4 GiB");
    bytes[1..FRAME_PREFIX_BYTES].copy_from_slice(&length.to_be_bytes());
    Bytes::from(bytes)
}

/// The encoded `floors.v1.Floor` in a value of [`framed`].
///
/// # Panics
/// If `framed` is shorter than a frame prefix. No value of [`framed`] is.
#[must_use]
pub fn unframed(framed: &Bytes) -> Bytes {
    framed.slice(FRAME_PREFIX_BYTES..)
}

/// The floor as a message. Its content hash is 0.
#[must_use]
pub fn message(floor: &Floor<'_>) -> v1::Floor {
    let width = u32::from(floor.spec.width());
    let height = u32::from(floor.spec.height());
    let terrain: Vec<u8> = floor.terrain.iter().map(|terrain| *terrain as u8).collect();
    v1::Floor {
        spec: Some(spec(&floor.spec)),
        generator_version: floor_gen::GENERATOR_VERSION,
        content_hash: 0,
        terrain: Some(grid::encode(width, height, &terrain)),
        region: Some(grid::encode(width, height, &floor.region)),
        entry: point(floor.entry),
        exit: point(floor.exit),
        rooms: rooms(floor),
        connections: floor.connections.iter().map(connection).collect(),
        spawns: floor.spawns.iter().map(spawn).collect(),
        items: floor.items.iter().map(item).collect(),
        locks: floor.locks.iter().map(lock).collect(),
        metrics: Some(v1::FloorMetrics {
            critical_path: floor.metrics.critical_path,
            passable_cells: floor.metrics.passable_cells,
            loops: floor.metrics.loops,
            difficulty: floor.metrics.difficulty,
        }),
        traps: floor.traps.iter().map(trap).collect(),
        theme: floor.theme.to_owned(),
        pack_hash: 0,
        landing: point(floor.landing),
        name: text(&floor.names.floor),
        hook: text(&floor.names.hook),
        landmark: floor.landmark.map_or(0, |room| u32::from(room) + 1),
        furniture: furniture(floor),
    }
}

/// A resolved spec as a message. Its pack is left out, since its name is not known.
#[must_use]
pub fn spec(spec: &FloorSpec) -> v1::FloorSpec {
    v1::FloorSpec {
        seed: spec.seed(),
        number: spec.number(),
        width: spec.width().into(),
        height: spec.height().into(),
        kind: kind(spec.kind()).into(),
        pack: String::new(),
        view: view(spec.view()).into(),
    }
}

/// The protocol's value of a kind.
#[must_use]
pub fn kind(kind: Kind) -> v1::FloorKind {
    v1::FloorKind::try_from(kind as i32).expect("kinds have the wire's numbers")
}

/// The protocol's value of a view.
#[must_use]
pub const fn view(view: View) -> v1::View {
    match view {
        View::Everything => v1::View::Unspecified,
        View::Player => v1::View::Player,
    }
}

fn rooms(floor: &Floor<'_>) -> Vec<v1::Room> {
    let mut rooms: Vec<_> = floor.rooms.iter().map(room).collect();
    for (id, name) in &floor.names.rooms {
        rooms[usize::from(*id)].name = text(name);
    }
    rooms
}

fn text(of: &floor_gen::Text<'_>) -> Option<v1::Text> {
    (!of.text.is_empty()).then(|| v1::Text {
        text: of.text.clone(),
        id: of.id.to_owned(),
        parts: of.parts.iter().map(|&part| part.to_owned()).collect(),
    })
}

/// An entry for each type, with the differences of its cells.
fn furniture(floor: &Floor<'_>) -> Vec<v1::Furniture> {
    let width = u32::from(floor.spec.width());
    let of_one_type = floor.furniture.chunk_by(|piece, next| piece.archetype == next.archetype);
    let entry = |pieces: &[floor_gen::Furniture<&str>]| {
        let mut before = 0;
        let cells = pieces.iter().map(|piece| {
            let cell = u32::from(piece.at.y) * width + u32::from(piece.at.x);
            cell - core::mem::replace(&mut before, cell)
        });
        v1::Furniture { archetype: pieces[0].archetype.to_owned(), cells: cells.collect() }
    };
    of_one_type.map(entry).collect()
}

fn room(room: &floor_gen::Room) -> v1::Room {
    v1::Room {
        id: room.id.into(),
        min: point(room.min),
        max: point(room.max),
        role: room.role as i32,
        center: point(room.center),
        name: None,
    }
}

fn connection(connection: &floor_gen::Connection) -> v1::Connection {
    v1::Connection {
        from_room: connection.from_room.into(),
        to_room: connection.to_room.into(),
        lock_id: connection.lock_id.into(),
        secret: connection.secret,
    }
}

fn spawn(spawn: &floor_gen::Spawn<&str>) -> v1::Spawn {
    v1::Spawn {
        at: point(spawn.at),
        archetype: spawn.archetype.into(),
        level: spawn.level.into(),
        behaviour: spawn.behaviour as i32,
        group: spawn.group.into(),
    }
}

fn item(item: &floor_gen::Item<&str>) -> v1::Item {
    v1::Item {
        at: point(item.at),
        archetype: item.archetype.into(),
        value: item.value,
        opens_lock: item.opens_lock.into(),
    }
}

fn lock(lock: &floor_gen::Lock) -> v1::Lock {
    v1::Lock { id: lock.id.into(), at: point(lock.at) }
}

fn trap(trap: &floor_gen::Trap<&str>) -> v1::Trap {
    v1::Trap { at: point(trap.at), archetype: trap.archetype.into(), level: trap.level.into() }
}

#[allow(clippy::unnecessary_wraps, reason = "every message field that holds a point is an Option")]
fn point(at: Point) -> Option<v1::Point> {
    Some(v1::Point { x: at.x.into(), y: at.y.into() })
}

/// Compiles the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
