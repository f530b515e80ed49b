//! Places the cells of a floor in the world of a 2D game.

use bevy::prelude::*;

use crate::Floor;

/// The grid of a floor in world coordinates, around the origin. Cells count southwards, and the world's y axis points
/// up: this converts between the two.
#[derive(Debug, Clone, Copy, PartialEq, Reflect)]
#[reflect(Debug, Clone, PartialEq)]
pub struct TileMap {
    /// Cells from west to east, and from north to south.
    pub size: UVec2,
    /// The side of a cell, in world units.
    pub tile: f32,
}

impl TileMap {
    /// The grid of `floor`, with cells of `tile` world units.
    #[must_use]
    pub const fn new(floor: &Floor, tile: f32) -> Self {
        Self { size: UVec2::new(floor.width(), floor.height()), tile }
    }

    /// The middle of a cell in the world.
    #[must_use]
    pub fn to_world(&self, cell: UVec2) -> Vec2 {
        let from_corner = (cell.as_vec2() + 0.5 - self.size.as_vec2() / 2.0) * self.tile;
        Vec2::new(from_corner.x, -from_corner.y)
    }

    /// The cell at a position in the world. `None` outside the floor.
    #[must_use]
    pub fn to_cell(&self, world: Vec2) -> Option<UVec2> {
        let from_corner = Vec2::new(world.x, -world.y) / self.tile + self.size.as_vec2() / 2.0;
        let inside = from_corner.cmpge(Vec2::ZERO).all() && from_corner.cmplt(self.size.as_vec2()).all();
        inside.then(|| from_corner.as_uvec2())
    }

    /// The index of a cell in the tiles of a `TilemapChunk` of Bevy, whose first row is the southernmost.
    #[must_use]
    pub const fn chunk_index(&self, cell: UVec2) -> usize {
        ((self.size.y - 1 - cell.y) * self.size.x + cell.x) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAP: TileMap = TileMap { size: UVec2::new(4, 2), tile: 16.0 };

    #[test]
    fn north_is_up_and_the_floor_lies_around_the_origin() {
        assert_eq!(MAP.to_world(UVec2::ZERO), Vec2::new(-24.0, 8.0));
        assert_eq!(MAP.to_world(UVec2::new(3, 1)), Vec2::new(24.0, -8.0));
    }

    #[test]
    fn a_position_belongs_to_the_cell_around_it() {
        for cell in (0..2).flat_map(|y| (0..4).map(move |x| UVec2::new(x, y))) {
            assert_eq!(MAP.to_cell(MAP.to_world(cell) + 7.0), Some(cell));
            assert_eq!(MAP.to_cell(MAP.to_world(cell) - 7.0), Some(cell));
        }
        for outside in [Vec2::new(-32.5, 0.0), Vec2::new(32.0, 0.0), Vec2::new(0.0, 16.5), Vec2::new(0.0, -16.0)] {
            assert_eq!(MAP.to_cell(outside), None, "{outside}");
        }
    }

    #[test]
    fn a_chunk_starts_in_the_southwest() {
        assert_eq!(MAP.chunk_index(UVec2::new(0, 1)), 0);
        assert_eq!(MAP.chunk_index(UVec2::new(3, 0)), 7);
    }
}
