//! The JSON of a floor. docs/floorctl.md documents it, and scripts depend on it.
//!
//! It is the JSON of proto3, as the server's Connect JSON, with more fields: those of [`BESIDES`].

use std::collections::BTreeMap;

use floor_proto::{floor::Floor, floor_json::FLOOR, json::JsonMessage, v1::Terrain};
use prost::Message as _;
use serde::Serialize;

use crate::picture::glyph;

#[cfg(doc)]
use floor_proto::floor_json::BESIDES;

/// A floor: its message, and its cells as rows of text.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FloorJson {
    legend: BTreeMap<char, &'static str>,
    terrain_rows: Vec<String>,
    region_rows: Vec<String>,
    #[serde(flatten)]
    message: JsonMessage,
}

impl FloorJson {
    /// The JSON of a floor.
    #[must_use]
    pub fn new(floor: &Floor) -> Self {
        let width = floor.width() as usize;
        let terrain_row = |row: &[Terrain]| row.iter().copied().map(glyph::of).collect::<String>();
        let region_row = |row: &[u8]| row.iter().map(|id| format!("{id:02x}")).collect::<String>();
        let message = FLOOR.message(&floor.wire().encode_to_vec()[..]);
        Self {
            legend: floor.terrain().iter().map(|terrain| (glyph::of(*terrain), terrain.as_str_name())).collect(),
            terrain_rows: floor.terrain().chunks(width).map(terrain_row).collect(),
            region_rows: floor.region().chunks(width).map(region_row).collect(),
            message: message.expect("a message decodes as what it was encoded from"),
        }
    }
}
