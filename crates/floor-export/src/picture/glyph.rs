//! The ASCII character of everything that a cell can show, and the colours of terrain.

use anstyle::RgbColor;
pub use floor_proto::glyph::{of, terrain};
use floor_proto::v1::Terrain;

use super::scene::{Mark, Object};

/// The colour of a terrain.
pub(super) const fn colour(terrain: Terrain) -> RgbColor {
    match terrain {
        Terrain::Unspecified => RgbColor(0xff, 0x00, 0xff),
        Terrain::Wall => RgbColor(0x5d, 0x58, 0x68),
        Terrain::Floor => RgbColor(0xa3, 0x97, 0x82),
        Terrain::Door => RgbColor(0xb9, 0x7a, 0x3d),
        Terrain::LockedDoor => RgbColor(0xff, 0x00, 0xff),
        Terrain::SecretDoor => RgbColor(0x9a, 0x7f, 0xc4),
        Terrain::StairsUp => RgbColor(0x7b, 0xe0, 0x7b),
        Terrain::StairsDown => RgbColor(0x6f, 0xb4, 0xff),
        Terrain::ShallowWater => RgbColor(0x4f, 0x9d, 0xbd),
        Terrain::DeepWater => RgbColor(0x24, 0x5a, 0x8c),
        Terrain::Lava => RgbColor(0xf2, 0x6a, 0x21),
        Terrain::Chasm => RgbColor(0x86, 0x6c, 0xb0),
        Terrain::Bridge => RgbColor(0x9c, 0x6b, 0x3a),
        Terrain::Grass => RgbColor(0x6d, 0xa3, 0x4d),
        Terrain::Rubble => RgbColor(0x8b, 0x83, 0x78),
        Terrain::Pillar => RgbColor(0xcd, 0xc5, 0xb4),
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
