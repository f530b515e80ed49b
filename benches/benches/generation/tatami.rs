//! Adapter of tatami-dungeon: rectangular rooms and corridors, with stairs, items, enemies and traps placed by noise.

use tatami_dungeon::{Dungeon, GenerateDungeonParams, Tile};

/// The side of a default floor in tiles: 32 cells of 6 tiles.
pub(crate) const SIDE: u16 = 192;

/// One floor with its default parameters, which are for five floors.
pub(crate) fn floor(number: u64) -> Dungeon {
    let mut seed = [0; 32];
    seed[..8].copy_from_slice(&number.to_le_bytes());
    let params = GenerateDungeonParams { num_floors: 1, ..GenerateDungeonParams::default() };
    Dungeon::generate_with_seed_and_params(seed, params).expect("its own parameters")
}

/// The number of walkable tiles. Asserts that the floor has rooms.
pub(crate) fn open_cells(dungeon: &Dungeon) -> usize {
    let floor = &dungeon.floors[0];
    assert!(!floor.rooms.is_empty(), "a floor has rooms");
    floor.tiles.iter().flatten().filter(|tile| **tile == Tile::Floor).count()
}
