//! The cells of the grid: a set in which every pair of values of two dimensions occurs.
//!
//! Effects of a policy come mostly from one dimension or from two together, and a covering set of pairs needs some forty
//! cells where all combinations are 1,440 (Kuhn, Wallace and Gallo, "Software Fault Interactions and Implications for
//! Software Testing", 2004). The set is made greedily: the next cell is the one with the most pairs that are not covered
//! yet, ties broken at random with a fixed seed.

use std::collections::BTreeSet;

use rand::{RngExt as _, SeedableRng as _, rngs::SmallRng};

use super::cell::{BATCHES, Cell, Keys, SERVERS, SIDES, Shape, StoreKind};

/// The seed that breaks ties.
const SEED: u64 = 2012;

/// Cells that the grid has whatever pairs they cover: the plain ones, from which a reader starts.
const FIRST: [Cell; 5] = [
    Cell::PLAIN,
    Cell { shape: Shape::new(1, 1), ..Cell::PLAIN },
    Cell { store: StoreKind::Redis { delay_us: 6000 }, ..Cell::PLAIN },
    Cell { store: StoreKind::Lmdb, keys: Keys::Zipf { tenths: 10 }, ..Cell::PLAIN },
    Cell { servers: 3, keys: Keys::Zipf { tenths: 10 }, ..Cell::PLAIN },
];

/// A cell as places in the lists of its dimensions.
type Places = [usize; 6];

/// A value of one dimension with a value of a later one: dimension and place, twice.
type Pair = (usize, usize, usize, usize);

/// The grid, always the same.
#[must_use]
pub fn grid() -> Vec<Cell> {
    let mut random = SmallRng::seed_from_u64(SEED);
    let all: Vec<Places> = every().filter(|places| cell(*places).is_valid()).collect();
    let mut open: BTreeSet<Pair> = all.iter().flat_map(pairs).collect();
    let mut grid = FIRST.to_vec();
    for places in all.iter().filter(|places| FIRST.contains(&cell(**places))) {
        pairs(places).for_each(|pair| {
            open.remove(&pair);
        });
    }
    while !open.is_empty() {
        let covers = |places: &Places| pairs(places).filter(|pair| open.contains(pair)).count();
        let most = all.iter().map(covers).max().expect("there are cells");
        let best: Vec<&Places> = all.iter().filter(|places| covers(places) == most).collect();
        let chosen = best[random.random_range(0..best.len())];
        pairs(chosen).for_each(|pair| {
            open.remove(&pair);
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

fn every() -> impl Iterator<Item = Places> {
    let sizes = [StoreKind::ALL.len(), Shape::ALL.len(), Keys::ALL.len(), SIDES.len(), BATCHES.len(), SERVERS.len()];
    (0..sizes.iter().product()).map(move |mut number: usize| {
        sizes.map(|size| {
            let place = number % size;
            number /= size;
            place
        })
    })
}

fn cell([store, shape, keys, side, batch, servers]: Places) -> Cell {
    Cell {
        store: StoreKind::ALL[store],
        shape: Shape::ALL[shape],
        keys: Keys::ALL[keys],
        side: SIDES[side],
        batch: BATCHES[batch],
        servers: SERVERS[servers],
    }
}

fn pairs(places: &Places) -> impl Iterator<Item = Pair> {
    let places = *places;
    (0..places.len()).flat_map(move |first| {
        (first + 1..places.len()).map(move |second| (first, places[first], second, places[second]))
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
        let covered: BTreeSet<Pair> = every()
            .filter(|places| grid.contains(&cell(*places)))
            .flat_map(|places| pairs(&places).collect::<Vec<_>>())
            .collect();
        for places in every().filter(|places| cell(*places).is_valid()) {
            assert!(pairs(&places).all(|pair| covered.contains(&pair)), "{} has a pair that is nowhere", cell(places));
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
