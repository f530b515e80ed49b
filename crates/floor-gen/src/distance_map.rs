//! Shortest walks over cells by breadth-first search, for the metrics of a floor.

use alloc::vec::Vec;

use crate::floor::Terrain;

/// A passable cell that no search has reached.
const UNSEEN: u32 = 0;
/// A cell that no search may enter. Greater than every stamp, so that one comparison finds the cells to enter.
const BLOCKED: u32 = u32::MAX;

/// Steps from the start of the last search to every cell.
///
/// The stamp of a cell is the stamp of the start plus the steps from there. Each search starts above every stamp of the
/// search before, so the stamps need no reset between searches.
#[derive(Debug, Default)]
pub(crate) struct DistanceMap {
    stamps: Vec<u32>,
    /// One entry for each cell and four more: the last cell of a search may write that far past the end of its queue.
    queue: Vec<u32>,
    /// The stamp of the start of the last search.
    start: u32,
    /// Above every stamp so far.
    next: u32,
}

impl DistanceMap {
    /// Makes exactly the passable cells walkable. Returns how many there are.
    pub(crate) fn reset(&mut self, terrain: &[Terrain]) -> u32 {
        self.stamps.clear();
        self.stamps.extend(terrain.iter().map(|cell| if cell.passable() { UNSEEN } else { BLOCKED }));
        if self.queue.len() < terrain.len() + 4 {
            self.queue.resize(terrain.len() + 4, 0);
        }
        (self.start, self.next) = (1, 1);
        self.stamps.iter().map(|&stamp| u32::from(stamp == UNSEEN)).sum()
    }

    /// Makes a locked door walkable.
    pub(crate) fn unlock(&mut self, at: usize) {
        self.stamps[at] = UNSEEN;
    }

    /// Counts the steps from `start` to every cell that it reaches, or until it reaches `goal`. The border is wall, so
    /// no neighbour of a walkable cell lies outside.
    pub(crate) fn flood(&mut self, start: usize, width: usize, goal: Option<usize>) {
        let Self { stamps, queue, .. } = self;
        self.start = self.next;
        let first = self.start;
        stamps[start] = first;
        queue[0] = start as u32;
        let (mut head, mut tail) = (0, 1);
        let mut stamp = first;
        while head < tail {
            let at = queue[head] as usize;
            head += 1;
            stamp = stamps[at] + 1;
            if goal == Some(at) {
                break;
            }
            // Writes without a branch: which neighbours are new is unpredictable, and a misprediction costs more than
            // the write.
            for there in [at - width, at + 1, at + width, at - 1] {
                let seen = stamps[there];
                let new = seen < first;
                stamps[there] = if new { stamp } else { seen };
                queue[tail] = there as u32;
                tail += usize::from(new);
            }
        }
        // The highest stamp is at most one above that of the last cell in the queue.
        self.next = stamp + 1;
    }

    /// Steps from the start of the last search, if it reached the cell.
    pub(crate) fn steps_to(&self, at: usize) -> Option<u32> {
        Some(self.stamps[at]).filter(|&stamp| (self.start..BLOCKED).contains(&stamp)).map(|stamp| stamp - self.start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn each_flood_counts_from_its_own_start() {
        // A corridor of seven cells with a door in it.
        let mut terrain = vec![Terrain::Wall; 9 * 3];
        terrain[10..17].fill(Terrain::Floor);
        terrain[13] = Terrain::LockedDoor;
        let mut distances = DistanceMap::default();
        assert_eq!(distances.reset(&terrain), 6);
        distances.flood(10, 9, None);
        assert_eq!([10, 12, 14].map(|at| distances.steps_to(at)), [Some(0), Some(2), None]);
        distances.unlock(13);
        distances.flood(12, 9, Some(14));
        assert_eq!([12, 14].map(|at| distances.steps_to(at)), [Some(0), Some(2)]);
        distances.flood(16, 9, None);
        assert_eq!([16, 10, 9].map(|at| distances.steps_to(at)), [Some(0), Some(6), None]);
        assert_eq!(distances.reset(&terrain), 6);
        distances.flood(16, 9, None);
        assert_eq!(distances.steps_to(12), None);
    }
}
