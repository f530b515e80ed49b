//! Grids apart from floors: every encoding, and what a decoder easily gets wrong.

use floor_proto::{
    grid,
    v1::{Grid, GridEncoding},
};
use prost::Message;
use serde::Serialize;

use super::{digest, hex};

/// Cells of a larger grid are given by their hash alone.
const MAX_CELLS: usize = 1024;

#[derive(Serialize)]
pub(super) struct GridVector {
    name: &'static str,
    /// The encoded `Grid`, in hexadecimal.
    bytes: String,
    encoding: &'static str,
    bits: u32,
    width: u32,
    height: u32,
    /// The values of the cells in hexadecimal, one byte each, row by row; none in large grids.
    #[serde(skip_serializing_if = "Option::is_none")]
    cells: Option<String>,
    /// XXH3-64 of the cells.
    cells_xxh3: String,
    /// Whether an encoder must write the cells so. Decoders accept the other encodings too.
    canonical: bool,
}

pub(super) fn all() -> Vec<GridVector> {
    let mut vectors: Vec<GridVector> = canonical()
        .into_iter()
        .map(|(name, width, height, cells)| vector(name, &grid::encode(width, height, &cells), &cells))
        .collect();
    vectors.extend(others().into_iter().map(|(name, grid, cells)| vector(name, &grid, &cells)));
    vectors
}

/// Cells, from which the encoder makes the one canonical grid.
fn canonical() -> Vec<(&'static str, u32, u32, Vec<u8>)> {
    let mut run_of_three_bytes = vec![1; 20_000];
    run_of_three_bytes.resize(512 * 512, 2);
    let mut runs = vec![1; 300];
    runs.resize(400, 2);
    vec![
        ("uniform", 4, 2, vec![1; 8]),
        ("uniform_of_zero", 16, 16, vec![0; 256]),
        ("uniform_one_cell", 1, 1, vec![255]),
        ("uniform_largest", 512, 512, vec![3; 512 * 512]),
        ("packed_1", 4, 2, vec![1, 1, 2, 1, 2, 2, 1, 1]),
        ("packed_1_with_unused_bits", 11, 1, alternating(11, &[0, 9])),
        ("packed_2_with_unused_bits", 5, 1, vec![1, 2, 3, 1, 2]),
        ("packed_2", 6, 4, alternating(24, &[7, 200, 8, 9])),
        ("packed_4", 7, 3, alternating(21, &[5, 1, 4, 2, 3])),
        ("packed_4_of_sixteen", 17, 9, alternating(153, &[15, 0, 14, 1, 13, 2, 12, 3, 11, 4, 10, 5, 9, 6, 8, 7])),
        ("packed_wins_a_tie", 8, 4, [[1; 20].as_slice(), &[2; 12]].concat()),
        ("raw8", 5, 4, (0..20).collect()),
        ("raw8_of_256_values", 32, 16, (0..512).map(|i| (i * 7 % 256) as u8).collect()),
        ("rle", 20, 20, runs),
        ("rle_run_of_128_and_129", 257, 1, [[6; 128].as_slice(), &[7; 129]].concat()),
        ("rle_run_lengths_of_three_bytes", 512, 512, run_of_three_bytes),
        ("rle_of_seventeen_values", 17, 17, (0..17).flat_map(|value| [value * 3; 17]).collect()),
    ]
}

/// Valid grids that no encoder writes, with the cells that they stand for.
fn others() -> Vec<(&'static str, Grid, Vec<u8>)> {
    let grid = |encoding: GridEncoding, bits, palette: &[u32], data: &[u8]| Grid {
        width: 4,
        height: 2,
        palette: palette.to_vec(),
        encoding: encoding.into(),
        bits,
        data: data.to_vec(),
    };
    let ones = vec![1; 8];
    let halves = vec![1, 1, 1, 1, 2, 2, 2, 2];
    vec![
        ("raw8_of_one_value", grid(GridEncoding::Raw8, 0, &[1], &[0; 8]), ones.clone()),
        ("packed_2_for_two_values", grid(GridEncoding::Packed, 2, &[1, 2], &[0x00, 0x55]), halves.clone()),
        ("packed_with_an_unused_entry", grid(GridEncoding::Packed, 1, &[1, 2], &[0x00]), ones.clone()),
        ("rle_where_packed_is_shorter", grid(GridEncoding::Rle, 0, &[1, 2], &[0, 3, 1, 3]), halves.clone()),
        ("rle_with_a_divided_run", grid(GridEncoding::Rle, 0, &[1, 2], &[0, 1, 0, 1, 1, 3]), halves),
        ("rle_with_a_long_varint", grid(GridEncoding::Rle, 0, &[1], &[0, 0x87, 0x80, 0x00]), ones),
    ]
}

fn alternating(cells: usize, values: &[u8]) -> Vec<u8> {
    (0..cells).map(|i| values[i % values.len()]).collect()
}

fn vector(name: &'static str, grid: &Grid, cells: &[u8]) -> GridVector {
    GridVector {
        name,
        bytes: hex(&grid.encode_to_vec()),
        encoding: grid.encoding().as_str_name(),
        bits: grid.bits,
        width: grid.width,
        height: grid.height,
        cells: (cells.len() <= MAX_CELLS).then(|| hex(cells)),
        cells_xxh3: digest(cells),
        canonical: grid::encode(grid.width, grid.height, cells) == *grid,
    }
}
