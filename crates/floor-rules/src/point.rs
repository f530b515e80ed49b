//! Cells, and the steps between them.

use core::fmt;

/// A cell: `x` grows to the east, `y` to the south, both from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Point {
    /// Column.
    pub x: u16,
    /// Row.
    pub y: u16,
}

/// A step to a neighbour of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Direction {
    /// To a lesser `y`.
    North = 0,
    /// To a lesser `x`.
    West = 1,
    /// To a greater `x`.
    East = 2,
    /// To a greater `y`.
    South = 3,
}

impl Direction {
    /// Every direction, in the order in which equally good steps are tried.
    pub const ALL: [Self; 4] = [Self::North, Self::West, Self::East, Self::South];
}

impl Point {
    /// The cell in that column and row.
    #[must_use]
    pub const fn new(x: u16, y: u16) -> Self {
        Self { x, y }
    }

    /// The neighbour in that direction; `None` if it has no coordinates. It may lie outside the floor.
    #[must_use]
    pub fn step(self, direction: Direction) -> Option<Self> {
        let Self { x, y } = self;
        Some(match direction {
            Direction::North => Self::new(x, y.checked_sub(1)?),
            Direction::West => Self::new(x.checked_sub(1)?, y),
            Direction::East => Self::new(x.checked_add(1)?, y),
            Direction::South => Self::new(x, y.checked_add(1)?),
        })
    }

    /// The neighbours, in the order of [`Direction::ALL`].
    pub fn neighbours(self) -> impl Iterator<Item = Self> {
        Direction::ALL.into_iter().filter_map(move |direction| self.step(direction))
    }

    /// The steps to another cell over open ground.
    #[must_use]
    pub fn distance(self, to: Self) -> u32 {
        u32::from(self.x.abs_diff(to.x)) + u32::from(self.y.abs_diff(to.y))
    }

    /// The place of the cell in a grid of that width.
    pub(crate) fn index(self, width: u16) -> usize {
        usize::from(self.y) * usize::from(width) + usize::from(self.x)
    }

    /// Whether another cell is within a square that reaches so many cells to each side.
    pub(crate) fn is_within(self, cells: u16, of: Self) -> bool {
        self.x.abs_diff(of.x) <= cells && self.y.abs_diff(of.y) <= cells
    }
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({}, {})", self.x, self.y)
    }
}
