//! The JSON format of floors and of response metadata. `floorctl get --help` documents it, and scripts depend on it.
//!
//! 64-bit numbers are strings, as in protobuf's JSON mapping, since many JSON readers would round them.

use std::{collections::BTreeMap, time::Duration};

use floor_client::{
    Floor, Served,
    v1::{self, Grid, GridEncoding, Point},
};
use serde::{Serialize, Serializer, ser::SerializeMap as _};

use crate::{names, picture::glyph};

/// One floor.
#[derive(Debug, Serialize)]
pub(crate) struct FloorJson<'a> {
    spec: SpecJson,
    generator_version: u32,
    content_hash: String,
    encoded_bytes: usize,
    legend: BTreeMap<char, String>,
    terrain: Vec<String>,
    region: Vec<String>,
    grids: GridsJson,
    entry: PointJson,
    exit: PointJson,
    rooms: Vec<RoomJson>,
    connections: Vec<ConnectionJson>,
    spawns: Vec<SpawnJson<'a>>,
    items: Vec<ItemJson<'a>>,
    locks: Vec<LockJson>,
    traps: Vec<SpawnJson<'a>>,
    metrics: Option<MetricsJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    served: Option<ServedJson<'a>>,
}

impl<'a> FloorJson<'a> {
    pub(crate) fn new(floor: &'a Floor, served: Option<&'a Served>) -> Self {
        let wire = floor.wire();
        let width = floor.width() as usize;
        Self {
            spec: SpecJson {
                seed: floor.spec().seed.to_string(),
                number: floor.spec().number,
                width: floor.width(),
                height: floor.height(),
                kind: names::kind_of(floor.spec()),
            },
            generator_version: wire.generator_version,
            content_hash: hash(floor.content_hash()),
            encoded_bytes: floor.encoded_len(),
            legend: floor.terrain().iter().map(|terrain| (glyph::of(*terrain), names::terrain(*terrain))).collect(),
            terrain: floor.terrain().chunks(width).map(|row| row.iter().copied().map(glyph::of).collect()).collect(),
            region: floor
                .region()
                .chunks(width)
                .map(|row| row.iter().map(|id| format!("{id:02x}")).collect())
                .collect(),
            grids: GridsJson {
                terrain: wire.terrain.as_ref().map(GridJson::new),
                region: wire.region.as_ref().map(GridJson::new),
            },
            entry: PointJson::new(floor.entry()),
            exit: PointJson::new(floor.exit()),
            rooms: wire.rooms.iter().map(RoomJson::new).collect(),
            connections: wire.connections.iter().map(ConnectionJson::new).collect(),
            spawns: wire.spawns.iter().map(|s| SpawnJson::new(s.at, &s.archetype, s.level)).collect(),
            items: wire.items.iter().map(ItemJson::new).collect(),
            locks: wire.locks.iter().map(|lock| LockJson { id: lock.id, at: point(lock.at) }).collect(),
            traps: wire.traps.iter().map(|t| SpawnJson::new(t.at, &t.archetype, t.level)).collect(),
            metrics: wire.metrics.as_ref().map(MetricsJson::new),
            served: served.map(ServedJson::new),
        }
    }
}

/// A content hash in text: 16 hexadecimal digits.
pub(crate) fn hash(content_hash: u64) -> String {
    format!("{content_hash:016x}")
}

#[derive(Debug, Serialize)]
struct SpecJson {
    seed: String,
    number: u32,
    width: u32,
    height: u32,
    kind: String,
}

#[derive(Debug, Serialize)]
struct GridsJson {
    terrain: Option<GridJson>,
    region: Option<GridJson>,
}

/// How a grid was encoded.
#[derive(Debug, Serialize)]
struct GridJson {
    encoding: String,
    bits: u32,
    palette: Vec<u32>,
    data_bytes: usize,
}

impl GridJson {
    fn new(grid: &Grid) -> Self {
        let encoding = GridEncoding::try_from(grid.encoding).unwrap_or(GridEncoding::Unspecified);
        Self {
            encoding: names::encoding(encoding),
            bits: grid.bits,
            palette: grid.palette.clone(),
            data_bytes: grid.data.len(),
        }
    }
}

/// A cell: x to the right, y down, from 0.
#[derive(Debug, Serialize)]
struct PointJson {
    x: u32,
    y: u32,
}

impl PointJson {
    const fn new(at: Point) -> Self {
        Self { x: at.x, y: at.y }
    }
}

/// The point of a checked floor, which is never missing.
fn point(at: Option<Point>) -> PointJson {
    PointJson::new(at.unwrap_or_default())
}

#[derive(Debug, Serialize)]
struct RoomJson {
    id: u32,
    role: String,
    min: PointJson,
    max: PointJson,
    center: PointJson,
}

impl RoomJson {
    fn new(room: &v1::Room) -> Self {
        let role = names::role_of(room);
        Self { id: room.id, role, min: point(room.min), max: point(room.max), center: point(room.center) }
    }
}

#[derive(Debug, Serialize)]
struct ConnectionJson {
    from_room: u32,
    to_room: u32,
    lock_id: u32,
    secret: bool,
}

impl ConnectionJson {
    const fn new(connection: &v1::Connection) -> Self {
        Self {
            from_room: connection.from_room,
            to_room: connection.to_room,
            lock_id: connection.lock_id,
            secret: connection.secret,
        }
    }
}

#[derive(Debug, Serialize)]
struct SpawnJson<'a> {
    at: PointJson,
    archetype: &'a str,
    level: u32,
}

impl<'a> SpawnJson<'a> {
    fn new(at: Option<Point>, archetype: &'a str, level: u32) -> Self {
        Self { at: point(at), archetype, level }
    }
}

#[derive(Debug, Serialize)]
struct ItemJson<'a> {
    at: PointJson,
    archetype: &'a str,
    value: u32,
    opens_lock: u32,
}

impl<'a> ItemJson<'a> {
    fn new(item: &'a v1::Item) -> Self {
        Self { at: point(item.at), archetype: &item.archetype, value: item.value, opens_lock: item.opens_lock }
    }
}

#[derive(Debug, Serialize)]
struct LockJson {
    id: u32,
    at: PointJson,
}

#[derive(Debug, Serialize)]
struct MetricsJson {
    critical_path: u32,
    passable_cells: u32,
    loops: u32,
    difficulty: u32,
}

impl MetricsJson {
    const fn new(metrics: &v1::FloorMetrics) -> Self {
        Self {
            critical_path: metrics.critical_path,
            passable_cells: metrics.passable_cells,
            loops: metrics.loops,
            difficulty: metrics.difficulty,
        }
    }
}

/// The response metadata of a call.
#[derive(Debug, Serialize)]
pub(crate) struct ServedJson<'a> {
    by: FloorCounts<'a>,
    coalesced: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    server_us: Option<u64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    trace: Vec<StepJson<'a>>,
}

impl<'a> ServedJson<'a> {
    pub(crate) fn new(served: &'a Served) -> Self {
        let micros = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        let step = |step: &'a floor_client::TraceStep| StepJson {
            tier: &step.tier,
            outcome: step.outcome.as_deref(),
            cost_us: micros(step.cost),
        };
        Self {
            by: FloorCounts(served),
            coalesced: served.coalesced,
            server_us: served.server_time.map(micros),
            trace: served.trace.iter().map(step).collect(),
        }
    }
}

/// Number of floors from each tier, in the order of the server.
#[derive(Debug)]
struct FloorCounts<'a>(&'a Served);

impl Serialize for FloorCounts<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (tier, count) in self.0.by.iter() {
            map.serialize_entry(tier, &count)?;
        }
        map.end()
    }
}

#[derive(Debug, Serialize)]
struct StepJson<'a> {
    tier: &'a str,
    outcome: Option<&'a str>,
    cost_us: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{fixture, json_layout};

    #[test]
    fn the_shape_that_scripts_rely_on() {
        let floor = fixture::floor();
        let mut out = Vec::new();
        json_layout::write(&mut out, &FloorJson::new(&floor, Some(&Served::default()))).unwrap();
        insta::assert_snapshot!(String::from_utf8(out).unwrap());
    }
}
