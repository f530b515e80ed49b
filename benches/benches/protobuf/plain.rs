//! `floors.v1.Floor` as plain Rust types, for serializers that work on Rust types.
#![allow(unsafe_code, reason = "rkyv's derive writes the `unsafe impl`s of its own traits")]

use floor_proto::{grid, v1};

#[derive(Debug, PartialEq, serde::Serialize, serde::Deserialize, rkyv::Archive, rkyv::Serialize, rkyv::Deserialize)]
pub(crate) struct Floor {
    spec: Spec,
    generator_version: u32,
    content_hash: u64,
    pub(crate) terrain: Grid,
    region: Grid,
    entry: Point,
    exit: Point,
    rooms: Vec<Room>,
    connections: Vec<Connection>,
    spawns: Vec<Placed>,
    items: Vec<Item>,
    locks: Vec<Lock>,
    metrics: Metrics,
    traps: Vec<Placed>,
}

#[derive(Debug, PartialEq, serde::Serialize, serde::Deserialize, rkyv::Archive, rkyv::Serialize, rkyv::Deserialize)]
struct Spec {
    seed: u64,
    number: u32,
    width: u32,
    height: u32,
    kind: i32,
}

/// A grid, encoded, or one byte per cell if `encoding` is 0.
#[derive(Debug, PartialEq, serde::Serialize, serde::Deserialize, rkyv::Archive, rkyv::Serialize, rkyv::Deserialize)]
pub(crate) struct Grid {
    width: u32,
    height: u32,
    palette: Vec<u32>,
    encoding: i32,
    bits: u32,
    pub(crate) data: Vec<u8>,
}

#[derive(Debug, PartialEq, serde::Serialize, serde::Deserialize, rkyv::Archive, rkyv::Serialize, rkyv::Deserialize)]
struct Point {
    x: u32,
    y: u32,
}

#[derive(Debug, PartialEq, serde::Serialize, serde::Deserialize, rkyv::Archive, rkyv::Serialize, rkyv::Deserialize)]
struct Room {
    id: u32,
    min: Point,
    max: Point,
    role: i32,
    center: Point,
}

#[derive(Debug, PartialEq, serde::Serialize, serde::Deserialize, rkyv::Archive, rkyv::Serialize, rkyv::Deserialize)]
struct Connection {
    from_room: u32,
    to_room: u32,
    lock_id: u32,
    secret: bool,
}

/// A monster or a trap.
#[derive(Debug, PartialEq, serde::Serialize, serde::Deserialize, rkyv::Archive, rkyv::Serialize, rkyv::Deserialize)]
struct Placed {
    at: Point,
    archetype: String,
    level: u32,
}

#[derive(Debug, PartialEq, serde::Serialize, serde::Deserialize, rkyv::Archive, rkyv::Serialize, rkyv::Deserialize)]
struct Item {
    at: Point,
    archetype: String,
    value: u32,
    opens_lock: u32,
}

#[derive(Debug, PartialEq, serde::Serialize, serde::Deserialize, rkyv::Archive, rkyv::Serialize, rkyv::Deserialize)]
struct Lock {
    id: u32,
    at: Point,
}

#[derive(Debug, PartialEq, serde::Serialize, serde::Deserialize, rkyv::Archive, rkyv::Serialize, rkyv::Deserialize)]
struct Metrics {
    critical_path: u32,
    passable_cells: u32,
    loops: u32,
    difficulty: u32,
}

impl Floor {
    /// The fields of `message`, with its encoded grids.
    pub(crate) fn of(message: &v1::Floor) -> Self {
        let (spec, metrics) = (message.spec.unwrap_or_default(), message.metrics.unwrap_or_default());
        let placed = |at, archetype: &String, level| Placed { at: point(at), archetype: archetype.clone(), level };
        Self {
            spec: Spec {
                seed: spec.seed,
                number: spec.number,
                width: spec.width,
                height: spec.height,
                kind: spec.kind,
            },
            generator_version: message.generator_version,
            content_hash: message.content_hash,
            terrain: encoded(message.terrain.as_ref()),
            region: encoded(message.region.as_ref()),
            entry: point(message.entry),
            exit: point(message.exit),
            rooms: message
                .rooms
                .iter()
                .map(|room| Room {
                    id: room.id,
                    min: point(room.min),
                    max: point(room.max),
                    role: room.role,
                    center: point(room.center),
                })
                .collect(),
            connections: message
                .connections
                .iter()
                .map(|connection| Connection {
                    from_room: connection.from_room,
                    to_room: connection.to_room,
                    lock_id: connection.lock_id,
                    secret: connection.secret,
                })
                .collect(),
            spawns: message.spawns.iter().map(|spawn| placed(spawn.at, &spawn.archetype, spawn.level)).collect(),
            items: message
                .items
                .iter()
                .map(|item| Item {
                    at: point(item.at),
                    archetype: item.archetype.clone(),
                    value: item.value,
                    opens_lock: item.opens_lock,
                })
                .collect(),
            locks: message.locks.iter().map(|lock| Lock { id: lock.id, at: point(lock.at) }).collect(),
            metrics: Metrics {
                critical_path: metrics.critical_path,
                passable_cells: metrics.passable_cells,
                loops: metrics.loops,
                difficulty: metrics.difficulty,
            },
            traps: message.traps.iter().map(|trap| placed(trap.at, &trap.archetype, trap.level)).collect(),
        }
    }

    /// The fields of `message`, with one byte per cell in its grids, as without a grid codec.
    pub(crate) fn with_cells(message: &v1::Floor) -> Self {
        let (terrain, region) = (cells(message.terrain.as_ref()), cells(message.region.as_ref()));
        Self { terrain, region, ..Self::of(message) }
    }
}

fn point(point: Option<v1::Point>) -> Point {
    let point = point.unwrap_or_default();
    Point { x: point.x, y: point.y }
}

fn encoded(grid: Option<&v1::Grid>) -> Grid {
    let grid = grid.expect("a floor has its grids");
    Grid {
        width: grid.width,
        height: grid.height,
        palette: grid.palette.clone(),
        encoding: grid.encoding,
        bits: grid.bits,
        data: grid.data.to_vec(),
    }
}

fn cells(grid: Option<&v1::Grid>) -> Grid {
    let grid = grid.expect("a floor has its grids");
    Grid {
        width: grid.width,
        height: grid.height,
        palette: Vec::new(),
        encoding: 0,
        bits: 0,
        data: grid::decode(grid).expect("our own grid"),
    }
}
