//! The way back: reads the map of an editor, as [`tiled`](crate::tiled) and [`ldtk`](crate::ldtk) write it, edited or not.

mod fields;
mod ldtk;
mod message;
mod tiled;

use floor_proto::v1;
use serde_json::Value;

use fields::Fields;

/// Why a map holds no floor.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// It is no JSON.
    #[error("the map is no JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// A part is missing or wrong: which, and what would be right.
    #[error("{0}")]
    Wrong(String),
}

/// What a map says, whichever editor wrote it.
struct Map {
    width: u32,
    height: u32,
    /// The numbers of terrain and the marks of rooms, row-major.
    terrain: Vec<u8>,
    region: Vec<u8>,
    /// What the floor states about itself.
    fields: Fields,
    objects: Vec<Object>,
}

/// A thing on a map.
struct Object {
    /// `spawn`, `item` and so on.
    class: String,
    /// Its cell, that of its middle.
    at: v1::Point,
    fields: Fields,
}

/// Whether a text is the map of an editor, and not the JSON of a floor.
#[must_use]
pub fn is_map(text: &[u8]) -> bool {
    let text = String::from_utf8_lossy(text);
    ["\"tiledversion\"", "\"__header__\""].iter().any(|mark| text.contains(mark))
}

/// The floor of a map, with the content hash that it states. What follows from the cells is set anew: the boxes of rooms,
/// and that walls and doors belong to no room.
///
/// # Errors
/// What is missing or wrong.
pub fn parse(text: &[u8]) -> Result<v1::Floor, ImportError> {
    let document: Value = serde_json::from_slice(text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text))?;
    let map = if document.get("__header__").is_some() { ldtk::read(&document)? } else { tiled::read(&document)? };
    message::floor(map)
}

fn wrong(what: impl Into<String>) -> ImportError {
    ImportError::Wrong(what.into())
}

/// The members of a list; none if it is no list.
fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// A size of a map, in cells.
fn side(document: &Value, key: &str, cell: u32) -> Result<u32, ImportError> {
    let found = document[key].as_u64().and_then(|pixels| u32::try_from(pixels).ok()).map(|pixels| pixels / cell);
    let most = u32::from(floor_gen::FloorSpec::MAX_SIDE);
    found
        .filter(|side| (1..=most).contains(side))
        .ok_or_else(|| wrong(format!("`{key}` is {}; a floor has 1 to {most} cells", document[key])))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{fixture, ldtk, tiled};

    /// The maps of a floor.
    fn maps() -> [Vec<u8>; 2] {
        let floor = fixture::floor();
        let look = floor_gen::pack::Look::default();
        [tiled::document(&floor, &look), ldtk::document(&floor, &look)].map(|map| map.to_string().into_bytes())
    }

    #[test]
    fn a_map_is_the_floor_that_it_was() {
        for map in maps() {
            assert!(is_map(&map));
            assert_eq!(parse(&map).unwrap(), fixture::message());
        }
        assert!(!is_map(br#"{"terrainRows": []}"#));
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place() {
        let [tiled, ldtk] = maps().map(|map| String::from_utf8(map).unwrap());
        for (map, found, replacement, expected) in [
            (&tiled, "\"name\":\"terrain\"", "\"name\":\"ground\"", "the map has no layer `terrain`"),
            (
                &tiled,
                "\"value\":\"guards\"",
                "\"value\":\"gards\"",
                "the spawn at (17, 2): `behaviour` is \"gards\"; expected one of",
            ),
            (
                &tiled,
                "\"name\":\"level\",\"type\":\"int\",\"value\":3",
                "\"name\":\"lvl\",\"type\":\"int\",\"value\":3",
                "the spawn at (17, 2) has no `level`",
            ),
            (&tiled, "\"infinite\":false", "\"infinite\":true", "the map is infinite"),
            (&ldtk, "\"__identifier\":\"Terrain\"", "\"__identifier\":\"Ground\"", "the map has no layer `Terrain`"),
            (&ldtk, "\"__value\":\"standard\"", "\"__value\":\"standart\"", "the map: `kind` is \"standart\""),
        ] {
            assert!(map.contains(found), "{found}");
            let error = parse(map.replacen(found, replacement, 1).as_bytes()).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
        assert!(parse(&tiled.as_bytes()[..900]).unwrap_err().to_string().starts_with("the map is no JSON"));
    }

    /// Whatever a map holds, it is read or refused, and nothing panics.
    #[test]
    fn no_damage_to_a_map_panics() {
        for map in maps() {
            for i in (0..map.len()).step_by(997) {
                let mut damaged = map.clone();
                damaged[i] = b"9-x\"{,"[i % 6];
                let _ = parse(&damaged);
            }
        }
    }
}
