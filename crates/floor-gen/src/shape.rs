//! Room shapes: one word for each row of cells, so that a shape is tested against the floor by a few word operations.

use crate::arena::Side;
use crate::cave::noise;
pub(crate) use crate::form::Form;
use crate::rng::Rng;

/// The largest width and height of a shape, in cells: a row with a neighbour on each side fits a word.
pub(crate) const MAX_SHAPE: i32 = 60;

/// A grotto grows so often, each time by so many of 16 cells beside it.
const ROUNDS_OF_GROWTH: usize = 2;
const GROWTH: u32 = 6;

/// The cells of a room in its bounding box. Its outermost rows and columns are not empty, and its cells are connected.
#[derive(Debug, Clone)]
pub(crate) struct Shape {
    pub(crate) width: i32,
    pub(crate) height: i32,
    rows: [u64; MAX_SHAPE as usize],
}

impl Shape {
    /// A shape of that form and size; sides are clamped to `3 ..= MAX_SHAPE`.
    pub(crate) fn draw(form: Form, width: i32, height: i32, rng: &mut Rng) -> Self {
        let (width, height) = (width.clamp(3, MAX_SHAPE), height.clamp(3, MAX_SHAPE));
        let mut shape = Self { width, height, rows: [0; MAX_SHAPE as usize] };
        let small = width < 5 || height < 5;
        match form {
            Form::Grotto => shape.grotto(rng),
            _ if small => shape.fill(0, 0, width, height),
            Form::Hall => shape.fill(0, 0, width, height),
            Form::Cross | Form::Ell => {
                let (arm, bar) = (rng.range(width / 3, width / 2).max(2), rng.range(height / 3, height / 2).max(2));
                let mut start = |free: i32| match form {
                    Form::Cross => rng.range(1, free - 1),
                    _ if rng.chance(500) => 0,
                    _ => free,
                };
                shape.fill(start(width - arm), 0, arm, height);
                shape.fill(0, start(height - bar), width, bar);
            }
            Form::Octagon => {
                let cut = rng.range(1, (width.min(height) / 3).max(1));
                for y in 0..height {
                    let inset = (cut - y).max(cut - (height - 1 - y)).max(0);
                    shape.fill(inset, y, width - 2 * inset, 1);
                }
            }
            Form::Rotunda => shape.ellipse(0, 0, width, height),
            Form::Ring => {
                shape.ellipse(0, 0, width, height);
                shape.hollow(rng);
            }
            Form::Cloister => {
                shape.fill(0, 0, width, height);
                shape.hollow(rng);
            }
            Form::Quatrefoil => {
                let (wide, high) = ((3 * width / 5).max(3), (3 * height / 5).max(3));
                for (x, y) in [(0, (height - high) / 2), (width - wide, (height - high) / 2)] {
                    shape.ellipse(x, y, wide, high);
                }
                for (x, y) in [((width - wide) / 2, 0), ((width - wide) / 2, height - high)] {
                    shape.ellipse(x, y, wide, high);
                }
            }
            Form::Apse => {
                // The round end is half of a circle across the shorter side.
                let (side, at_start) = (width.min(height), rng.chance(500));
                let (from, less) = if at_start { (side / 2, 0) } else { (0, 1) };
                if width >= height {
                    shape.ellipse((width - side) * less, 0, side, height);
                    shape.fill(from, 0, width - side / 2, height);
                } else {
                    shape.ellipse(0, (height - side) * less, width, side);
                    shape.fill(0, from, width, height - side / 2);
                }
            }
            Form::Diamond => {
                for y in 0..height {
                    let out = (2 * y + 1 - height).abs() - i32::from(height % 2 == 0);
                    let inset = out * (width - 1) / (2 * height);
                    shape.fill(inset, y, width - 2 * inset, 1);
                }
            }
        }
        shape
    }

    /// Leaves a walk along the outline: takes out what lies deeper, if that is large enough to walk around.
    fn hollow(&mut self, rng: &mut Rng) {
        let side = self.width.min(self.height);
        let walk = rng.range(side / 5, side / 3).max(2);
        if side < 2 * walk + 3 {
            return;
        }
        let height = self.height as usize;
        let mut core = self.rows;
        for _ in 0..walk {
            // What is left of the row above, and of this one.
            let (mut above, mut here) = (0, narrowed(core[0]));
            for y in 0..height {
                let below = core.get(y + 1).map_or(0, |&row| narrowed(row));
                core[y] = above & here & below;
                (above, here) = (here, below);
            }
        }
        for (row, core) in self.rows[..height].iter_mut().zip(core) {
            *row &= !core;
        }
    }

    /// The rows from north to south; the lowest bit is the westmost cell.
    pub(crate) fn rows(&self) -> &[u64] {
        &self.rows[..self.height as usize]
    }

    /// How many cells it has.
    pub(crate) fn area(&self) -> u32 {
        self.rows().iter().map(|row| row.count_ones()).sum()
    }

    /// Whether it lies around a core: some row has a gap.
    pub(crate) fn has_core(&self) -> bool {
        let row = self.rows[(self.height / 2) as usize];
        (row >> row.trailing_zeros()).trailing_ones() < row.count_ones()
    }

    /// The rows (east and west) or columns (north and south) that have a cell on the outermost line of that side.
    pub(crate) fn edge(&self, side: Side) -> u64 {
        let column = |x: i32| self.rows().iter().rev().fold(0, |bits, row| bits << 1 | (row >> x & 1));
        match side {
            Side::North => self.rows[0],
            Side::South => self.rows[self.height as usize - 1],
            Side::West => column(0),
            Side::East => column(self.width - 1),
        }
    }

    /// The cell of the middle row that is nearest the middle column.
    pub(crate) fn center(&self) -> (i32, i32) {
        let (middle, row) = (self.width / 2, self.rows[(self.height / 2) as usize]);
        let set = |x: i32| x >= 0 && row >> x & 1 == 1;
        let x = (0..self.width).map(|d| if set(middle - d) { middle - d } else { middle + d }).find(|&x| set(x));
        (x.unwrap_or(middle), self.height / 2)
    }

    fn fill(&mut self, x: i32, y: i32, width: i32, height: i32) {
        let bits = ((1u64 << width) - 1) << x;
        for row in &mut self.rows[y as usize..(y + height) as usize] {
            *row |= bits;
        }
    }

    /// Adds the cells whose middle lies in the ellipse of that bounding box.
    fn ellipse(&mut self, x: i32, y: i32, width: i32, height: i32) {
        for row in 0..height {
            // The one or two middle rows reach both sides.
            let dy = ((2 * row + 1 - height).abs() - i32::from(height % 2 == 0)) * width;
            let reach = width * width * height * height - dy * dy;
            // An ellipse is symmetric, so the first cell inside gives the whole row.
            let inset = (0..(width - 1) / 2).find(|i| {
                let dx = (2 * i + 1 - width) * height;
                dx * dx <= reach
            });
            let inset = inset.unwrap_or((width - 1) / 2);
            self.fill(x + inset, y + row, width - 2 * inset, 1);
        }
    }

    /// Two ellipses across each other, with cells beside them at random.
    fn grotto(&mut self, rng: &mut Rng) {
        let (width, height) = (self.width, self.height);
        let (tall, wide) = (rng.range(height / 2, 2 * height / 3).max(3), rng.range(width / 2, 2 * width / 3).max(3));
        // Both cover the middle of the box, so they overlap at any position.
        self.ellipse(0, rng.range((height / 2 + 1 - tall).max(0), (height / 2 - 1).min(height - tall)), width, tall);
        self.ellipse(rng.range((width / 2 + 1 - wide).max(0), (width / 2 - 1).min(width - wide)), 0, wide, height);
        for _ in 0..ROUNDS_OF_GROWTH {
            let before = self.rows;
            let row = |y: usize| before.get(y).copied().unwrap_or(0);
            for y in 0..height as usize {
                let beside = row(y) << 1 | row(y) >> 1 | row(y + 1) | row(y.wrapping_sub(1));
                self.rows[y] |= beside & noise(GROWTH, rng) & ((1 << width) - 1);
            }
        }
    }
}

/// The cells of a row between two others of it.
const fn narrowed(row: u64) -> u64 {
    row & row << 1 & row >> 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn every_shape_is_tight_and_connected() {
        let mut rng = Rng::from_seed(1);
        for form in Form::ALL {
            for width in 3..=MAX_SHAPE {
                for height in 3..=MAX_SHAPE {
                    let shape = Shape::draw(form, width, height, &mut rng);
                    for side in Side::ALL {
                        assert_ne!(shape.edge(side), 0, "{form:?} {width}x{height} {side:?}");
                    }
                    let (x, y) = shape.center();
                    assert_eq!(shape.rows()[y as usize] >> x & 1, 1, "{form:?} {width}x{height}");
                    assert_eq!(flood(&shape), shape.area(), "{form:?} {width}x{height}");
                }
            }
        }
    }

    /// How many cells are connected to the center.
    fn flood(shape: &Shape) -> u32 {
        let mut seen = [0u64; MAX_SHAPE as usize];
        let mut open = vec![shape.center()];
        while let Some((x, y)) = open.pop() {
            let inside = (0..shape.width).contains(&x) && (0..shape.height).contains(&y);
            if inside && shape.rows()[y as usize] & !seen[y as usize] & 1 << x != 0 {
                seen[y as usize] |= 1 << x;
                open.extend([(x - 1, y), (x + 1, y), (x, y - 1), (x, y + 1)]);
            }
        }
        seen.iter().map(|row| row.count_ones()).sum()
    }
}
