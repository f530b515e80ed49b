//! Shortest walks over cells, breadth first.

use alloc::vec::Vec;

use crate::floor::Terrain;

/// A cell that may be walked and was not yet.
const UNSEEN: u32 = u32::MAX;
/// A cell that may not be walked.
const BLOCKED: u32 = u32::MAX - 1;

/// Steps from the last start to every cell, and the queue that counted them.
#[derive(Debug, Default)]
pub(crate) struct Walk {
    steps: Vec<u32>,
    queue: Vec<u32>,
}

impl Walk {
    /// Makes every passable cell one that may be walked, and no other. Returns how many there are.
    pub(crate) fn survey(&mut self, terrain: &[Terrain]) -> u32 {
        self.steps.clear();
        self.queue.clear();
        self.steps.extend(terrain.iter().map(|cell| if cell.passable() { UNSEEN } else { BLOCKED }));
        self.steps.iter().map(|&steps| u32::from(steps == UNSEEN)).sum()
    }

    /// Forgets the last walk, so that another can begin.
    pub(crate) fn forget(&mut self) {
        for at in self.queue.drain(..) {
            self.steps[at as usize] = UNSEEN;
        }
    }

    /// Lets this cell be walked too: a door whose key is held.
    pub(crate) fn unlock(&mut self, at: usize) {
        self.steps[at] = UNSEEN;
    }

    /// Counts the steps from `start` to every cell that it reaches, or until `goal` is reached. The border is wall, so
    /// no neighbour of a walked cell lies outside.
    pub(crate) fn flood(&mut self, start: usize, width: usize, goal: Option<usize>) {
        self.queue.clear();
        self.queue.push(start as u32);
        self.steps[start] = 0;
        let mut next = 0;
        while let Some(&at) = self.queue.get(next) {
            next += 1;
            let at = at as usize;
            if goal == Some(at) {
                return;
            }
            let steps = self.steps[at] + 1;
            for there in [at - width, at + 1, at + width, at - 1] {
                if self.steps[there] == UNSEEN {
                    self.steps[there] = steps;
                    self.queue.push(there as u32);
                }
            }
        }
    }

    /// Steps from the last start, if it was reached.
    pub(crate) fn steps_to(&self, at: usize) -> Option<u32> {
        Some(self.steps[at]).filter(|&steps| steps < BLOCKED)
    }
}
