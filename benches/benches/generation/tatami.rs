//! tatami-dungeon: rooms and corridors of rectangles with stairs, items, enemies and traps by noise.

use tatami_dungeon::{Dungeon, GenerateDungeonParams, Tile};

/// Tiles along a side of one of its default floors: 32 cells of 6 tiles.
pub(crate) const SIDE: u16 = 192;

/// One floor by its default parameters, which make five.
pub(crate) fn floor(number: u64) -> Dungeon {
    let mut seed = [0; 32];
    seed[..8].copy_from_slice(&number.to_le_bytes());
    let params = GenerateDungeonParams { num_floors: 1, ..GenerateDungeonParams::default() };
    Dungeon::generate_with_seed_and_params(seed, params).expect("its own parameters")
}

/// Tiles where a walker may stand, of a floor that has rooms.
pub(crate) fn open_cells(dungeon: &Dungeon) -> usize {
    let floor = &dungeon.floors[0];
    assert!(!floor.rooms.is_empty(), "a floor has rooms");
    floor.tiles.iter().flatten().filter(|tile| **tile == Tile::Floor).count()
}
