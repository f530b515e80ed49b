//! The grid codec: round trips, the choice of encoding, and invalid grids.

use floor_proto::{
    grid::{GridError, decode, encode},
    v1::{Grid, GridEncoding},
};
use proptest::prelude::*;

/// Grids like those of floors (few values, long runs), and noise.
fn cells() -> impl Strategy<Value = (u32, u32, Vec<u8>)> {
    (1u32..=64, 1u32..=64, 1usize..=256, 1usize..=40).prop_flat_map(|(width, height, values, run)| {
        let count = (width * height) as usize;
        prop::collection::vec((0..values, 1..=run), count.div_ceil(run).max(1)..=count).prop_map(move |runs| {
            let mut cells: Vec<u8> =
                runs.iter().flat_map(|(value, length)| std::iter::repeat_n(*value as u8, *length)).collect();
            cells.resize(count, 0);
            (width, height, cells)
        })
    })
}

/// A grid whose fields all have arbitrary values.
fn arbitrary_grid() -> impl Strategy<Value = Grid> {
    let side = prop_oneof![0u32..20, Just(512), Just(513), Just(u32::MAX)];
    let palette = prop_oneof![
        prop::collection::btree_set(0u32..256, 0..20).prop_map(|set| set.into_iter().collect()),
        prop::collection::vec(any::<u32>(), 0..300),
    ];
    let data = prop::collection::vec(any::<u8>(), 0..600);
    (side.clone(), side, palette, -1i32..7, 0u32..9, data).prop_map(|(width, height, palette, encoding, bits, data)| {
        Grid { width, height, palette, encoding, bits, data }
    })
}

/// The reference: the data length in each encoding, computed in the simplest way.
fn lengths(cells: &[u8]) -> Vec<(GridEncoding, usize)> {
    let mut values = cells.to_vec();
    values.sort_unstable();
    values.dedup();
    let mut lengths = Vec::new();
    if values.len() == 1 {
        lengths.push((GridEncoding::Uniform, 0));
    }
    lengths.push((GridEncoding::Raw8, cells.len()));
    if let Some(bits) = [1, 2, 4].into_iter().find(|bits| values.len() <= 1 << bits) {
        lengths.push((GridEncoding::Packed, (cells.len() * bits).div_ceil(8)));
    }
    let runs = cells.chunk_by(|a, b| a == b).map(|run| 1 + prost::encoding::encoded_len_varint(run.len() as u64 - 1));
    lengths.push((GridEncoding::Rle, runs.sum()));
    lengths
}

proptest! {
    #[test]
    fn decoding_restores_the_cells((width, height, cells) in cells()) {
        prop_assert_eq!(decode(&encode(width, height, &cells)), Ok(cells));
    }

    #[test]
    fn the_shortest_encoding_is_taken((width, height, cells) in cells()) {
        let grid = encode(width, height, &cells);
        let lengths = lengths(&cells);
        let least = lengths.iter().map(|(_, length)| *length).min().unwrap();
        let first = lengths.iter().find(|(_, length)| *length == least).unwrap();
        prop_assert_eq!((grid.encoding(), grid.data.len()), *first);
    }

    #[test]
    fn the_palette_is_what_occurs((width, height, cells) in cells()) {
        let values: std::collections::BTreeSet<u32> = cells.iter().map(|cell| u32::from(*cell)).collect();
        prop_assert_eq!(encode(width, height, &cells).palette, values.into_iter().collect::<Vec<_>>());
    }

    #[test]
    fn an_arbitrary_grid_fails_or_fills_its_cells(grid in arbitrary_grid()) {
        if let Ok(cells) = decode(&grid) {
            prop_assert_eq!(cells.len(), (grid.width * grid.height) as usize);
            prop_assert!(cells.capacity() <= cells.len().max(8));
            prop_assert!(cells.iter().all(|cell| grid.palette.contains(&u32::from(*cell))));
        }
    }

    #[test]
    fn a_damaged_grid_never_panics((width, height, cells) in cells(), at in any::<prop::sample::Index>(), with in any::<u8>()) {
        let mut grid = encode(width, height, &cells);
        if !grid.data.is_empty() {
            let at = at.index(grid.data.len());
            grid.data[at] = with;
        }
        if let Ok(decoded) = decode(&grid) {
            prop_assert_eq!(decoded.len(), cells.len());
        }
    }
}

#[test]
fn each_encoding_has_its_case() {
    let uniform = encode(3, 2, &[7; 6]);
    assert_eq!(
        (uniform.encoding(), uniform.palette.as_slice(), uniform.data.len()),
        (GridEncoding::Uniform, &[7][..], 0)
    );

    let packed = encode(3, 3, &[5, 9, 5, 9, 5, 9, 5, 9, 9]);
    assert_eq!((packed.encoding(), packed.bits), (GridEncoding::Packed, 1));
    assert_eq!(packed.data, [0b1010_1010, 0b1], "lowest bits first, unused bits zero");

    let runs = encode(300, 2, &[vec![1; 200], vec![4; 400]].concat());
    assert_eq!(runs.encoding(), GridEncoding::Rle);
    assert_eq!(runs.data, [0, 0xc7, 0x01, 1, 0x8f, 0x03], "200 - 1 and 400 - 1 as varints");

    let noise: Vec<u8> = (0..=255).collect();
    assert_eq!(encode(16, 16, &noise).encoding(), GridEncoding::Raw8);

    let tie = encode(2, 1, &[0, 255]);
    assert_eq!(tie.encoding(), GridEncoding::Packed);
}

#[test]
fn each_fault_is_reported() {
    let good = encode(4, 4, &[1, 1, 1, 1, 2, 2, 2, 2, 1, 1, 1, 1, 3, 3, 3, 4]);
    let with = |change: fn(&mut Grid)| {
        let mut grid = good.clone();
        change(&mut grid);
        decode(&grid)
    };
    assert_eq!(good.encoding(), GridEncoding::Packed);
    assert!(matches!(with(|g| g.width = 0), Err(GridError::Size { .. })));
    assert!(matches!(with(|g| g.height = 1 << 31), Err(GridError::Size { .. })));
    assert!(matches!(with(|g| g.width = 5), Err(GridError::Length { cells: 20 })));
    assert!(matches!(with(|g| g.palette.clear()), Err(GridError::Palette(0))));
    assert!(matches!(with(|g| g.palette[3] = 256), Err(GridError::Palette(4))));
    assert!(matches!(with(|g| g.palette.reverse()), Err(GridError::Palette(4))));
    assert!(matches!(with(|g| g.palette.truncate(2)), Err(GridError::Index { palette: 2, .. })));
    assert!(matches!(with(|g| g.bits = 3), Err(GridError::Bits(3))));
    assert!(matches!(with(|g| g.encoding = 9), Err(GridError::Encoding(9))));
    assert!(matches!(with(|g| g.encoding = GridEncoding::Uniform.into()), Err(GridError::Bits(2))));
    let rle = |data: &[u8]| {
        decode(&Grid {
            width: 4,
            height: 4,
            palette: vec![1, 2],
            encoding: GridEncoding::Rle.into(),
            bits: 0,
            data: data.to_vec(),
        })
    };
    assert_eq!(rle(&[0, 7, 1, 7]).unwrap().len(), 16);
    let wrong = Err(GridError::Length { cells: 16 });
    assert_eq!(rle(&[0, 7, 1, 6]), wrong, "too few");
    assert_eq!(rle(&[0, 7, 1, 8]), wrong, "too many");
    assert_eq!(rle(&[0, 0xff, 0xff, 0xff, 0xff, 0x7f]), wrong, "a run longer than any floor");
    assert_eq!(rle(&[0, 15, 1]), wrong, "half a pair");
    let padding = Grid {
        width: 3,
        height: 1,
        palette: vec![1, 2],
        encoding: GridEncoding::Packed.into(),
        bits: 1,
        data: vec![0b1011],
    };
    assert_eq!(decode(&padding), Err(GridError::Padding));
}
