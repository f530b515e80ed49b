//! The field of view: symmetric shadow casting (Albert Ford, "Symmetric Shadowcasting", 2020), with slopes as fractions
//! of integers. If an open cell sees another one, that one sees it too: so a hero sees every monster that could see
//! them.

use crate::{bit_grid::BitGrid, point::Point};

/// How far the hero sees, in cells.
pub const SIGHT: i32 = 11;

/// Sets `seen` to the cells that `from` sees.
pub(crate) fn see(from: Point, opaque: &BitGrid, seen: &mut BitGrid) {
    seen.clear();
    seen.set(from, true);
    // The steps of a row and of a column in each quarter: north, west, east, south.
    for axes in [[(0, -1), (1, 0)], [(-1, 0), (0, 1)], [(1, 0), (0, 1)], [(0, 1), (1, 0)]] {
        let mut quarter = Quarter { from, axes, opaque, seen };
        quarter.scan(1, Slope { rise: -1, run: 1 }, Slope { rise: 1, run: 1 });
    }
}

/// A line from the centre of the origin: columns by rows.
#[derive(Clone, Copy)]
struct Slope {
    rise: i32,
    /// Above 0.
    run: i32,
}

impl Slope {
    /// To the near corner of a cell on the side of lesser columns.
    const fn to(row: i32, column: i32) -> Self {
        Self { rise: 2 * column - 1, run: 2 * row }
    }

    /// The column in which the line crosses a row, rounded; a half upwards.
    const fn first(self, row: i32) -> i32 {
        (2 * row * self.rise + self.run).div_euclid(2 * self.run)
    }

    /// The same; a half downwards.
    const fn last(self, row: i32) -> i32 {
        -(self.run - 2 * row * self.rise).div_euclid(2 * self.run)
    }
}

/// What lies to one side of the origin.
struct Quarter<'a> {
    from: Point,
    axes: [(i32, i32); 2],
    opaque: &'a BitGrid,
    seen: &'a mut BitGrid,
}

impl Quarter<'_> {
    /// Sees the cells of a row between two lines, then those behind the open ones. It calls itself at most [`SIGHT`]
    /// deep.
    fn scan(&mut self, row: i32, mut start: Slope, end: Slope) {
        if row > SIGHT {
            return;
        }
        let mut was_opaque = None;
        for column in start.first(row)..=end.last(row) {
            let at = self.cell(row, column);
            let is_opaque = at.is_none_or(|at| self.opaque.contains(at));
            let has_centre = column * start.run >= row * start.rise && column * end.run <= row * end.rise;
            let is_near = row * row + column * column <= SIGHT * SIGHT + SIGHT;
            if let Some(at) = at.filter(|_| is_near && (is_opaque || has_centre)) {
                self.seen.set(at, true);
            }
            match was_opaque {
                Some(true) if !is_opaque => start = Slope::to(row, column),
                Some(false) if is_opaque => self.scan(row + 1, start, Slope::to(row, column)),
                _ => {}
            }
            was_opaque = Some(is_opaque);
        }
        if was_opaque == Some(false) {
            self.scan(row + 1, start, end);
        }
    }

    /// `None` outside the floor.
    fn cell(&self, row: i32, column: i32) -> Option<Point> {
        let [(row_x, row_y), (column_x, column_y)] = self.axes;
        let x = i32::from(self.from.x) + row * row_x + column * column_x;
        let y = i32::from(self.from.y) + row * row_y + column * column_y;
        let at = Point::new(u16::try_from(x).ok()?, u16::try_from(y).ok()?);
        Some(at).filter(|at| self.opaque.is_inside(*at))
    }
}

#[cfg(test)]
mod tests {
    use alloc::{string::String, vec::Vec};

    use proptest::prelude::*;

    use super::*;

    /// `#` is opaque.
    fn opaque(rows: &[&str]) -> BitGrid {
        let mut grid = BitGrid::new(rows[0].len() as u16, rows.len() as u16);
        for (index, glyph) in rows.concat().bytes().enumerate() {
            grid.set_index(index, glyph == b'#');
        }
        grid
    }

    fn seen_from(from: Point, opaque: &BitGrid) -> BitGrid {
        let mut seen = opaque.clone();
        see(from, opaque, &mut seen);
        seen
    }

    fn drawn(rows: &[&str], from: Point) -> Vec<String> {
        let seen = seen_from(from, &opaque(rows));
        let width = rows[0].len();
        let glyphs: Vec<char> = rows.concat().chars().collect();
        let shown = seen.iter().zip(glyphs).map(|(is_seen, glyph)| if is_seen { glyph } else { ' ' });
        shown.collect::<Vec<char>>().chunks(width).map(|row| row.iter().collect()).collect()
    }

    #[test]
    fn walls_hide_what_is_behind_them() {
        let map = ["#########", "#...#...#", "#.......#", "#..##.#.#", "#.......#", "#.#...#.#", "#########"];
        let seen = ["#####    ", "#...#    ", "#.....   ", "#..##.#  ", "#..   .  ", "#.#   #.#", "##     ##"];
        assert_eq!(drawn(&map, Point::new(3, 1)), seen);
    }

    #[test]
    fn sight_ends_in_a_circle_and_at_the_edge() {
        let open = BitGrid::new(40, 20);
        let seen = seen_from(Point::new(20, 0), &open);
        for (at, is_seen) in [((31, 0), true), ((32, 0), false), ((28, 8), true), ((28, 9), false), ((20, 12), false)] {
            assert_eq!(seen.contains(Point::new(at.0, at.1)), is_seen, "{at:?}");
        }
    }

    proptest! {
        #[test]
        fn open_cells_see_each_other_or_neither(cells in prop::collection::vec(prop::bool::weighted(0.3), 15 * 15)) {
            let mut opaque = BitGrid::new(15, 15);
            cells.iter().enumerate().for_each(|(index, is_opaque)| opaque.set_index(index, *is_opaque));
            let points = || (0..15 * 15).map(|index| Point::new(index % 15, index / 15));
            let open: Vec<Point> = points().filter(|at| !opaque.contains(*at)).collect();
            let seen: Vec<BitGrid> = open.iter().map(|at| seen_from(*at, &opaque)).collect();
            for (a, from_a) in open.iter().zip(&seen) {
                for (b, from_b) in open.iter().zip(&seen) {
                    prop_assert_eq!(from_a.contains(*b), from_b.contains(*a), "{} and {}", a, b);
                }
            }
        }
    }
}
