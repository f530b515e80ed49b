//! Tiles: a coarse grid over the floor with at most one room in each, for kinds that plan rooms and connections before
//! they draw them.

use crate::arena::{Arena, Side};
use crate::rng::Rng;
use crate::shape::{Form, MAX_SHAPE, Shape};
use crate::stages::accrete::place;

/// The most tiles along a side: 196 in all, which leaves room ids for niches.
const MAX_ALONG: usize = 14;
/// Cells of each tile that stay rock, across and down: a corridor and a wall on both its sides.
const ROCK: i32 = 3;

/// The grid.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tiles {
    pub(crate) columns: usize,
    pub(crate) rows: usize,
    /// Cells of one tile.
    width: usize,
    height: usize,
}

impl Tiles {
    /// Tiles of about that size, at least two along each side.
    pub(crate) fn over(arena: &Arena, (width, height): (usize, usize)) -> Self {
        let columns = (arena.width / width).clamp(2, MAX_ALONG);
        let rows = (arena.height / height).clamp(2, MAX_ALONG);
        Self { columns, rows, width: (arena.width - 2) / columns, height: (arena.height - 2) / rows }
    }

    pub(crate) const fn count(&self) -> usize {
        self.columns * self.rows
    }

    /// The next tile on that side.
    pub(crate) const fn neighbour(&self, tile: usize, side: Side) -> Option<usize> {
        side.neighbour(tile, (self.columns, self.rows))
    }

    /// Builds a room at random in a tile. `fill` is its share of the tile's sides, in thousandths. Leaves space for a
    /// corridor between neighbouring tiles.
    pub(crate) fn build(&self, arena: &mut Arena, tile: usize, form: Form, fill: (i32, i32), rng: &mut Rng) -> usize {
        let (most_x, most_y) = (self.width as i32 - ROCK, self.height as i32 - ROCK);
        let side = |most: i32, rng: &mut Rng| (most * rng.range(fill.0, fill.1) / 1_000).clamp(3, most.min(MAX_SHAPE));
        let (width, height) = (side(most_x, rng), side(most_y, rng));
        let shape = Shape::draw(form, width, height, rng);
        let left = 1 + tile % self.columns * self.width + rng.index((most_x - shape.width + 1) as usize);
        let top = 1 + tile / self.columns * self.height + rng.index((most_y - shape.height + 1) as usize);
        place(arena, &shape, left, top)
    }
}
