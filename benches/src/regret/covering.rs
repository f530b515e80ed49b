//! The cells of the grid: a set in which every pair of values of two dimensions occurs.
//!
//! Most effects of a policy depend on one or two dimensions, and a set that covers all pairs needs about forty cells
//! instead of 1,440 (Kuhn, Wallace and Gallo, "Software Fault Interactions and Implications for Software Testing",
//! 2004). The algorithm is greedy: the next cell has the most uncovered pairs, with ties broken at random (fixed seed).

use std::collections::BTreeSet;

use rand::{RngExt as _, SeedableRng as _, rngs::SmallRng};

use super::cell::{BATCHES, Cell, Keys, SERVERS, SIDES, Shape, StoreKind};

/// The seed that breaks ties.
const SEED: u64 = 2012;

/// Cells that are always in the grid: the plain ones, which a reader looks at first.
const FIRST: [Cell; 5] = [
    Cell::PLAIN,
    Cell { shape: Shape::new(1, 1), ..Cell::PLAIN },
    Cell { store: StoreKind::Redis { delay_us: 6000 }, ..Cell::PLAIN },
    Cell { store: StoreKind::Lmdb, keys: Keys::Zipf { tenths: 10 }, ..Cell::PLAIN },
    Cell { servers: 3, keys: Keys::Zipf { tenths: 10 }, ..Cell::PLAIN },
];

/// A cell as indices into the lists of its dimensions.
type Indices = [usize; 6];

/// A value of one dimension with a value of a later one: dimension and index, twice.
type Pair = (usize, usize, usize, usize);

/// The cells of the grid, the same in every run.
#[must_use]
pub fn grid() -> Vec<Cell> {
    let mut random = SmallRng::seed_from_u64(SEED);
    let all: Vec<Indices> = all_combinations().filter(|indices| cell(*indices).is_valid()).collect();
    let mut uncovered: BTreeSet<Pair> = all.iter().flat_map(pairs).collect();
    let mut grid = FIRST.to_vec();
    for indices in all.iter().filter(|indices| FIRST.contains(&cell(**indices))) {
        pairs(indices).for_each(|pair| {
            uncovered.remove(&pair);
        });
    }
    while !uncovered.is_empty() {
        let covers = |indices: &Indices| pairs(indices).filter(|pair| uncovered.contains(pair)).count();
        let most = all.iter().map(covers).max().expect("there are cells");
        let best: Vec<&Indices> = all.iter().filter(|indices| covers(indices) == most).collect();
        let chosen = best[random.random_range(0..best.len())];
        pairs(chosen).for_each(|pair| {
            uncovered.remove(&pair);
        });
        grid.push(cell(*chosen));
    }
    grid
}

/// The few cells that the regression guard runs.
#[must_use]
pub fn short() -> Vec<Cell> {
    let zipf = Keys::Zipf { tenths: 10 };
    vec![
        Cell::PLAIN,
        Cell { store: StoreKind::Redis { delay_us: 6000 }, shape: Shape::new(1, 1), ..Cell::PLAIN },
        Cell { store: StoreKind::Redis { delay_us: 1000 }, keys: zipf, batch: 16, ..Cell::PLAIN },
        Cell { store: StoreKind::Lmdb, keys: zipf, ..Cell::PLAIN },
        Cell { store: StoreKind::Sled, shape: Shape::new(8, 50), ..Cell::PLAIN },
    ]
}

fn all_combinations() -> impl Iterator<Item = Indices> {
    let sizes = [StoreKind::ALL.len(), Shape::ALL.len(), Keys::ALL.len(), SIDES.len(), BATCHES.len(), SERVERS.len()];
    (0..sizes.iter().product()).map(move |mut number: usize| {
        sizes.map(|size| {
            let index = number % size;
            number /= size;
            index
        })
    })
}

fn cell([store, shape, keys, side, batch, servers]: Indices) -> Cell {
    Cell {
        store: StoreKind::ALL[store],
        shape: Shape::ALL[shape],
        keys: Keys::ALL[keys],
        side: SIDES[side],
        batch: BATCHES[batch],
        servers: SERVERS[servers],
    }
}

fn pairs(indices: &Indices) -> impl Iterator<Item = Pair> {
    let indices = *indices;
    (0..indices.len()).flat_map(move |first| {
        (first + 1..indices.len()).map(move |second| (first, indices[first], second, indices[second]))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_that_is_possible_occurs_in_about_forty_cells() {
        let grid = grid();
        assert!((30..=45).contains(&grid.len()), "{} cells", grid.len());
        assert!(grid.iter().all(Cell::is_valid));
        let covered: BTreeSet<Pair> = all_combinations()
            .filter(|indices| grid.contains(&cell(*indices)))
            .flat_map(|indices| pairs(&indices).collect::<Vec<_>>())
            .collect();
        for indices in all_combinations().filter(|indices| cell(*indices).is_valid()) {
            assert!(
                pairs(&indices).all(|pair| covered.contains(&pair)),
                "{} has a pair that is nowhere",
                cell(indices)
            );
        }
        assert_eq!(grid, super::grid(), "the grid is always the same");
        assert!(short().iter().all(Cell::is_valid));
    }

    #[test]
    fn no_cell_is_named_twice() {
        let names: BTreeSet<String> = grid().iter().map(Cell::to_string).collect();
        assert_eq!(names.len(), grid().len());
    }
}
