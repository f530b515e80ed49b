//! The JSON format of floors and of response metadata. `floorctl get --help` documents it, and scripts depend on it.
//!
//! 64-bit numbers are strings, as in protobuf's JSON mapping, since many JSON readers would round them.

use std::{collections::BTreeMap, time::Duration};

use floor_client::{
    Floor, Served, ServedBy,
    v1::{Connection, FloorMetrics, Grid, GridEncoding, Item, Lock, Point, Room, Spawn, Trap},
};
use serde::{Serialize, Serializer};

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
    grids: GridsJson<'a>,
    entry: Point,
    exit: Point,
    rooms: Vec<RoomJson>,
    connections: &'a [Connection],
    spawns: &'a [Spawn],
    items: &'a [Item],
    locks: &'a [Lock],
    traps: &'a [Trap],
    metrics: Option<FloorMetrics>,
    #[serde(skip_serializing_if = "Option::is_none")]
    served: Option<ServedJson<'a>>,
}

impl<'a> FloorJson<'a> {
    pub(crate) fn new(floor: &'a Floor, served: Option<&'a Served>) -> Self {
        let wire = floor.wire();
        let width = floor.width() as usize;
        let region_row = |row: &[u8]| row.iter().map(|id| format!("{id:02x}")).collect::<String>();
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
            region: floor.region().chunks(width).map(region_row).collect(),
            grids: GridsJson {
                terrain: wire.terrain.as_ref().map(GridJson::new),
                region: wire.region.as_ref().map(GridJson::new),
            },
            entry: floor.entry(),
            exit: floor.exit(),
            rooms: wire.rooms.iter().map(RoomJson::new).collect(),
            connections: &wire.connections,
            spawns: &wire.spawns,
            items: &wire.items,
            locks: &wire.locks,
            traps: &wire.traps,
            metrics: wire.metrics,
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
struct GridsJson<'a> {
    terrain: Option<GridJson<'a>>,
    region: Option<GridJson<'a>>,
}

/// How a grid was encoded.
#[derive(Debug, Serialize)]
struct GridJson<'a> {
    encoding: String,
    bits: u32,
    palette: &'a [u32],
    data_bytes: usize,
}

impl<'a> GridJson<'a> {
    fn new(grid: &'a Grid) -> Self {
        let encoding = GridEncoding::try_from(grid.encoding).unwrap_or(GridEncoding::Unspecified);
        let encoding = names::encoding(encoding);
        Self { encoding, bits: grid.bits, palette: &grid.palette, data_bytes: grid.data.len() }
    }
}

/// A room with the name of its role. The points of a checked floor are never missing.
#[derive(Debug, Serialize)]
struct RoomJson {
    id: u32,
    role: String,
    min: Option<Point>,
    max: Option<Point>,
    center: Option<Point>,
}

impl RoomJson {
    fn new(room: &Room) -> Self {
        Self { id: room.id, role: names::role_of(room), min: room.min, max: room.max, center: room.center }
    }
}

/// The response metadata of a call.
#[derive(Debug, Serialize)]
pub(crate) struct ServedJson<'a> {
    #[serde(serialize_with = "floor_counts")]
    by: &'a ServedBy,
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
            by: &served.by,
            coalesced: served.coalesced,
            server_us: served.server_time.map(micros),
            trace: served.trace.iter().map(step).collect(),
        }
    }
}

/// Serializes response metadata, for structs that hold it.
pub(crate) fn serialize_served<S: Serializer>(served: &Served, serializer: S) -> Result<S::Ok, S::Error> {
    ServedJson::new(served).serialize(serializer)
}

/// Number of floors from each tier, in the order of the server.
fn floor_counts<S: Serializer>(by: &&ServedBy, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(by.iter())
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
