//! Reads the JSON that [`json`](crate::json) writes, and names what is wrong in one that was edited.

use floor_client::{
    limits,
    v1::{self, Connection, FloorMetrics, FloorSpec, Grid, Item, Lock, Point, Room, Spawn, Trap},
};
use floor_proto::grid;
use serde::{Deserialize, de::IgnoredAny};

use crate::{names, picture::glyph, target};

/// Why JSON is no floor.
#[derive(Debug, thiserror::Error)]
pub(crate) enum JsonError {
    #[error("the JSON ends too early: {0}")]
    Truncated(serde_json::Error),
    #[error("the JSON is not that of a floor: {0}")]
    Syntax(serde_json::Error),
    #[error("{0}")]
    Value(String),
}

/// One floor. The fields that follow from others (`legend`, `grids`, `encoded_bytes`, `served`) are not read.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SavedJson {
    spec: SavedSpec,
    generator_version: u32,
    content_hash: String,
    #[serde(default, rename = "encoded_bytes")]
    _encoded_bytes: Option<IgnoredAny>,
    #[serde(default, rename = "legend")]
    _legend: Option<IgnoredAny>,
    #[serde(default, rename = "grids")]
    _grids: Option<IgnoredAny>,
    #[serde(default, rename = "served")]
    _served: Option<IgnoredAny>,
    terrain: Vec<String>,
    region: Vec<String>,
    entry: Point,
    exit: Point,
    rooms: Vec<SavedRoom>,
    connections: Vec<Connection>,
    spawns: Vec<Spawn>,
    items: Vec<Item>,
    locks: Vec<Lock>,
    traps: Vec<Trap>,
    metrics: Option<FloorMetrics>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SavedSpec {
    seed: String,
    number: u32,
    width: u32,
    height: u32,
    kind: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SavedRoom {
    id: u32,
    role: String,
    min: Option<Point>,
    max: Option<Point>,
    center: Option<Point>,
}

/// The message that the JSON describes, with the content hash that it states.
pub(crate) fn parse(text: &[u8]) -> Result<v1::Floor, JsonError> {
    let json: SavedJson = serde_json::from_slice(text)
        .map_err(|error| if error.is_eof() { JsonError::Truncated(error) } else { JsonError::Syntax(error) })?;
    json.message().map_err(JsonError::Value)
}

impl SavedJson {
    fn message(self) -> Result<v1::Floor, String> {
        let spec = self.spec.message()?;
        let terrain = terrain(&spec, &self.terrain)?;
        let region = region(&spec, &self.region)?;
        let content_hash = u64::from_str_radix(&self.content_hash, 16)
            .map_err(|_| format!("content_hash {:?} is not 16 hexadecimal digits", self.content_hash))?;
        Ok(v1::Floor {
            spec: Some(spec),
            generator_version: self.generator_version,
            content_hash,
            terrain: Some(terrain),
            region: Some(region),
            entry: Some(self.entry),
            exit: Some(self.exit),
            rooms: self.rooms.into_iter().map(SavedRoom::message).collect::<Result<_, _>>()?,
            connections: self.connections,
            spawns: self.spawns,
            items: self.items,
            locks: self.locks,
            metrics: self.metrics,
            traps: self.traps,
        })
    }
}

impl SavedSpec {
    /// The spec. Its sides are in range, so that a grid of that size can be encoded.
    fn message(&self) -> Result<FloorSpec, String> {
        let sides = limits::MIN_SIDE..=limits::MAX_SIDE;
        if !sides.contains(&self.width) || !sides.contains(&self.height) {
            return Err(format!(
                "a floor is {} to {} cells wide and high, not {}x{}",
                limits::MIN_SIDE,
                limits::MAX_SIDE,
                self.width,
                self.height
            ));
        }
        let kind = floor_wire::kind(target::kind(&self.kind)?).into();
        let seed = floor_query::seed(&self.seed)?;
        Ok(FloorSpec { seed, number: self.number, width: self.width, height: self.height, kind })
    }
}

impl SavedRoom {
    fn message(self) -> Result<Room, String> {
        let role = names::role_named(&self.role).ok_or_else(|| {
            format!("room {}: there is no role {:?}; `floorctl schema` lists them", self.id, self.role)
        })?;
        Ok(Room { id: self.id, min: self.min, max: self.max, role: role.into(), center: self.center })
    }
}

/// Terrain from rows of one character per cell.
fn terrain(spec: &FloorSpec, rows: &[String]) -> Result<Grid, String> {
    let mut cells = Vec::with_capacity(spec.width as usize * spec.height as usize);
    check_count("terrain", rows, spec.height)?;
    for (y, row) in rows.iter().enumerate() {
        check_length("terrain", y, row.chars().count(), spec.width)?;
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
    check_count("region", rows, spec.height)?;
    for (y, row) in rows.iter().enumerate() {
        check_length("region", y, row.chars().count(), 2 * spec.width)?;
        let mut digits = row.chars().map(|character| character.to_digit(16));
        let mut x = 0;
        while let Some(high) = digits.next() {
            let (Some(high), Some(Some(low))) = (high, digits.next()) else {
                return Err(format!("region is not two hexadecimal digits at ({x}, {y})"));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{fixture, json::FloorJson};

    /// The error about the fixture's JSON after a change.
    fn error(change: impl FnOnce(&mut serde_json::Value)) -> String {
        let floor = fixture::floor();
        let mut json = serde_json::to_value(FloorJson::new(&floor, None)).unwrap();
        change(&mut json);
        parse(json.to_string().as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn an_error_names_the_field_the_row_and_the_cell() {
        for (found, expected) in [
            (error(|json| json["terrain"][3] = "#".into()), "row 3 of terrain has 1 characters, not 30"),
            (error(|json| json["region"][2] = "00".into()), "row 2 of region has 2 characters, not 60"),
            (error(|json| json["terrain"] = serde_json::json!([])), "terrain has 0 rows, and the floor is 16"),
            (error(|json| json["terrain"][1] = "#<....######?###......########".into()), "'?', at (12, 1)"),
            (error(|json| json["region"][0] = "0g".repeat(30).into()), "at (0, 0)"),
            (error(|json| json["rooms"][1]["role"] = "pantry".into()), "room 1: there is no role \"pantry\""),
            (error(|json| json["spec"]["kind"] = "cavrn".into()), "did you mean cavern?"),
            (error(|json| json["spec"]["width"] = 5.into()), "16 to 512 cells wide and high, not 5x16"),
            (error(|json| json["spec"]["seed"] = "-1".into()), "a seed is a number"),
            (error(|json| json["content_hash"] = "hash".into()), "\"hash\" is not 16 hexadecimal digits"),
            (error(|json| json["spawns"][0]["lvl"] = 1.into()), "unknown field `lvl`"),
            (error(|json| json["locks"] = serde_json::Value::Null), "invalid type: null"),
        ] {
            assert!(found.contains(expected), "{found}");
        }
    }
}
