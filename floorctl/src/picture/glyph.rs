//! The ASCII character of everything that a cell can show.

use floor_client::Terrain;

use super::scene::{Mark, Object};

/// The glyph of a terrain. Each terrain has a different one, so the glyphs can be parsed back.
pub(crate) const fn of(terrain: Terrain) -> char {
    match terrain {
        Terrain::Unspecified => '?',
        Terrain::Wall => '#',
        Terrain::Floor => '.',
        Terrain::Door => '+',
        Terrain::LockedDoor => 'L',
        Terrain::SecretDoor => 'S',
        Terrain::StairsUp => '<',
        Terrain::StairsDown => '>',
        Terrain::ShallowWater => '~',
        Terrain::DeepWater => '}',
        Terrain::Lava => '{',
        Terrain::Chasm => ':',
        Terrain::Bridge => '=',
        Terrain::Grass => '"',
        Terrain::Rubble => ',',
        Terrain::Pillar => 'O',
    }
}

/// The glyph of a mark. A locked door shows the number of its lock if that has one digit.
pub(crate) fn mark(mark: Mark) -> char {
    match mark {
        Mark::Rock => ' ',
        Mark::Terrain(terrain) => of(terrain),
        Mark::Locked(lock @ 1..=9) => char::from_digit(lock, 10).unwrap_or('L'),
        Mark::Locked(_) => of(Terrain::LockedDoor),
        Mark::Object(Object::Monster(letter)) => letter,
        Mark::Object(Object::Key(_)) => '%',
        Mark::Object(Object::Loot) => '$',
        Mark::Object(Object::Trap) => '^',
        Mark::Step(_) => '*',
        Mark::Behind(_) => of(Terrain::Floor),
        Mark::Outline => '0',
    }
}
