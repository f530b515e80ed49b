//! The generator behind the C declarations of `floor_gen.h`, for engines. docs/clients/c.md explains it.
//!
//! No panic leaves a function: `error::guarded` turns it into an error of the calling thread.
#![allow(unsafe_code, reason = "C passes pointers, and an export without its mangled name counts as unsafe")]

pub mod error;
pub mod floor;
pub mod pack;
pub mod ways;

use std::{cell::Cell, ffi::c_char, slice};

use floor_gen::{FloorSpec, GENERATOR_VERSION, Generator, Kind, View as Seen};
use floor_pack::LoadedPack;
use floor_proto::{floor::is_passable, v1::Terrain};

use error::{Code, Failure, guarded};
use floor::{Bytes, NamesView, OwnedBytes, OwnedFloor, View};
use pack::Pack;

/// `FLOOR_GEN_ABI` of the header.
const ABI: u32 = 1;
/// `FLOOR_GEN_FOR_PLAYER` of the header.
const PLAYERS: u32 = 256;

thread_local! {
    /// It reuses its memory from floor to floor.
    static GENERATOR: Cell<Generator> = Cell::default();
}

/// The version of these declarations.
#[unsafe(no_mangle)]
pub extern "C" fn floor_gen_abi() -> u32 {
    ABI
}

/// The version of the generator.
#[unsafe(no_mangle)]
pub extern "C" fn floor_gen_version() -> u32 {
    GENERATOR_VERSION
}

/// The code of this thread's last error.
#[unsafe(no_mangle)]
pub extern "C" fn floor_gen_error_code() -> u32 {
    error::last_code()
}

/// The text of this thread's last error.
#[unsafe(no_mangle)]
pub extern "C" fn floor_gen_error_message() -> *const c_char {
    error::last_message()
}

/// The built-in pack.
#[unsafe(no_mangle)]
pub extern "C" fn floor_gen_pack_built_in() -> *const Pack {
    guarded(|| Pack::read_built_in().map(|()| Pack::built_in()))
}

/// Reads a pack.
///
/// # Safety
/// `file` has `length` bytes, or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn floor_gen_pack_load(file: *const u8, length: usize) -> *const Pack {
    guarded(|| {
        if file.is_null() {
            return Err(Failure::null("file", "the bytes of a .floorpack file"));
        }
        Pack::check_length(length)?;
        // SAFETY: the caller promises `length` bytes, which are few.
        let file = unsafe { slice::from_raw_parts(file, length) };
        Ok(Box::into_raw(Box::new(Pack::read(file)?)).cast_const())
    })
}

/// What names the pack to a server.
///
/// # Safety
/// `pack` is a pack that is not freed, or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn floor_gen_pack_reference(pack: *const Pack) -> *const c_char {
    // SAFETY: the caller promises it.
    guarded(|| Ok(unsafe { given(pack) }?.reference()))
}

/// Frees a pack.
///
/// # Safety
/// `pack` is a pack that is not freed and that no call uses, or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn floor_gen_pack_free(pack: *const Pack) {
    if !std::ptr::eq(pack, Pack::built_in()) {
        // SAFETY: it is null, or `floor_gen_pack_load` made it of a box.
        unsafe { free(pack) }
    }
}

/// Generates a floor to read.
///
/// # Safety
/// `pack` is a pack that is not freed, or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn floor_gen_generate(
    pack: *const Pack,
    seed: u64,
    number: u32,
    width: u32,
    height: u32,
    kind: u32,
) -> *const View {
    guarded(|| {
        // SAFETY: the caller promises it.
        let pack = unsafe { given(pack) }?;
        let spec = resolve(&pack.loaded, seed, number, width, height, kind)?;
        let floor = with_generator(|generator| OwnedFloor::generate(pack, generator, &spec))?;
        Ok(Box::into_raw(floor).cast_const().cast())
    })
}

/// Frees a floor.
///
/// # Safety
/// `floor` is a floor that is not freed, or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn floor_gen_floor_free(floor: *const View) {
    // SAFETY: it is null, or `floor_gen_generate` made it of such a box, which begins with the view.
    unsafe { free(floor.cast::<OwnedFloor>()) }
}

/// What a floor is called and furnished with.
///
/// # Safety
/// `floor` is a floor that is not freed, or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn floor_gen_floor_names(floor: *const View) -> *const NamesView {
    guarded(|| {
        // SAFETY: it is null, or `floor_gen_generate` made it of such a box, which begins with the view.
        Ok(unsafe { given_floor(floor) }?.names())
    })
}

/// Generates a floor as the bytes that a server sends.
///
/// # Safety
/// `pack` is a pack that is not freed, or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn floor_gen_encode(
    pack: *const Pack,
    seed: u64,
    number: u32,
    width: u32,
    height: u32,
    kind: u32,
) -> *const Bytes {
    guarded(|| {
        // SAFETY: the caller promises it.
        let pack = &unsafe { given(pack) }?.loaded;
        let spec = resolve(pack, seed, number, width, height, kind)?;
        let framed = with_generator(|generator| Ok(pack.framed(generator, &spec)?))?;
        Ok(Box::into_raw(OwnedBytes::new(floor_wire::unframed(&framed))).cast_const().cast())
    })
}

/// Frees bytes.
///
/// # Safety
/// `bytes` are not freed, or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn floor_gen_bytes_free(bytes: *const Bytes) {
    // SAFETY: it is null, or `floor_gen_encode` made it of such a box, which begins with `Bytes`.
    unsafe { free(bytes.cast::<OwnedBytes>()) }
}

/// Whether a player without keys who does not search can enter such a cell.
#[unsafe(no_mangle)]
pub extern "C" fn floor_gen_passable(terrain: u32) -> u32 {
    i32::try_from(terrain).ok().and_then(|number| Terrain::try_from(number).ok()).is_some_and(is_passable).into()
}

/// The pack of an argument.
///
/// # Safety
/// `pack` is a pack that is not freed for `'p`, or null.
unsafe fn given<'p>(pack: *const Pack) -> Result<&'p Pack, Failure> {
    // SAFETY: the caller promises it.
    unsafe { pack.as_ref() }.ok_or_else(|| {
        Failure::null("pack", "floor_gen_pack_built_in(), or what floor_gen_pack_load returned if it did not fail")
    })
}

/// The floor of an argument.
///
/// # Safety
/// `floor` is a floor that is not freed for `'f`, or null.
unsafe fn given_floor<'f>(floor: *const View) -> Result<&'f OwnedFloor, Failure> {
    // SAFETY: the caller promises it; `floor_gen_generate` made it of such a box, which begins with the view.
    unsafe { floor.cast::<OwnedFloor>().as_ref() }
        .ok_or_else(|| Failure::null("floor", "what floor_gen_generate returned if it did not fail"))
}

/// Frees what a box was made into.
///
/// # Safety
/// `value` was a box and is not freed, or is null.
unsafe fn free<T>(value: *const T) {
    if !value.is_null() {
        // SAFETY: the caller promises it.
        drop(unsafe { Box::from_raw(value.cast_mut()) });
    }
}

fn resolve(
    pack: &LoadedPack,
    seed: u64,
    number: u32,
    width: u32,
    height: u32,
    kind: u32,
) -> Result<FloorSpec, Failure> {
    let (kind, view) = (kind & !PLAYERS, if kind & PLAYERS == 0 { Seen::Everything } else { Seen::Player });
    let known = Kind::from_number(kind);
    if kind != 0 && known.is_none() {
        let names = Kind::ALL.map(|kind| format!("{} {}", kind as u32, kind.name())).join(", ");
        return Err(Failure::new(
            Code::Argument,
            format!("kind {kind} is none of {names} (or 0 for that of the pack)"),
        ));
    }
    Ok(pack.resolve(seed, number, width, height, known)?.with_view(view))
}

/// Calls `generate` with the generator of this thread. After a panic there is a new one.
fn with_generator<T>(generate: impl FnOnce(&mut Generator) -> Result<T, Failure>) -> Result<T, Failure> {
    let mut generator = GENERATOR.take();
    let made = generate(&mut generator);
    GENERATOR.set(generator);
    made
}
