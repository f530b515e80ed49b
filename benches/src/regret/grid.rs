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
/// Redis at each distance.
pub const DISTANCES: [StoreKind; 4] = [REDIS, REDIS_200_US, REDIS_1_MS, REDIS_6_MS];
/// The sides of floors.
pub const SIDES: [u16; 4] = [32, 100, 256, 512];
/// The loads: one caller, a gateway, many callers.
pub const LOADS: [Shape; 3] = [ONE, FORTY, MANY];

const LMDB: StoreKind = StoreKind::of(TierKind::Lmdb);
const SLED: StoreKind = StoreKind::of(TierKind::Sled);

const ONE: Shape = Shape::new(1, 1);
const FORTY: Shape = Shape::new(4, 10);
const MANY: Shape = Shape::new(8, 50);

const ZIPF_07: Keys = Keys::Zipf { tenths: 7 };
const ZIPF_10: Keys = Keys::Zipf { tenths: 10 };
const ZIPF_12: Keys = Keys::Zipf { tenths: 12 };

/// The cells of the grid. Documents name them by their index: append only.
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

/// Cells of one floor a call for the pictures of the documents: from Redis at each distance, by side for one caller,
/// and by calls in flight.
pub fn distances() -> impl Iterator<Item = Cell> {
    let sides = SIDES.map(|side| Cell { shape: ONE, side, ..Cell::PLAIN });
    let loads = LOADS.map(|shape| Cell { shape, ..Cell::PLAIN });
    let loads = loads.into_iter().filter(move |cell| !sides.contains(cell));
    sides.into_iter().chain(loads).flat_map(|cell| DISTANCES.map(|store| Cell { store, ..cell }))
}

const fn cell(store: StoreKind, shape: Shape, keys: Keys, side: u16, batch: u32, servers: usize) -> Cell {
    Cell { store, shape, keys, side, batch, servers }
}
