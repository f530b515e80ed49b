//! A bit for each cell of a floor.

use alloc::{vec, vec::Vec};

use crate::point::Point;

/// Bits of a word.
const WORD: usize = 64;

/// A set of cells of a floor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BitGrid {
    width: u16,
    height: u16,
    /// Row by row, the first cell in the lowest bit. Bits after the last cell are 0.
    words: Vec<u64>,
}

impl BitGrid {
    pub(crate) fn new(width: u16, height: u16) -> Self {
        let cells = usize::from(width) * usize::from(height);
        Self { width, height, words: vec![0; cells.div_ceil(WORD)] }
    }

    /// Whether the set has a cell. It has none outside the floor.
    #[must_use]
    pub fn contains(&self, at: Point) -> bool {
        self.is_inside(at) && self.has(at.index(self.width))
    }

    /// Whether the set has each cell, row by row.
    pub fn iter(&self) -> impl Iterator<Item = bool> {
        (0..usize::from(self.width) * usize::from(self.height)).map(|index| self.has(index))
    }

    /// Whether the set has the cell `y * width + x`.
    pub(crate) fn has(&self, index: usize) -> bool {
        self.words[index / WORD] >> (index % WORD) & 1 != 0
    }

    pub(crate) fn is_inside(&self, at: Point) -> bool {
        at.x < self.width && at.y < self.height
    }

    /// Adds or removes a cell of the floor.
    pub(crate) fn set(&mut self, at: Point, is_in: bool) {
        self.set_index(at.index(self.width), is_in);
    }

    /// Adds or removes the cell `y * width + x`.
    pub(crate) fn set_index(&mut self, index: usize, is_in: bool) {
        let bit = 1 << (index % WORD);
        let word = &mut self.words[index / WORD];
        *word = if is_in { *word | bit } else { *word & !bit };
    }

    pub(crate) fn clear(&mut self) {
        self.words.fill(0);
    }

    /// Adds the cells of a set of the same floor.
    pub(crate) fn extend(&mut self, other: &Self) {
        self.words.iter_mut().zip(&other.words).for_each(|(word, other)| *word |= other);
    }
}
