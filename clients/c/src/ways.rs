//! Ways over a floor, and towers by name: `floor_proto::ways` and `floor_proto::seed` for C.

use std::{
    ffi::{CStr, c_char},
    slice,
};

use floor_proto::seed::seed;

use crate::{
    error::{Code, Failure, guarded_or},
    floor::{Point, View},
    given_floor,
};

/// The seed of a tower that people name.
///
/// # Safety
/// `text` is null or ends in 0; `into` is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn floor_gen_seed(text: *const c_char, into: *mut u64) -> u32 {
    guarded_or(0, || {
        if text.is_null() {
            return Err(Failure::null("text", "a number or the name of a tower"));
        }
        // SAFETY: the caller promises both.
        let (text, into) = unsafe { (CStr::from_ptr(text), into.as_mut()) };
        let into = into.ok_or_else(|| Failure::null("seed", "where the seed is written"))?;
        let text = text.to_str().map_err(|error| argument(format!("text is not UTF-8: {error}")))?;
        *into = seed(text).map_err(|error| argument(error.to_string()))?;
        Ok(1)
    })
}

/// Whether a walker with these keys can enter a cell.
///
/// # Safety
/// `floor` is a floor that is not freed, or null. `keys` has `key_count` numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn floor_gen_passable_with(
    floor: *const View,
    at: Point,
    keys: *const u32,
    key_count: usize,
) -> u32 {
    guarded_or(0, || {
        // SAFETY: the caller promises it.
        let (floor, keys) = unsafe { (given_floor(floor)?, given_keys(keys, key_count)?) };
        Ok(floor.with_ground(|ground| ground.passable(at.into(), keys)).into())
    })
}

/// Where a walker with these keys gets.
///
/// # Safety
/// `floor` is a floor that is not freed, or null. `keys` has `key_count` numbers, and `cells` has room for the floor's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn floor_gen_reachable(
    floor: *const View,
    from: Point,
    keys: *const u32,
    key_count: usize,
    cells: *mut u8,
) -> usize {
    guarded_or(0, || {
        // SAFETY: the caller promises it.
        let (floor, keys) = unsafe { (given_floor(floor)?, given_keys(keys, key_count)?) };
        let reached = floor.with_ground(|ground| ground.reachable(from.into(), keys));
        let reached: Vec<u8> = reached.into_iter().map(u8::from).collect();
        // SAFETY: the caller promises room for each cell.
        unsafe { write(&reached, cells, reached.len())? };
        Ok(reached.iter().map(|one| usize::from(*one)).sum())
    })
}

/// The shortest way.
///
/// # Safety
/// `floor` is a floor that is not freed, or null. `keys` has `key_count` numbers, and `cells` room for `capacity` points.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn floor_gen_path(
    floor: *const View,
    from: Point,
    to: Point,
    keys: *const u32,
    key_count: usize,
    cells: *mut Point,
    capacity: usize,
) -> usize {
    guarded_or(0, || {
        // SAFETY: the caller promises it.
        let (floor, keys) = unsafe { (given_floor(floor)?, given_keys(keys, key_count)?) };
        let path = floor.with_ground(|ground| ground.path(from.into(), to.into(), keys)).unwrap_or_default();
        let path: Vec<Point> = path.into_iter().map(|at| Some(at).into()).collect();
        // SAFETY: the caller promises room for so many.
        unsafe { write(&path, cells, capacity)? };
        Ok(path.len())
    })
}

/// Cells for a party.
///
/// # Safety
/// `floor` is a floor that is not freed, or null. `cells` has room for `count` points.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn floor_gen_starts(floor: *const View, cells: *mut Point, count: usize) -> usize {
    guarded_or(0, || {
        // SAFETY: the caller promises it.
        let floor = unsafe { given_floor(floor)? };
        let starts = floor.with_ground(|ground| ground.starts(count));
        let starts: Vec<Point> = starts.into_iter().map(|at| Some(at).into()).collect();
        // SAFETY: the caller promises room for so many.
        unsafe { write(&starts, cells, count)? };
        Ok(starts.len())
    })
}

const fn argument(message: String) -> Failure {
    Failure::new(Code::Argument, message)
}

/// The keys of an argument.
///
/// # Safety
/// `keys` has `count` numbers for `'k`, or is null.
unsafe fn given_keys<'k>(keys: *const u32, count: usize) -> Result<&'k [u32], Failure> {
    match (keys.is_null(), count) {
        (_, 0) => Ok(&[]),
        (true, _) => Err(Failure::null("keys", "the ids of key_count locks")),
        // SAFETY: the caller promises it.
        (false, _) => Ok(unsafe { slice::from_raw_parts(keys, count) }),
    }
}

/// Writes the first values, as many as there is room for.
///
/// # Safety
/// `into` has room for `capacity` values, or is null.
unsafe fn write<T: Copy>(values: &[T], into: *mut T, capacity: usize) -> Result<(), Failure> {
    let count = values.len().min(capacity);
    if count > 0 && into.is_null() {
        return Err(Failure::null("cells", "where the cells are written"));
    }
    if count > 0 {
        // SAFETY: the caller promises room for them, and new memory overlaps with none of it.
        unsafe { into.copy_from_nonoverlapping(values.as_ptr(), count) };
    }
    Ok(())
}
