//! A bit a cell, so that a room is tested against everything that stands with a few words a row.

use alloc::vec::Vec;

/// Bits of a word.
const WORD: usize = 64;

/// A set of cells.
#[derive(Debug, Default)]
pub(crate) struct Mask {
    stride: usize,
    words: Vec<u64>,
}

impl Mask {
    /// Empties the set and sizes it. A spare word a row lets [`Self::window`] read past the last column.
    pub(crate) fn reset(&mut self, width: usize, height: usize) {
        self.stride = width / WORD + 2;
        self.words.clear();
        self.words.resize(self.stride * height, 0);
    }

    /// The words of a row, westmost cell in the lowest bit of the first.
    pub(crate) fn row(&self, y: usize) -> &[u64] {
        &self.words[y * self.stride..(y + 1) * self.stride]
    }

    pub(crate) fn row_mut(&mut self, y: usize) -> &mut [u64] {
        &mut self.words[y * self.stride..(y + 1) * self.stride]
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
        // Shifting in two steps keeps a shift by 64 (x on a word's edge) from being one.
        low | self.words[at + 1] << 1 << (WORD - 1 - x % WORD)
    }

    /// Adds the cells of `bits` from `(x, y)` eastwards.
    pub(crate) fn insert_row(&mut self, x: usize, y: usize, bits: u64) {
        let at = y * self.stride + x / WORD;
        self.words[at] |= bits << (x % WORD);
        self.words[at + 1] |= bits >> 1 >> (WORD - 1 - x % WORD);
    }
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
}
