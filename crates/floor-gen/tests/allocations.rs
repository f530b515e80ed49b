//! A warm generator allocates only what a floor returns.

use allocation_counter::measure;
use floor_gen::{FloorSpec, Generator, Kind};

/// Two grids, rooms, connections, spawns, items, locks, traps and furniture.
const PARTS_OF_A_FLOOR: u64 = 9;
/// A text and its parts for the floor, its hook and five rooms, and the list of these; and two rooms whose names another
/// room had already.
const NAMES_OF_A_FLOOR: u64 = 7 * 2 + 1 + 2 * 2;

#[test]
fn a_warm_generator_allocates_only_what_a_floor_returns() {
    let mut generator = Generator::new();
    for kind in Kind::ALL {
        let spec = |seed| FloorSpec::resolve(seed, 7, 0, 0, Some(kind)).unwrap();
        // Warm-up: the memory grows to what this kind needs, but for rare outliers.
        for seed in 0..300 {
            let _ = generator.generate(&spec(seed));
        }
        let made = measure(|| (300..400).for_each(|seed| drop(generator.generate(&spec(seed))))).count_total;
        assert!(made <= 100 * (PARTS_OF_A_FLOOR + NAMES_OF_A_FLOOR) + 20, "{kind}: {made} allocations for 100 floors");
    }
}
