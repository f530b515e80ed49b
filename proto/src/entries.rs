//! Refuses messages that take many times their bytes once they are decoded: an empty room is two bytes on the wire and
//! a struct in memory. Readers count the entries of the lists before they decode.

use prost::{
    DecodeError,
    bytes::Buf as _,
    encoding::{DecodeContext, WireType, decode_key, decode_varint, skip_field},
};

use crate::limits::MAX_SIDE;

/// The most entries in all lists of a floor together, and in its palettes: as many as the largest floor has cells.
pub const MAX_FLOOR_ENTRIES: usize = (MAX_SIDE * MAX_SIDE) as usize;
/// The fewest bytes of an entry: its tag and its length.
const ENTRY_BYTES: usize = 2;

/// Why a message is not decoded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EntriesError {
    /// The bytes are no message.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// The lists of the message are longer than any that a server sends.
    #[error("the message has more than {0} entries")]
    TooMany(usize),
}

/// Checks that an encoded message has at most `most` entries: fields with a length, whatever their number.
///
/// # Errors
/// [`EntriesError`] if it has more, or is none.
pub fn check(message: &[u8], most: usize) -> Result<(), EntriesError> {
    count(message, most, |_, _| Ok(0)).map(|_| ())
}

/// Checks that an encoded floor has at most [`MAX_FLOOR_ENTRIES`] entries, with the parts of its names and the bytes of its
/// palettes and of its furniture. Costs nothing for floors that are too short for so many.
///
/// # Errors
/// [`EntriesError`] if it has more, or is no message.
pub fn check_floor(floor: &[u8]) -> Result<(), EntriesError> {
    let inner = |field: u32, value: &[u8]| match field {
        // `terrain` and `region`.
        4 | 5 => palette_bytes(value),
        // `rooms`, whose field 6 is the name.
        8 => sum(value, |field, name| if field == 6 { parts(name) } else { Ok(0) }),
        // `name` and `hook`.
        18 | 19 => parts(value),
        // `furniture`: each byte may be a cell.
        21 => Ok(value.len()),
        _ => Ok(0),
    };
    count(floor, MAX_FLOOR_ENTRIES, inner).map(|_| ())
}

/// The fields with a length of an encoded text: most are its parts.
fn parts(text: &[u8]) -> Result<usize, EntriesError> {
    sum(text, |_, _| Ok(1))
}

/// The sum over the fields with a length.
fn sum(message: &[u8], of: impl Fn(u32, &[u8]) -> Result<usize, EntriesError>) -> Result<usize, EntriesError> {
    let mut sum = 0;
    each_field(message, |field, _, value| {
        sum += value.map_or(Ok(0), |value| of(field, value))?;
        Ok(())
    })?;
    Ok(sum)
}

/// The bytes of the palette in an encoded grid: each may become an entry of four bytes.
fn palette_bytes(grid: &[u8]) -> Result<usize, EntriesError> {
    /// `palette` of a grid.
    const PALETTE: u32 = 3;
    let mut bytes = 0;
    each_field(grid, |field, whole, _| {
        bytes += if field == PALETTE { whole.len() } else { 0 };
        Ok(())
    })?;
    Ok(bytes)
}

/// Counts the fields with a length, and what `inner` counts in each. Stops beyond `most`.
fn count(
    message: &[u8],
    most: usize,
    inner: impl Fn(u32, &[u8]) -> Result<usize, EntriesError>,
) -> Result<usize, EntriesError> {
    let mut entries = 0;
    if message.len() / ENTRY_BYTES > most {
        each_field(message, |field, _, value| {
            if let Some(value) = value {
                entries += 1 + inner(field, value)?;
            }
            if entries > most { Err(EntriesError::TooMany(most)) } else { Ok(()) }
        })?;
    }
    Ok(entries)
}

/// Calls `visit` for each field with its number, its bytes, and its value if that has a length.
fn each_field(
    message: &[u8],
    mut visit: impl FnMut(u32, &[u8], Option<&[u8]>) -> Result<(), EntriesError>,
) -> Result<(), EntriesError> {
    let mut rest = message;
    while rest.has_remaining() {
        let whole = rest;
        let (field, wire_type) = decode_key(&mut rest)?;
        let mut value = rest;
        skip_field(wire_type, field, &mut rest, DecodeContext::default())?;
        let value = if wire_type == WireType::LengthDelimited {
            decode_varint(&mut value)?;
            Some(&value[..value.len() - rest.len()])
        } else {
            None
        };
        visit(field, &whole[..whole.len() - rest.len()], value)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use prost::Message as _;

    use super::*;
    use crate::v1::{Floor, Furniture, Grid, Room, Text};

    #[test]
    fn entries_of_all_lists_count_together() {
        let room = [8 << 3 | 2, 0];
        let (half, whole) = (room.repeat(MAX_FLOOR_ENTRIES / 2), room.repeat(MAX_FLOOR_ENTRIES));
        assert_eq!(check_floor(&whole), Ok(()));
        assert_eq!(check_floor(&[&whole[..], &room].concat()), Err(EntriesError::TooMany(MAX_FLOOR_ENTRIES)));
        // Fields of a newer server count too, and so do palettes, packed or not.
        let newer = [99 << 3 | 2, 6, 0].repeat(MAX_FLOOR_ENTRIES / 2 + 1);
        assert!(check_floor(&[&half[..], &newer].concat()).is_err());
        let grid = Grid { palette: vec![1; MAX_FLOOR_ENTRIES + 1], ..Grid::default() };
        for grids in [
            Floor { terrain: Some(grid.clone()), ..Floor::default() },
            Floor { region: Some(grid), ..Floor::default() },
        ] {
            let long = Floor { rooms: vec![Room::default(); MAX_FLOOR_ENTRIES / 2], ..grids };
            assert!(check_floor(&long.encode_to_vec()).is_err());
        }
        let many = Text { parts: vec![String::new(); MAX_FLOOR_ENTRIES / 2], ..Text::default() };
        let grave = Furniture { archetype: "grave".to_owned(), cells: vec![1; MAX_FLOOR_ENTRIES] };
        let named = Room { name: Some(many.clone()), ..Room::default() };
        for (one, is_refused) in [
            (Floor { name: Some(many.clone()), ..Floor::default() }, true),
            (Floor { hook: Some(many), ..Floor::default() }, true),
            (Floor { furniture: vec![grave], ..Floor::default() }, true),
            (Floor { rooms: vec![named], ..Floor::default() }, true),
            (Floor { theme: "x".repeat(MAX_FLOOR_ENTRIES), ..Floor::default() }, false),
        ] {
            let bytes = [&half[..], &one.encode_to_vec()].concat();
            assert_eq!(check_floor(&bytes).is_err(), is_refused, "{:?}", one.name.is_some());
        }
        let unpacked = [3 << 3, 1].repeat(MAX_FLOOR_ENTRIES);
        assert_eq!(palette_bytes(&unpacked), Ok(2 * MAX_FLOOR_ENTRIES));
    }

    #[test]
    fn what_is_no_message_is_refused() {
        assert!(matches!(check(&[10, 5, 1], 0), Err(EntriesError::Decode(_))));
        assert_eq!(check(&[10, 0, 10, 0], 2), Ok(()));
        assert_eq!(check(&[10, 0, 10, 0], 1), Err(EntriesError::TooMany(1)));
    }
}
