//! The JSON of floors that floorctl writes and Connect sends: that of proto3, with [more fields](BESIDES) on request. Reads
//! it, and names what is wrong in one that was edited.

use std::{collections::BTreeMap, sync::LazyLock};

use prost::Message as _;
use serde::{Deserialize, Serialize, de::IgnoredAny};

use crate::{
    floor::Floor,
    glyph, grid,
    json::{InvalidJson, JsonCodec, JsonError, JsonMessage, JsonTypes, described},
    limits, text,
    v1::{self, FloorSpec, Grid, Terrain},
};

/// The fields of a floor's JSON that its message does not have.
pub const BESIDES: [&str; 4] = ["legend", "terrainRows", "regionRows", "served"];

/// The JSON of a floor with its cells as rows of text. docs/floorctl.md documents it, and scripts depend on it.
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

    /// The JSON of an encoded floor, in which no field is left out.
    ///
    /// # Errors
    /// If `encoded` is no floor.
    pub fn with_all_fields(encoded: &[u8]) -> Result<Self, JsonError> {
        let json = Self::new(&Floor::from_wire(v1::Floor::decode(encoded)?, encoded.len())?);
        Ok(Self { message: json.message.with_all_fields(), ..json })
    }
}

/// Floors from and to JSON.
pub static FLOOR: LazyLock<JsonCodec> = LazyLock::new(|| {
    let types = JsonTypes::new([crate::FILE_DESCRIPTOR_SET]);
    types.and_then(|types| types.codec("floors.v1.Floor")).expect("the .proto has the message")
});

/// Why JSON is no floor.
#[derive(Debug, thiserror::Error)]
pub enum FloorJsonError {
    /// It is incomplete.
    #[error("the JSON ends too early: {0}")]
    Truncated(serde_json::Error),
    /// It is no JSON.
    #[error("the JSON has an error: {described}")]
    Syntax {
        /// The error, which has the place.
        error: serde_json::Error,
        /// Its text, and what is remarkable about the character at its place.
        described: String,
    },
    /// It is in another encoding.
    #[error("it is UTF-16; save it as UTF-8")]
    Utf16,
    /// It has an unknown field or a wrong value.
    #[error("the JSON is not that of a floor: {0}")]
    Message(#[from] InvalidJson),
    /// Its rows of text are none.
    #[error("the JSON is not that of a floor: {0}")]
    Rows(serde_json::Error),
    /// Its rows of text are not those of its floor.
    #[error("{0}")]
    Value(String),
}

impl FloorJsonError {
    /// Line and column of the error, counted from 1, if it has a place in the text.
    #[must_use]
    pub fn position(&self) -> Option<(usize, usize)> {
        match self {
            Self::Truncated(error) | Self::Syntax { error, .. } => Some((error.line(), error.column())),
            Self::Utf16 | Self::Message(_) | Self::Rows(_) | Self::Value(_) => None,
        }
    }
}

/// The cells as rows of text, which count instead of the grids of the message: they are what people edit.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Rows {
    terrain_rows: Option<Vec<String>>,
    region_rows: Option<Vec<String>>,
}

/// The message that the JSON describes, with the content hash that it states. `legend` and `served` are not read.
///
/// # Errors
/// What is wrong with the JSON.
pub fn parse(text: &[u8]) -> Result<v1::Floor, FloorJsonError> {
    if text::is_utf16(text) {
        return Err(FloorJsonError::Utf16);
    }
    let text = text::without_mark(text);
    serde_json::from_slice::<IgnoredAny>(text).map_err(|error| match error.is_eof() {
        true => FloorJsonError::Truncated(error),
        false => FloorJsonError::Syntax { described: described(&error, text), error },
    })?;
    let (message, besides) = FLOOR.decode_with(text, &BESIDES)?;
    let mut floor = v1::Floor::decode(&message[..]).expect("the codec writes floors");
    let rows: Rows = serde_json::from_value(besides.into()).map_err(FloorJsonError::Rows)?;
    rows.put_into(&mut floor).map_err(FloorJsonError::Value)?;
    Ok(floor)
}

impl Rows {
    fn put_into(self, floor: &mut v1::Floor) -> Result<(), String> {
        if self.terrain_rows.is_none() && self.region_rows.is_none() {
            return Ok(());
        }
        let spec = checked_spec(floor)?;
        if let Some(rows) = self.terrain_rows {
            floor.terrain = Some(terrain(&spec, &rows)?);
        }
        if let Some(rows) = self.region_rows {
            floor.region = Some(region(&spec, &rows)?);
        }
        Ok(())
    }
}

/// The spec. Its sides are in range, so that a grid of that size can be encoded.
fn checked_spec(floor: &v1::Floor) -> Result<FloorSpec, String> {
    let spec = floor.spec.clone().ok_or("the floor has no spec, which says how many rows there are")?;
    let sides = limits::MIN_SIDE..=limits::MAX_SIDE;
    if sides.contains(&spec.width) && sides.contains(&spec.height) {
        return Ok(spec);
    }
    let (least, greatest) = (limits::MIN_SIDE, limits::MAX_SIDE);
    Err(format!("a floor is {least} to {greatest} cells wide and high, not {}x{}", spec.width, spec.height))
}

/// Terrain from rows of one character per cell.
fn terrain(spec: &FloorSpec, rows: &[String]) -> Result<Grid, String> {
    let mut cells = Vec::with_capacity(spec.width as usize * spec.height as usize);
    check_count("terrainRows", rows, spec.height)?;
    for (y, row) in rows.iter().enumerate() {
        check_length("terrainRows", y, row.chars().count(), spec.width)?;
        for (x, character) in row.chars().enumerate() {
            let terrain = glyph::terrain(character)
                .ok_or_else(|| format!("no terrain has the character {character:?}, at ({x}, {y})"))?;
            cells.push(terrain as u8);
        }
    }
    Ok(grid::encode(spec.width, spec.height, &cells))
}

/// Room ids + 1 from rows of two hexadecimal digits per cell.
fn region(spec: &FloorSpec, rows: &[String]) -> Result<Grid, String> {
    let mut cells = Vec::with_capacity(spec.width as usize * spec.height as usize);
    check_count("regionRows", rows, spec.height)?;
    for (y, row) in rows.iter().enumerate() {
        check_length("regionRows", y, row.chars().count(), 2 * spec.width)?;
        let mut digits = row.chars().map(|character| character.to_digit(16));
        let mut x = 0;
        while let Some(high) = digits.next() {
            let (Some(high), Some(Some(low))) = (high, digits.next()) else {
                return Err(format!("regionRows has not two hexadecimal digits at ({x}, {y})"));
            };
            cells.push((high * 16 + low) as u8);
            x += 1;
        }
    }
    Ok(grid::encode(spec.width, spec.height, &cells))
}

fn check_count(grid: &str, rows: &[String], height: u32) -> Result<(), String> {
    if rows.len() == height as usize {
        Ok(())
    } else {
        Err(format!("{grid} has {} rows, and the floor is {height} cells high", rows.len()))
    }
}

fn check_length(grid: &str, row: usize, characters: usize, expected: u32) -> Result<(), String> {
    if characters == expected as usize {
        Ok(())
    } else {
        Err(format!("row {row} of {grid} has {characters} characters, not {expected}"))
    }
}
