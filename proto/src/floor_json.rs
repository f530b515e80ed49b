//! Reads the JSON that [`json`] writes, and names what is wrong in one that was edited.

use floor_client::{
    limits,
    v1::{self, FloorSpec, Grid},
};
use floor_export::picture::glyph;
use floor_proto::{grid, json::InvalidJson};
use prost::Message as _;
use serde::{Deserialize, de::IgnoredAny};

use crate::json;

/// Why JSON is no floor.
#[derive(Debug, thiserror::Error)]
pub(crate) enum JsonError {
    #[error("the JSON ends too early: {0}")]
    Truncated(serde_json::Error),
    #[error("the JSON has an error: {0}")]
    Syntax(serde_json::Error),
    #[error("the JSON is not that of a floor: {0}")]
    Message(#[from] InvalidJson),
    #[error("the JSON is not that of a floor: {0}")]
    Rows(serde_json::Error),
    #[error("{0}")]
    Value(String),
}

/// The cells as rows of text, which count instead of the grids of the message: they are what people edit.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Rows {
    terrain_rows: Option<Vec<String>>,
    region_rows: Option<Vec<String>>,
}

/// The message that the JSON describes, with the content hash that it states. `legend` and `served` are not read.
pub(crate) fn parse(text: &[u8]) -> Result<v1::Floor, JsonError> {
    serde_json::from_slice::<IgnoredAny>(text)
        .map_err(|error| if error.is_eof() { JsonError::Truncated(error) } else { JsonError::Syntax(error) })?;
    let (message, besides) = json::FLOOR.decode_with(text, &json::BESIDES)?;
    let mut floor = v1::Floor::decode(&message[..]).expect("the codec writes floors");
    let rows: Rows = serde_json::from_value(besides.into()).map_err(JsonError::Rows)?;
    rows.put_into(&mut floor).map_err(JsonError::Value)?;
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
    let spec = floor.spec.ok_or("the floor has no spec, which says how many rows there are")?;
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
            (error(|json| json["terrainRows"][3] = "#".into()), "row 3 of terrainRows has 1 characters, not 30"),
            (error(|json| json["regionRows"][2] = "00".into()), "row 2 of regionRows has 2 characters, not 60"),
            (error(|json| json["terrainRows"] = serde_json::json!([])), "terrainRows has 0 rows, and the floor is 16"),
            (error(|json| json["terrainRows"] = 7.into()), "expected a sequence"),
            (error(|json| json["terrainRows"][1] = "#<....######?###......########".into()), "'?', at (12, 1)"),
            (error(|json| json["regionRows"][0] = "0g".repeat(30).into()), "at (0, 0)"),
            (error(|json| json["rooms"][1]["role"] = "pantry".into()), "rooms[1].role"),
            (error(|json| json["rooms"][1]["role"] = "pantry".into()), "ROOM_ROLE_PASSAGE"),
            (error(|json| json["spec"]["kind"] = "cavern".into()), "FLOOR_KIND_CAVERN"),
            (error(|json| json["spec"]["width"] = 5.into()), "16 to 512 cells wide and high, not 5x16"),
            (error(|json| json["spec"] = serde_json::Value::Null), "the floor has no spec"),
            (error(|json| json["spec"]["seed"] = "-1".into()), "an integer from 0"),
            (error(|json| json["contentHash"] = "hash".into()), "contentHash"),
            (error(|json| json["spawns"][0]["lvl"] = 1.into()), "spawns[0].lvl: no such field"),
            (error(|json| json["lock"] = 1.into()), "lock: no such field"),
        ] {
            assert!(found.contains(expected), "{found}");
        }
    }
}
