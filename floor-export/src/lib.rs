//! Floors as pictures, and as files of level editors and virtual tabletops. `floorctl render` and `export` use it; it
//! builds for wasm32, where it needs no file system and no clock.
//!
//! [`picture`] draws a floor as text or as PNG. [`tiled`], [`ldtk`] and [`uvtt`] return the files of an editor.
#![forbid(unsafe_code)]

pub mod counts;
mod error;
#[cfg(test)]
mod fixture;
pub mod ldtk;
pub mod names;
pub mod picture;
pub mod tiled;
pub mod uvtt;
mod walls;

pub use self::error::ExportError;

/// The tilesets of terrain and objects, and of room ids. The maps of a directory share them.
const CELLS: &str = "floor-tiles";
const ROOMS: &str = "room-tiles";

/// A file to write.
#[derive(Debug)]
pub struct ExportedFile {
    /// Its name in the directory of the map.
    pub name: String,
    /// Its contents.
    pub bytes: Vec<u8>,
}

impl ExportedFile {
    /// A document on one line.
    fn json(name: String, document: &serde_json::Value) -> Self {
        Self { name, bytes: format!("{document}\n").into_bytes() }
    }
}
