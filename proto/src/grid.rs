//! The grid codec: encodes a rectangle of small values in the shortest of four encodings, and decodes it.
//!
//! Each grid has exactly one encoding, since the content hash needs equal bytes for equal grids. The palette lists the
//! values that occur, ascending. The encoding with the shortest data is used, and the first listed of equally short
//! ones. `PACKED` uses the fewest bits that index the palette. A run is as long as possible.

use crate::{
    limits::MAX_SIDE,
    v1::{Grid, GridEncoding},
};

/// Encodes `cells`, row-major, `width * height` of them.
///
/// # Panics
/// If `cells` is empty or its length is not `width * height`.
#[must_use]
pub fn encode(width: u32, height: u32, cells: &[u8]) -> Grid {
    assert!(!cells.is_empty(), "a grid has at least one cell");
    assert_eq!(cells.len(), width as usize * height as usize, "a {width}x{height} grid");
    let stats = CellStats::of(cells);
    let (encoding, bits) = stats.shortest(cells.len());
    let data = match encoding {
        GridEncoding::Raw8 => cells.iter().map(|cell| stats.index[usize::from(*cell)]).collect(),
        GridEncoding::Packed => pack(cells, &stats.index, bits),
        GridEncoding::Rle => stats.run_pairs(),
        GridEncoding::Uniform | GridEncoding::Unspecified => Vec::new(),
    };
    Grid { width, height, palette: stats.palette, encoding: encoding.into(), bits, data }
}

/// The cells of `grid`, row-major.
///
/// Allocates in proportion to `width * height`, and nothing if a side exceeds [`MAX_SIDE`].
///
/// # Errors
/// [`GridError`] if the data does not fill exactly `width * height` cells, or if fields contradict each other.
pub fn decode(grid: &Grid) -> Result<Vec<u8>, GridError> {
    let side = 1..=MAX_SIDE;
    if !side.contains(&grid.width) || !side.contains(&grid.height) {
        return Err(GridError::Size { width: grid.width, height: grid.height });
    }
    let cells = grid.width as usize * grid.height as usize;
    let palette = palette(grid)?;
    let encoding = GridEncoding::try_from(grid.encoding).map_err(|_| GridError::Encoding(grid.encoding))?;
    if encoding != GridEncoding::Packed && grid.bits != 0 {
        return Err(GridError::Bits(grid.bits));
    }
    match encoding {
        GridEncoding::Uniform => unpack_uniform(&grid.data, &palette, cells),
        GridEncoding::Raw8 => unpack_raw(&grid.data, &palette, cells),
        GridEncoding::Packed => unpack_packed(&grid.data, &palette, cells, grid.bits),
        GridEncoding::Rle => unpack_runs(&grid.data, &palette, cells),
        GridEncoding::Unspecified => Err(GridError::Encoding(grid.encoding)),
    }
}

/// Why a grid does not decode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GridError {
    /// A side is 0 or longer than [`MAX_SIDE`].
    #[error("a grid of {width}x{height} cells: each side must be 1 ..= {MAX_SIDE}")]
    Size {
        /// Cells from west to east.
        width: u32,
        /// Cells from north to south.
        height: u32,
    },
    /// The palette is empty, longer than 256, not ascending, or holds a value over 255.
    #[error("a palette of {0} entries: it must hold 1 ..= 256 values up to 255, ascending, each once")]
    Palette(usize),
    /// The encoding is unknown to this version.
    #[error("grid encoding {0} is unknown")]
    Encoding(i32),
    /// `bits` is not 1, 2 or 4 in a packed grid, or not 0 in another.
    #[error("{0} bits an index: a packed grid has 1, 2 or 4, any other 0")]
    Bits(u32),
    /// An index beyond the palette.
    #[error("palette index {index} in a palette of {palette}")]
    Index {
        /// The index.
        index: usize,
        /// Entries in the palette.
        palette: usize,
    },
    /// The data fills fewer or more cells than the grid has.
    #[error("grid data do not fill exactly {cells} cells")]
    Length {
        /// `width * height`.
        cells: usize,
    },
    /// Bits after the last cell are set.
    #[error("unused bits after the last cell are not zero")]
    Padding,
}

/// The runs, the palette, and the palette index of each value. One pass over the cells collects them.
struct CellStats {
    runs: Vec<(u8, u32)>,
    palette: Vec<u32>,
    index: [u8; 256],
}

impl CellStats {
    fn of(cells: &[u8]) -> Self {
        let runs = runs(cells);
        let mut occurs = [false; 256];
        for (value, _) in &runs {
            occurs[usize::from(*value)] = true;
        }
        let mut index = [0; 256];
        let mut palette = Vec::with_capacity(16);
        for (value, slot) in (0u32..).zip(&mut index) {
            if occurs[value as usize] {
                *slot = u8::try_from(palette.len()).expect("at most 256 bytes differ");
                palette.push(value);
            }
        }
        Self { runs, palette, index }
    }

    /// The encoding with the shortest data, the first listed of equals, and its bits per index.
    fn shortest(&self, cells: usize) -> (GridEncoding, u32) {
        let bits = match self.palette.len() {
            1 => return (GridEncoding::Uniform, 0),
            2 => 1,
            3..=4 => 2,
            5..=16 => 4,
            _ => 0,
        };
        let packed = if bits == 0 { usize::MAX } else { (cells * bits as usize).div_ceil(8) };
        let runs = self.runs.iter().map(|(_, length)| 1 + varint_len(length - 1)).sum::<usize>();
        [(cells, GridEncoding::Raw8, 0), (packed, GridEncoding::Packed, bits), (runs, GridEncoding::Rle, 0)]
            .into_iter()
            .min_by_key(|(length, ..)| *length)
            .map(|(_, encoding, bits)| (encoding, bits))
            .expect("three candidates")
    }

    fn run_pairs(&self) -> Vec<u8> {
        let mut data = Vec::with_capacity(self.runs.len() * 2 + 16);
        for (value, length) in &self.runs {
            data.push(self.index[usize::from(*value)]);
            let mut rest = length - 1;
            while rest >= 0x80 {
                data.push(rest as u8 | 0x80);
                rest >>= 7;
            }
            data.push(rest as u8);
        }
        data
    }
}

/// The maximal runs of equal cells, as value and length.
///
/// Most cells equal their neighbour. So the function compares eight cells at a time with the eight that start one cell
/// earlier. Each byte that differs is the start of a run.
fn runs(cells: &[u8]) -> Vec<(u8, u32)> {
    let mut runs = Vec::with_capacity(cells.len() / 6 + 8);
    let mut start = 0;
    let mut at = 1;
    let mut end_run = |start: &mut usize, at: usize| {
        runs.push((cells[*start], (at - *start) as u32));
        *start = at;
    };
    while at + 8 <= cells.len() {
        let mut differing = word(cells, at) ^ word(cells, at - 1);
        while differing != 0 {
            let byte = differing.trailing_zeros() / 8;
            end_run(&mut start, at + byte as usize);
            differing &= u64::MAX.checked_shl(8 * (byte + 1)).unwrap_or(0);
        }
        at += 8;
    }
    for at in at..cells.len() {
        if cells[at] != cells[at - 1] {
            end_run(&mut start, at);
        }
    }
    end_run(&mut start, cells.len());
    runs
}

/// Eight cells, the first in the lowest byte.
fn word(cells: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(cells[at..at + 8].try_into().expect("eight bytes"))
}

const fn varint_len(value: u32) -> usize {
    (38 - (value | 1).leading_zeros() as usize) / 7
}

fn pack(cells: &[u8], index: &[u8; 256], bits: u32) -> Vec<u8> {
    cells
        .chunks(8 / bits as usize)
        .map(|chunk| chunk.iter().rev().fold(0, |byte, cell| byte << bits | index[usize::from(*cell)]))
        .collect()
}

/// The palette as bytes.
fn palette(grid: &Grid) -> Result<Vec<u8>, GridError> {
    let wrong = GridError::Palette(grid.palette.len());
    if grid.palette.is_empty() || grid.palette.len() > 256 || !grid.palette.is_sorted_by(|a, b| a < b) {
        return Err(wrong);
    }
    grid.palette.iter().map(|value| u8::try_from(*value).map_err(|_| wrong)).collect()
}

fn unpack_uniform(data: &[u8], palette: &[u8], cells: usize) -> Result<Vec<u8>, GridError> {
    if !data.is_empty() {
        return Err(GridError::Length { cells });
    }
    match palette {
        [value] => Ok(vec![*value; cells]),
        _ => Err(GridError::Palette(palette.len())),
    }
}

fn unpack_raw(data: &[u8], palette: &[u8], cells: usize) -> Result<Vec<u8>, GridError> {
    if data.len() != cells {
        return Err(GridError::Length { cells });
    }
    data.iter().map(|index| look_up(palette, usize::from(*index))).collect()
}

fn unpack_packed(data: &[u8], palette: &[u8], cells: usize, bits: u32) -> Result<Vec<u8>, GridError> {
    if !matches!(bits, 1 | 2 | 4) {
        return Err(GridError::Bits(bits));
    }
    if data.len() != (cells * bits as usize).div_ceil(8) {
        return Err(GridError::Length { cells });
    }
    let per_byte = 8 / bits as usize;
    let mask = (1u8 << bits) - 1;
    let mut out = Vec::with_capacity(cells);
    for byte in data {
        let used = per_byte.min(cells - out.len());
        for slot in 0..used {
            out.push(look_up(palette, usize::from(byte >> (slot as u32 * bits) & mask))?);
        }
        if used < per_byte && byte >> (used as u32 * bits) != 0 {
            return Err(GridError::Padding);
        }
    }
    Ok(out)
}

fn unpack_runs(data: &[u8], palette: &[u8], cells: usize) -> Result<Vec<u8>, GridError> {
    let wrong = GridError::Length { cells };
    let mut out = Vec::with_capacity(cells);
    let mut bytes = data.iter();
    while let Some(index) = bytes.next() {
        let value = look_up(palette, usize::from(*index))?;
        let mut length = 0usize;
        let mut shift = 0;
        loop {
            let byte = *bytes.next().ok_or(wrong)?;
            length |= usize::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                break;
            }
            shift += 7;
            // Three bytes hold 21 bits, and no run is longer than 512 * 512 cells.
            if shift > 14 {
                return Err(wrong);
            }
        }
        if length >= cells - out.len() {
            return Err(wrong);
        }
        out.resize(out.len() + length + 1, value);
    }
    if out.len() == cells { Ok(out) } else { Err(wrong) }
}

fn look_up(palette: &[u8], index: usize) -> Result<u8, GridError> {
    palette.get(index).copied().ok_or(GridError::Index { index, palette: palette.len() })
}
