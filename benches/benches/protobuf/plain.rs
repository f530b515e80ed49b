//! `floors.v1.Floor` as plain Rust types, for serializers that work on Rust types.
#![allow(unsafe_code, reason = "rkyv's derive writes the `unsafe impl`s of its own traits")]

use floor_proto::{grid, v1};

/// Column and row.
type Point = (u32, u32);

/// A monster or a trap: its place, archetype and level.
type Placed = (Point, String, u32);

/// Messages within it are tuples of their fields.
#[derive(Debug, PartialEq, serde::Serialize, serde::Deserialize, rkyv::Archive, rkyv::Serialize, rkyv::Deserialize)]
pub(crate) struct Floor {
    spec: (u64, u32, u32, u32, i32),
    generator_version: u32,
    content_hash: u64,
    pub(crate) terrain: Grid,
    region: Grid,
    entry: Point,
    exit: Point,
    rooms: Vec<(u32, Point, Point, i32, Point)>,
    connections: Vec<(u32, u32, u32, bool)>,
    spawns: Vec<Placed>,
    items: Vec<(Point, String, u32, u32)>,
    locks: Vec<(u32, Point)>,
    metrics: (u32, u32, u32, u32),
    traps: Vec<Placed>,
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

impl Floor {
    /// The fields of `message`, with its encoded grids.
    pub(crate) fn of(message: &v1::Floor) -> Self {
        let (spec, metrics) = (message.spec.unwrap_or_default(), message.metrics.unwrap_or_default());
        let rooms = message.rooms.iter();
        let connections = message.connections.iter();
        let items = message.items.iter();
        Self {
            spec: (spec.seed, spec.number, spec.width, spec.height, spec.kind),
            generator_version: message.generator_version,
            content_hash: message.content_hash,
            terrain: encoded(message.terrain.as_ref()),
            region: encoded(message.region.as_ref()),
            entry: point(message.entry),
            exit: point(message.exit),
            rooms: rooms.map(|it| (it.id, point(it.min), point(it.max), it.role, point(it.center))).collect(),
            connections: connections.map(|it| (it.from_room, it.to_room, it.lock_id, it.secret)).collect(),
            spawns: message.spawns.iter().map(|it| (point(it.at), it.archetype.clone(), it.level)).collect(),
            items: items.map(|it| (point(it.at), it.archetype.clone(), it.value, it.opens_lock)).collect(),
            locks: message.locks.iter().map(|it| (it.id, point(it.at))).collect(),
            metrics: (metrics.critical_path, metrics.passable_cells, metrics.loops, metrics.difficulty),
            traps: message.traps.iter().map(|it| (point(it.at), it.archetype.clone(), it.level)).collect(),
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
    (point.x, point.y)
}

fn encoded(grid: Option<&v1::Grid>) -> Grid {
    let v1::Grid { width, height, palette, encoding, bits, data } = grid.expect("a floor has its grids").clone();
    Grid { width, height, palette, encoding, bits, data: data.to_vec() }
}

fn cells(grid: Option<&v1::Grid>) -> Grid {
    let grid = grid.expect("a floor has its grids");
    let data = grid::decode(grid).expect("our own grid");
    Grid { width: grid.width, height: grid.height, palette: Vec::new(), encoding: 0, bits: 0, data }
}
