//! The way back: reads the map of an editor, as [`tiled`](crate::tiled) and [`ldtk`](crate::ldtk) write it, edited or not.
//!
//! Every element of a map has a reader or a name in the report. Both editors' readers fill one `Map`; `defaults` adds
//! what a new thing was not given, `message` makes the floor, and `Report` compares what was read with what the file
//! holds.

mod class;
mod defaults;
mod fields;
mod grid;
mod ldtk;
mod map;
mod message;
mod report;
mod shape;
mod tile_data;
mod tiled;
mod tilesets;
mod tmx;

use floor_proto::v1;
use serde_json::Value;

use class::Class;
use fields::Fields;
use grid::{Cells, Frame};
use map::{Map, Object, Outline};
use report::Report;
pub use report::Tally;

/// Reads a file that a map names, by its path from the map; the error says why it cannot.
pub type ReadFile<'a> = &'a dyn Fn(&str) -> Result<Vec<u8>, String>;

/// The most problems that an error lists; more are counted.
const LISTED: usize = 20;

/// Why a map is not read as a floor.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// It is no JSON.
    #[error("it is no JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// It is no XML.
    #[error("it is no XML: {0}")]
    Xml(#[from] roxmltree::Error),
    /// Parts are missing, wrong, or have no place in a floor: which, where, and what would be right.
    #[error("{}", listed(.0))]
    Wrong(Vec<String>),
}

fn listed(problems: &[String]) -> String {
    if let [problem] = problems {
        return problem.clone();
    }
    let mut text = format!("{} things are wrong or have no place in a floor:", problems.len());
    problems.iter().take(LISTED).for_each(|problem| text += &format!("\n  {problem}"));
    if problems.len() > LISTED {
        text += &format!("\n  and {} more", problems.len() - LISTED);
    }
    text
}

/// A floor that was read from a map.
#[derive(Debug)]
pub struct Imported {
    /// With the content hash that the map states.
    pub floor: v1::Floor,
    /// How much of the map it is.
    pub tally: Tally,
    /// What was derived, and where the map contradicts itself without a loss.
    pub notes: Vec<String>,
}

/// Whether a text is the map of an editor, and not the JSON of a floor.
#[must_use]
pub fn is_map(text: &[u8]) -> bool {
    let text = String::from_utf8_lossy(text);
    is_xml(&text) || ["\"tiledversion\"", "\"tilewidth\"", "\"__header__\""].iter().any(|mark| text.contains(mark))
}

/// The floor of a map. What follows from the cells is set anew: the boxes of rooms, and that walls and doors belong to no
/// room. `read` reads tilesets, templates and levels in files of their own.
///
/// # Errors
/// Whatever is missing, wrong, or not part of a floor. A floor is returned only if it has everything that the map holds,
/// except layers, objects and properties whose names begin with `_`.
pub fn parse(text: &[u8], read: ReadFile<'_>) -> Result<Imported, ImportError> {
    let document = document(text)?;
    let mut report = Report::default();
    let mut map = if document.get("__header__").is_some() {
        ldtk::read(document, read, &mut report)?
    } else {
        tiled::read(&document, read, &mut report)?
    };
    defaults::fill(&mut map.objects, &mut report);
    let floor = message::floor(&map, &mut report);
    report.finish(floor)
}

/// A file of an editor as JSON, also if it is XML.
fn document(text: &[u8]) -> Result<Value, ImportError> {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    match std::str::from_utf8(text) {
        Ok(text) if is_xml(text) => tmx::to_json(text),
        _ => Ok(serde_json::from_slice(text)?),
    }
}

fn is_xml(text: &str) -> bool {
    let text = text.trim_start_matches('\u{feff}').trim_start();
    ["<?xml", "<map", "<tileset", "<template"].iter().any(|start| text.starts_with(start))
}

fn wrong(what: impl Into<String>) -> ImportError {
    ImportError::Wrong(vec![what.into()])
}

/// The members of a list; none if it is no list.
fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// Whether a layer, an object or a property is the designer's own, and no part of the floor.
fn is_own(name: &str) -> bool {
    name.starts_with('_')
}

#[cfg(test)]
mod tests;
