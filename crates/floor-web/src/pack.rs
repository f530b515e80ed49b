//! The open pack, whose floors the other exports generate, and the files that the page collects to open one.

use std::cell::RefCell;

use floor_gen::{
    Pack,
    pack::{FileError, Files, PackError, PackErrors},
};
use floor_pack::LoadedPack;

use crate::buffers::{read, respond};

thread_local! {
    /// `None`: the built-in pack.
    static OPEN: RefCell<Option<LoadedPack>> = const { RefCell::new(None) };
    static FILES: RefCell<Files> = RefCell::default();
}

/// Calls `run` with the open pack, or the built-in one.
pub fn with_pack<T>(run: impl FnOnce(&LoadedPack) -> T) -> T {
    OPEN.with_borrow(|pack| run(pack.as_ref().unwrap_or_else(|| LoadedPack::built_in())))
}

/// The most bytes of the files of a pack.
#[unsafe(no_mangle)]
pub extern "C" fn files_max_bytes() -> usize {
    Files::MAX_BYTES
}

/// The most files of a pack.
#[unsafe(no_mangle)]
pub extern "C" fn files_max() -> usize {
    Files::MAX_FILES
}

/// Forgets the files that were collected.
#[unsafe(no_mangle)]
pub extern "C" fn files_clear() {
    FILES.take();
}

/// Adds a file: `path` bytes of the input are its path, the rest its content. Whether it can belong to a pack; if not, the
/// output is the reason.
#[unsafe(no_mangle)]
pub extern "C" fn files_add(path: usize) -> bool {
    let added = read(|input| {
        let (path, content) = input.split_at(path.min(input.len()));
        FILES.with_borrow_mut(|files| files.insert(&String::from_utf8_lossy(path), content))
    });
    respond(added.map(|()| Vec::new()).map_err(|FileError { what, .. }| what))
}

/// Reads the files from their canonical form, the bytes of a `.floorpack` file, in the input. If it is none, the output
/// is the reason.
#[unsafe(no_mangle)]
pub extern "C" fn files_read() -> bool {
    let files = read(Files::from_bytes);
    respond(files.map(set).map_err(|error| error.to_string()))
}

/// Takes the files of the built-in pack.
#[unsafe(no_mangle)]
pub extern "C" fn files_tower() {
    set(Pack::tower().files().clone());
}

/// The output is the canonical form of the files.
#[unsafe(no_mangle)]
pub extern "C" fn files_bytes() {
    respond(Ok(FILES.with_borrow(Files::to_bytes)));
}

/// Opens the pack of the files. The output is its name, hash and description, a line each; or, if it has errors, a line
/// for each: file, line, column and message, with tabs between them. Then the pack that was open stays open.
#[unsafe(no_mangle)]
pub extern "C" fn pack_open() -> bool {
    let pack = open(FILES.with_borrow(Files::clone));
    respond(
        pack.map(|pack| {
            let read = pack.pack();
            let opened = format!("{}\n{:016x}\n{}", read.name(), read.files().hash(), read.description());
            OPEN.set(Some(pack));
            opened.into_bytes()
        })
        .map_err(|errors| lines(&errors)),
    )
}

#[cfg(feature = "modules")]
fn open(files: Files) -> Result<LoadedPack, PackErrors> {
    LoadedPack::read_edited_in(crate::guests::code, files)
}

#[cfg(not(feature = "modules"))]
fn open(files: Files) -> Result<LoadedPack, PackErrors> {
    LoadedPack::read_edited(files)
}

/// Closes the pack: the built-in one takes its place.
#[unsafe(no_mangle)]
pub extern "C" fn pack_close() {
    OPEN.take();
}

fn set(files: Files) -> Vec<u8> {
    FILES.set(files);
    Vec::new()
}

fn lines(errors: &PackErrors) -> String {
    let line = |error: &PackError| {
        let message = error.message().replace(['\n', '\t'], " ");
        format!("{}\t{}\t{}\t{message}\n", error.file, error.line, error.column)
    };
    errors.list().iter().map(line).collect()
}
