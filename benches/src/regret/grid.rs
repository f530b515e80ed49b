//! The cells of the grid: every pair of values of two dimensions occurs in one of them.
//!
//! Most effects of a policy depend on one or two dimensions, and a set that covers all pairs needs about forty cells
//! instead of 1,440 (Kuhn, Wallace and Gallo, "Software Fault Interactions and Implications for Software Testing",
//! 2004). A greedy search found this one: its next cell had the most uncovered pairs. The plain cells come first.

use floor_cache::TierKind;

use super::cell::{Cell, Keys, StoreKind};
use crate::load::Shape;

const REDIS: StoreKind = StoreKind::redis(0);
const REDIS_200_US: StoreKind = StoreKind::redis(200);
const REDIS_1_MS: StoreKind = StoreKind::redis(1000);
const REDIS_6_MS: StoreKind = StoreKind::redis(6000);
const LMDB: StoreKind = StoreKind::of(TierKind::Lmdb);
const SLED: StoreKind = StoreKind::of(TierKind::Sled);

const ONE: Shape = Shape::new(1, 1);
const FORTY: Shape = Shape::new(4, 10);
const MANY: Shape = Shape::new(8, 50);

const ZIPF_07: Keys = Keys::Zipf { tenths: 7 };
const ZIPF_10: Keys = Keys::Zipf { tenths: 10 };
const ZIPF_12: Keys = Keys::Zipf { tenths: 12 };

/// The cells of the grid. Records name them by their index: append only.
pub const GRID: &[Cell] = &[
    cell(REDIS, FORTY, Keys::Uniform, 100, 1, 1),
    cell(REDIS, ONE, Keys::Uniform, 100, 1, 1),
    cell(REDIS_6_MS, FORTY, Keys::Uniform, 100, 1, 1),
    cell(LMDB, FORTY, ZIPF_10, 100, 1, 1),
    cell(REDIS, FORTY, ZIPF_10, 100, 1, 3),
    cell(SLED, MANY, ZIPF_07, 32, 16, 1),
    cell(REDIS_200_US, ONE, Keys::Scan, 256, 16, 3),
    cell(REDIS_1_MS, MANY, ZIPF_12, 512, 1, 3),
    cell(REDIS_1_MS, FORTY, Keys::Scan, 512, 16, 1),
    cell(SLED, FORTY, ZIPF_12, 256, 1, 1),
    cell(REDIS_200_US, FORTY, ZIPF_07, 32, 1, 3),
    cell(REDIS_6_MS, ONE, ZIPF_10, 32, 16, 3),
    cell(REDIS_200_US, MANY, Keys::Uniform, 100, 16, 1),
    cell(LMDB, ONE, ZIPF_12, 512, 16, 1),
    cell(REDIS, MANY, Keys::Scan, 32, 1, 1),
    cell(REDIS_1_MS, ONE, ZIPF_07, 100, 16, 3),
    cell(LMDB, MANY, ZIPF_10, 256, 1, 1),
    cell(REDIS_6_MS, MANY, ZIPF_07, 512, 1, 3),
    cell(SLED, ONE, Keys::Scan, 100, 16, 1),
    cell(REDIS, FORTY, ZIPF_07, 256, 16, 3),
    cell(REDIS_1_MS, FORTY, Keys::Uniform, 256, 1, 3),
    cell(LMDB, FORTY, Keys::Uniform, 32, 1, 1),
    cell(SLED, FORTY, ZIPF_10, 512, 1, 1),
    cell(REDIS, ONE, ZIPF_12, 100, 16, 3),
    cell(REDIS_1_MS, FORTY, ZIPF_12, 32, 16, 1),
    cell(REDIS, FORTY, Keys::Uniform, 512, 16, 1),
    cell(REDIS_200_US, FORTY, ZIPF_12, 512, 16, 3),
    cell(REDIS_6_MS, FORTY, ZIPF_12, 256, 1, 1),
    cell(REDIS_200_US, FORTY, ZIPF_10, 32, 1, 3),
    cell(REDIS_1_MS, MANY, ZIPF_10, 512, 1, 3),
    cell(LMDB, MANY, Keys::Scan, 100, 16, 1),
    cell(REDIS_6_MS, MANY, Keys::Scan, 32, 1, 1),
    cell(LMDB, ONE, ZIPF_07, 256, 16, 1),
    cell(SLED, ONE, Keys::Uniform, 32, 16, 1),
];

/// The few cells that the regression guard runs.
pub const SHORT: &[Cell] = &[
    Cell::PLAIN,
    cell(REDIS_6_MS, ONE, Keys::Uniform, 100, 1, 1),
    cell(REDIS_1_MS, FORTY, ZIPF_10, 100, 16, 1),
    cell(LMDB, FORTY, ZIPF_10, 100, 1, 1),
    cell(SLED, MANY, Keys::Uniform, 100, 1, 1),
];

const fn cell(store: StoreKind, shape: Shape, keys: Keys, side: u16, batch: u32, servers: usize) -> Cell {
    Cell { store, shape, keys, side, batch, servers }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const STORES: [StoreKind; 6] = [REDIS, REDIS_200_US, REDIS_1_MS, REDIS_6_MS, LMDB, SLED];
    const SHAPES: [Shape; 3] = [ONE, FORTY, MANY];
    const KEYS: [Keys; 5] = [ZIPF_07, ZIPF_10, ZIPF_12, Keys::Uniform, Keys::Scan];
    const SIDES: [u16; 4] = [32, 100, 256, 512];
    const BATCHES: [u32; 2] = [1, 16];
    const SERVERS: [usize; 2] = [1, 3];

    /// Floor cells that all calls in flight may have together. With more, a call waits for seconds when every floor is
    /// generated, and a turn of a few seconds measures little.
    const MAX_CELLS_IN_FLIGHT: u64 = 170_000_000;

    /// Whether the combination is possible: only Redis is shared, and calls in flight do not wait for seconds.
    fn is_valid(cell: &Cell) -> bool {
        let cells = u64::from(cell.side).pow(2) * u64::from(cell.batch) * cell.shape.in_flight() as u64;
        (cell.servers == 1 || cell.store.is_shared()) && cells <= MAX_CELLS_IN_FLIGHT
    }

    /// A cell as indices into the lists of its dimensions.
    type Indices = [usize; 6];

    /// A value of one dimension with a value of a later one: dimension and index, twice.
    type Pair = (usize, usize, usize, usize);

    fn all_combinations() -> impl Iterator<Item = Indices> {
        let sizes = [STORES.len(), SHAPES.len(), KEYS.len(), SIDES.len(), BATCHES.len(), SERVERS.len()];
        (0..sizes.iter().product()).map(move |mut number: usize| {
            sizes.map(|size| {
                let index = number % size;
                number /= size;
                index
            })
        })
    }

    fn cell_of([store, shape, keys, side, batch, servers]: Indices) -> Cell {
        cell(STORES[store], SHAPES[shape], KEYS[keys], SIDES[side], BATCHES[batch], SERVERS[servers])
    }

    fn pairs(indices: &Indices) -> impl Iterator<Item = Pair> {
        let indices = *indices;
        (0..indices.len()).flat_map(move |first| {
            (first + 1..indices.len()).map(move |second| (first, indices[first], second, indices[second]))
        })
    }

    #[test]
    fn every_pair_that_is_possible_occurs() {
        assert!(GRID.iter().chain(SHORT).all(is_valid));
        let covered: BTreeSet<Pair> = all_combinations()
            .filter(|indices| GRID.contains(&cell_of(*indices)))
            .flat_map(|indices| pairs(&indices).collect::<Vec<_>>())
            .collect();
        for indices in all_combinations().filter(|indices| is_valid(&cell_of(*indices))) {
            let name = cell_of(indices);
            assert!(pairs(&indices).all(|pair| covered.contains(&pair)), "{name} has a pair that is nowhere");
        }
    }

    #[test]
    fn no_cell_is_named_twice() {
        let names: BTreeSet<String> = GRID.iter().map(Cell::to_string).collect();
        assert_eq!(names.len(), GRID.len());
        assert_eq!(GRID[0], Cell::PLAIN);
    }
}
