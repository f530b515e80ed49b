//! The ASCII character of everything that a cell can show.

pub use floor_proto::glyph::{of, terrain};
use floor_proto::v1::Terrain;

use super::scene::{Mark, Object};

/// The glyph of a mark. A locked door shows the number of its lock if that has one digit.
pub(crate) fn mark(mark: Mark) -> char {
    match mark {
        Mark::Rock => ' ',
        Mark::Terrain(terrain) => of(terrain),
        Mark::Locked(lock @ 1..=9) => char::from_digit(lock, 10).unwrap_or('L'),
        Mark::Locked(_) => of(Terrain::LockedDoor),
        Mark::Object(Object::Monster(monster)) => monster.letter,
        Mark::Object(Object::Key(_)) => '%',
        Mark::Object(Object::Loot) => '$',
        Mark::Object(Object::Trap) => '^',
        Mark::Furniture(piece) => piece.letter,
        Mark::Step(_) => '*',
        Mark::Behind(_) => of(Terrain::Floor),
        Mark::Outline => '0',
    }
}

#[cfg(test)]
mod tests {
    use floor_proto::v1::Terrain;

    const PAGE: &str = include_str!("../../../../docs/protocol.md");

    #[test]
    fn the_protocol_lists_every_terrain_with_its_glyph() {
        let section = PAGE.split("\n## Terrain\n").nth(1).unwrap().split("\n## ").next().unwrap();
        let rows: Vec<_> = section.lines().filter(|line| line.starts_with("| ") && line.contains("| `")).collect();
        let terrains: Vec<_> = (1..).map_while(|number| Terrain::try_from(number).ok()).collect();
        assert_eq!(rows.len(), terrains.len());
        for (row, terrain) in rows.into_iter().zip(terrains) {
            let name = terrain.as_str_name().trim_start_matches("TERRAIN_");
            let expected = format!("| {} | `{name}` | `{}` |", terrain as i32, super::of(terrain));
            assert!(row.starts_with(&expected), "{row:?} does not start with {expected:?}");
        }
    }
}
