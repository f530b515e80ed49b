//! A bit for each cell, so that a room is compared with the whole floor by a few words for each row.

use alloc::vec::Vec;
use core::ops::Range;

/// Bits of a word.
const WORD: usize = 64;

/// A set of cells.
#[derive(Debug, Default)]
pub(crate) struct Mask {
    stride: usize,
    words: Vec<u64>,
}

impl Mask {
    /// Empties the set and sets its size. A spare word for each row lets [`Self::window`] read past the last column.
    pub(crate) fn reset(&mut self, width: usize, height: usize) {
        self.stride = width / WORD + 2;
        self.words.clear();
        self.words.resize(self.stride * height, 0);
    }

    /// The words of a row; the lowest bit of the first word is the westmost cell.
    pub(crate) fn row(&self, y: usize) -> &[u64] {
        &self.words[y * self.stride..(y + 1) * self.stride]
    }

    pub(crate) fn row_mut(&mut self, y: usize) -> &mut [u64] {
        &mut self.words[y * self.stride..(y + 1) * self.stride]
    }

    /// The cells that all of those rows have, a word at a time; the lowest bit of the first word is the westmost cell.
    pub(crate) fn common(&self, rows: Range<usize>) -> impl Iterator<Item = u64> + '_ {
        let words = &self.words[rows.start * self.stride..rows.end * self.stride];
        (0..self.stride).map(move |first| {
            let mut common = u64::MAX;
            let mut at = first;
            while at < words.len() && common != 0 {
                common &= words[at];
                at += self.stride;
            }
            common
        })
    }

    /// The first cell of the set in row `y`, from column `x` on.
    pub(crate) fn next_set(&self, y: usize, x: usize) -> Option<usize> {
        next_one(self.row(y), x, 0)
    }

    /// The first cell outside the set in row `y`, from column `x` on.
    pub(crate) fn next_unset(&self, y: usize, x: usize) -> Option<usize> {
        next_one(self.row(y), x, u64::MAX)
    }

    /// Adds the cells of columns `from .. to` in row `y`, of which there is one at least.
    pub(crate) fn insert_run(&mut self, y: usize, from: usize, to: usize) {
        let row = self.row_mut(y);
        let (first, last) = (from / WORD, (to - 1) / WORD);
        let (east, west) = (u64::MAX << (from % WORD), u64::MAX >> (WORD - 1 - (to - 1) % WORD));
        if first == last {
            row[first] |= east & west;
        } else {
            row[first] |= east;
            row[first + 1..last].fill(u64::MAX);
            row[last] |= west;
        }
    }

    /// Adds the cells of `other`, of the same size, and their eight neighbours. No cell of `other` lies on the border.
    pub(crate) fn insert_around(&mut self, other: &Self, height: usize) {
        for y in 1..height - 1 {
            for i in 0..self.stride {
                let row = other.row(y);
                let west = row[i] >> 1 | row.get(i + 1).map_or(0, |next| next << (WORD - 1));
                let east = row[i] << 1 | if i > 0 { row[i - 1] >> (WORD - 1) } else { 0 };
                let wide = row[i] | west | east;
                for around in y - 1..=y + 1 {
                    self.words[around * self.stride + i] |= wide;
                }
            }
        }
    }

    pub(crate) fn contains(&self, x: usize, y: usize) -> bool {
        self.words[y * self.stride + x / WORD] >> (x % WORD) & 1 == 1
    }

    pub(crate) fn insert(&mut self, x: usize, y: usize) {
        self.words[y * self.stride + x / WORD] |= 1 << (x % WORD);
    }

    pub(crate) fn remove(&mut self, x: usize, y: usize) {
        self.words[y * self.stride + x / WORD] &= !(1 << (x % WORD));
    }

    /// The 64 cells from `(x, y)` eastwards, lowest bit first.
    pub(crate) fn window(&self, x: usize, y: usize) -> u64 {
        let at = y * self.stride + x / WORD;
        let low = self.words[at] >> (x % WORD);
        // Two shifts, because a shift by 64 (`x` on a word boundary) would overflow.
        low | self.words[at + 1] << 1 << (WORD - 1 - x % WORD)
    }

    /// Adds the cells of `bits` from `(x, y)` eastwards.
    pub(crate) fn insert_row(&mut self, x: usize, y: usize, bits: u64) {
        let at = y * self.stride + x / WORD;
        self.words[at] |= bits << (x % WORD);
        self.words[at + 1] |= bits >> 1 >> (WORD - 1 - x % WORD);
    }
}

/// The first bit from `x` on that differs from `flip`.
fn next_one(row: &[u64], x: usize, flip: u64) -> Option<usize> {
    let first = x / WORD;
    let here = (*row.get(first)? ^ flip) >> (x % WORD);
    if here != 0 {
        return Some(x + here.trailing_zeros() as usize);
    }
    let found = row[first + 1..].iter().position(|&word| word ^ flip != 0)?;
    let at = first + 1 + found;
    Some(at * WORD + (row[at] ^ flip).trailing_zeros() as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_reads_back_at_every_offset() {
        for x in 0..130 {
            let mut mask = Mask::default();
            mask.reset(200, 3);
            mask.insert_row(x, 1, 0b1011);
            assert_eq!(mask.window(x, 1), 0b1011, "at {x}");
            assert!(mask.contains(x, 1) && mask.contains(x + 3, 1) && !mask.contains(x + 2, 1));
            assert_eq!(mask.window(x, 0) | mask.window(x, 2), 0);
        }
    }

    #[test]
    fn runs_are_found_where_they_were_put() {
        for (from, to) in [(1, 2), (0, 64), (63, 65), (5, 190), (64, 128), (100, 101)] {
            let mut mask = Mask::default();
            mask.reset(200, 3);
            mask.insert_run(1, from, to);
            assert_eq!((0..200).filter(|&x| mask.contains(x, 1)).count(), to - from);
            assert_eq!((mask.next_set(1, 0), mask.next_unset(1, from)), (Some(from), Some(to)));
            assert_eq!((mask.next_set(1, to), mask.next_set(0, 0)), (None, None));
        }
    }

    #[test]
    fn a_cell_has_eight_neighbours() {
        for x in [1, 62, 63, 64, 65, 127, 128] {
            let (mut one, mut around) = (Mask::default(), Mask::default());
            one.reset(140, 5);
            around.reset(140, 5);
            one.insert(x, 2);
            around.insert_around(&one, 5);
            let near = |at: usize, y: usize| at.abs_diff(x) <= 1 && y.abs_diff(2) <= 1;
            assert!((0..5).all(|y| (0..140).all(|at| around.contains(at, y) == near(at, y))), "at {x}");
        }
    }
}
