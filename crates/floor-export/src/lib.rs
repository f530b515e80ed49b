//! Floors as pictures, and as files of level editors and virtual tabletops. `floorctl render` and `export` use it, and the
//! viewer as WebAssembly: it needs no file system and no clock.
//!
//! [`picture`] draws a floor as text or as PNG. A [`Format`] returns the files of an editor, and [`room_key`] says what
//! rooms hold.
#![forbid(unsafe_code)]

pub mod counts;
mod error;
pub mod escape;
#[cfg(test)]
mod fixture;
mod format;
mod foundry;
#[cfg(feature = "import")]
pub mod import;
pub mod json_layout;
pub mod ldtk;
pub mod names;
pub mod picture;
pub mod room_key;
pub mod tiled;
mod uvtt;
mod walls;
mod words;

pub use self::{
    error::ExportError,
    format::{Format, default_stem},
    uvtt::MAX_IMAGE_SIDE,
};

#[cfg(feature = "import")]
pub use self::import::ImportError;

/// The tilesets of terrain and objects, and of room ids. The maps of a directory share them, if they have one theme.
const CELLS: &str = "floor-tiles";
const ROOMS: &str = "room-tiles";

/// The name of the tileset of terrain and objects: each theme has its own.
fn cells_name(floor: &floor_proto::floor::Floor) -> String {
    match floor.theme() {
        "" => CELLS.to_owned(),
        theme => format!("{CELLS}-{theme}"),
    }
}

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
