//! What the viewer's page calls to export a floor: the files that floorctl writes.
//!
//! Numbers, texts and bytes pass as in `floor-web`. [`prepare`] says how to export, [`export`] makes the files, and
//! [`file_name`] and [`file_bytes`] return them.
#![cfg(target_family = "wasm")]
#![allow(unsafe_code, reason = "an export without its mangled name counts as unsafe; there is no other")]

#[path = "../../floor-web/src/buffers.rs"]
pub mod buffers;
mod settings;

use std::cell::RefCell;

use floor_export::ExportedFile;
use floor_proto::{floor::Floor, v1};
use prost::Message as _;

use buffers::{read, respond};
use settings::Settings;

thread_local! {
    static SETTINGS: RefCell<Option<Settings>> = const { RefCell::new(None) };
    static FILES: RefCell<Vec<ExportedFile>> = const { RefCell::new(Vec::new()) };
}

/// Reads the [`Settings`] of [`export`] from the input. Whether they are valid; if not, the output is the error.
#[unsafe(no_mangle)]
pub extern "C" fn prepare() -> bool {
    let settings = read(|input| String::from_utf8_lossy(input).parse::<Settings>());
    respond(settings.map(|settings| {
        SETTINGS.set(Some(settings));
        Vec::new()
    }))
}

/// Exports the floor whose encoded `floors.v1.Floor` is the input. Returns the number of files; 0: the output is the error.
#[unsafe(no_mangle)]
pub extern "C" fn export() -> usize {
    let files = floor().and_then(|floor| match SETTINGS.take() {
        Some(settings) => settings.files(&floor).map_err(|error| error.to_string()),
        None => Err("there are no settings".to_owned()),
    });
    let count = files.as_ref().map_or(0, Vec::len);
    respond(files.map(|files| {
        FILES.set(files);
        Vec::new()
    }));
    count
}

fn floor() -> Result<Floor, String> {
    let (wire, len) = read(|input| (v1::Floor::decode(input), input.len()));
    let wire = wire.map_err(|error| format!("these bytes are no floor: {error}"))?;
    Floor::from_wire(wire, len).map_err(|error| error.to_string())
}

/// The output is the name of an exported file, and empty if there is none at `index`.
#[unsafe(no_mangle)]
pub extern "C" fn file_name(index: usize) {
    respond(Ok(
        FILES.with_borrow(|files| files.get(index).map(|file| file.name.clone().into_bytes()).unwrap_or_default())
    ));
}

/// The output is the content of an exported file, which is then forgotten, and empty if there is none at `index`.
#[unsafe(no_mangle)]
pub extern "C" fn file_bytes(index: usize) {
    let taken = FILES.with_borrow_mut(|files| files.get_mut(index).map(|file| std::mem::take(&mut file.bytes)));
    respond(Ok(taken.unwrap_or_default()));
}
