//! Blobs: random connected outlines for ponds, lakes and patches of ground.

use crate::arena::Arena;
use crate::cave::{majority, noise};
use crate::rng::Rng;
use crate::shape::{Form, MAX_SHAPE, Shape};

/// The share of a blob's width and height that is always filled, in thousandths; the rest is noise.
const CORE: i32 = 620;
/// Rounds of smoothing.
const ROUNDS: usize = 2;
/// How many of 16 cells around the core are filled before smoothing.
const FILL: u32 = 9;

/// An outline on a floor.
#[derive(Debug, Clone)]
pub(crate) struct Blob {
    /// The north-west corner of its box; may lie outside the floor.
    pub(crate) x: i32,
    pub(crate) y: i32,
    pub(crate) width: i32,
    pub(crate) height: i32,
    /// From north to south; the lowest bit is the westmost cell.
    rows: [u64; MAX_SHAPE as usize],
}

impl Blob {
    /// A random blob of at most that size around a cell. Sides are clamped to `3 ..= MAX_SHAPE`.
    pub(crate) fn around((x, y): (i32, i32), width: i32, height: i32, rng: &mut Rng) -> Self {
        let (width, height) = (width.clamp(3, MAX_SHAPE), height.clamp(3, MAX_SHAPE));
        let mut rows = [0; MAX_SHAPE as usize];
        let outline = Shape::draw(Form::Rotunda, width, height, rng);
        let core = Shape::draw(Form::Rotunda, width * CORE / 1_000, height * CORE / 1_000, rng);
        let mut kept = [0; MAX_SHAPE as usize];
        let (left, top) = ((width - core.width) / 2, (height - core.height) / 2);
        for (row, kept) in core.rows().iter().zip(&mut kept[top as usize..]) {
            *kept = row << left;
        }
        let last = height as usize;
        for y in 0..last {
            rows[y] = (outline.rows()[y] & noise(FILL, rng)) | kept[y];
        }
        for _ in 0..ROUNDS {
            let before = rows;
            let row = |y: usize| before.get(y).copied().unwrap_or(0);
            for y in 0..last {
                let around = [if y > 0 { row(y - 1) } else { 0 }, row(y), row(y + 1)];
                rows[y] = majority(around.map(|row| [row << 1, row, row >> 1])) & outline.rows()[y] | kept[y];
            }
        }
        let mut blob = Self { x: x - width / 2, y: y - height / 2, width, height, rows };
        blob.keep_connected(kept);
        blob
    }

    /// The blob without its outermost cells.
    pub(crate) fn eroded(&self) -> Self {
        let row = |y: usize| self.rows.get(y).copied().unwrap_or(0);
        let mut inner = self.clone();
        for y in 0..self.height as usize {
            let above = if y > 0 { row(y - 1) } else { 0 };
            inner.rows[y] = row(y) & row(y) << 1 & row(y) >> 1 & above & row(y + 1);
        }
        inner
    }

    /// Whether it covers a cell of the floor.
    pub(crate) fn covers(&self, x: usize, y: usize) -> bool {
        let (dx, dy) = (x as i32 - self.x, y as i32 - self.y);
        (0..self.width).contains(&dx) && (0..self.height).contains(&dy) && self.rows[dy as usize] >> dx & 1 == 1
    }

    /// Calls `change` for every cell inside the floor's border, from the middle row outwards. Each cell then has all
    /// its passable neighbours on one side, so a blob made impassable in this order stays in one piece.
    pub(crate) fn each(&self, arena: &mut Arena, mut change: impl FnMut(&mut Arena, usize)) {
        let middle = self.height / 2;
        let outward = (1..=middle + 1).flat_map(|away| [middle + away, middle - away]);
        for dy in core::iter::once(middle).chain(outward) {
            let y = self.y + dy;
            if !(0..self.height).contains(&dy) || y < 1 || y >= arena.height as i32 - 1 {
                continue;
            }
            let mut left = self.rows[dy as usize];
            while left != 0 {
                let x = self.x + left.trailing_zeros() as i32;
                left &= left - 1;
                if x >= 1 && x < arena.width as i32 - 1 {
                    let at = arena.at(x as usize, y as usize);
                    change(arena, at);
                }
            }
        }
    }

    /// Removes the cells that are not connected to the core.
    fn keep_connected(&mut self, core: [u64; MAX_SHAPE as usize]) {
        let last = self.height as usize;
        let mut kept = core;
        loop {
            let mut grown = false;
            for y in (0..last).chain((0..last).rev()) {
                let above = if y > 0 { kept[y - 1] } else { 0 };
                let below = if y + 1 < last { kept[y + 1] } else { 0 };
                let wider = (kept[y] | kept[y] << 1 | kept[y] >> 1 | above | below) & self.rows[y];
                grown |= wider & !kept[y] != 0;
                kept[y] |= wider;
            }
            if !grown {
                self.rows = kept;
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_blob_is_connected_and_within_its_box() {
        let mut rng = Rng::from_seed(5);
        for width in 3..=MAX_SHAPE {
            for height in 3..=MAX_SHAPE {
                let blob = Blob::around((100, 100), width, height, &mut rng);
                let cells = |blob: &Blob| blob.rows.iter().map(|row| row.count_ones()).sum::<u32>();
                assert!(blob.rows.iter().all(|row| row >> width == 0), "{width}x{height}");
                assert!(cells(&blob) * 5 >= (width * height) as u32, "{width}x{height}: {}", cells(&blob));
                let mut seed = [0; MAX_SHAPE as usize];
                let first = blob.rows.iter().position(|&row| row != 0).unwrap();
                seed[first] = blob.rows[first] & blob.rows[first].wrapping_neg();
                let mut joined = blob.clone();
                joined.keep_connected(seed);
                assert_eq!(cells(&joined), cells(&blob), "{width}x{height}");
                assert!(cells(&blob.eroded()) < cells(&blob));
            }
        }
    }
}
