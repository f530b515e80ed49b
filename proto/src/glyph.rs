//! The ASCII character of each terrain, in maps of text and in the JSON of floors.

use crate::v1::Terrain;

/// The glyph of a terrain. Each terrain has a different one, so the glyphs can be parsed back.
#[must_use]
pub const fn of(terrain: Terrain) -> char {
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

/// The terrain of that glyph, if there is one.
#[must_use]
pub fn terrain(glyph: char) -> Option<Terrain> {
    (1..).map_while(|number| Terrain::try_from(number).ok()).find(|terrain| of(*terrain) == glyph)
}
