//! Ways over a floor: where a walker gets with the keys that it has, and how. A step leads to one of the four neighbours
//! of a cell. All clients answer alike: docs/clients/kit.md.

use std::collections::VecDeque;

use crate::{
    floor::Floor,
    v1::{Point, Terrain},
};

/// No way leads to the cell.
const FAR: u32 = u32::MAX;

impl Floor {
    /// Whether a walker with the keys of these locks can enter a cell. `false` outside the floor.
    #[must_use]
    pub fn passable_with(&self, x: u32, y: u32, keys: &[u32]) -> bool {
        let opens = || self.lock_at(x, y).is_some_and(|lock| keys.contains(&lock));
        self.passable(x, y) || (self.terrain_at(x, y) == Some(Terrain::LockedDoor) && opens())
    }

    /// The cells that a walker with these keys reaches from a cell, that cell among them: `width * height` of them,
    /// row-major. None from outside the floor.
    #[must_use]
    pub fn reachable(&self, from: Point, keys: &[u32]) -> Vec<bool> {
        self.distances(from, None, keys).into_iter().map(|steps| steps != FAR).collect()
    }

    /// The steps of the shortest way from one cell to another; 0 to itself.
    #[must_use]
    pub fn distance(&self, from: Point, to: Point, keys: &[u32]) -> Option<u32> {
        self.path(from, to, keys).map(|path| path.len() as u32 - 1)
    }

    /// The cells of the shortest way, both ends among them. Of ways with as few steps it is the one whose first different
    /// step leads north, else west, else east.
    #[must_use]
    pub fn path(&self, from: Point, to: Point, keys: &[u32]) -> Option<Vec<Point>> {
        self.cell(from)?;
        if from != to && !self.passable_with(to.x, to.y, keys) {
            return None;
        }
        let left = self.distances(to, Some(from), keys);
        let steps = |at: Point| self.cell(at).map_or(FAR, |cell| left[cell]);
        if steps(from) == FAR {
            return None;
        }
        let mut path = vec![from];
        let mut at = from;
        while at != to {
            at = beside(at).into_iter().flatten().find(|next| steps(*next) < steps(at))?;
            path.push(at);
        }
        Some(path)
    }

    /// Cells for a party of `count`, each of its own: those nearest to the entry that everybody can enter, but for doors and
    /// the stairs down. As near ones come row by row. Fewer if there are no more.
    #[must_use]
    pub fn starts(&self, count: usize) -> Vec<Point> {
        let steps = self.distances(self.entry(), None, &[]);
        let cells = (0..self.height()).flat_map(|y| (0..self.width()).map(move |x| Point { x, y }));
        let stands = |at: &Point| !matches!(self.terrain_at(at.x, at.y), Some(Terrain::Door | Terrain::StairsDown));
        let mut cells: Vec<(u32, Point)> =
            steps.into_iter().zip(cells).filter(|(steps, at)| *steps != FAR && stands(at)).collect();
        cells.sort_by_key(|(steps, _)| *steps);
        cells.into_iter().map(|(_, at)| at).take(count).collect()
    }

    fn lock_at(&self, x: u32, y: u32) -> Option<u32> {
        self.locks().iter().find(|lock| lock.at == Some(Point { x, y })).map(|lock| lock.id)
    }

    fn cell(&self, Point { x, y }: Point) -> Option<usize> {
        (x < self.width() && y < self.height()).then(|| (y * self.width() + x) as usize)
    }

    /// The steps from a cell to every other, row-major; into `also` even if nobody can enter it.
    fn distances(&self, from: Point, also: Option<Point>, keys: &[u32]) -> Vec<u32> {
        let mut steps = vec![FAR; self.terrain().len()];
        let Some(first) = self.cell(from) else { return steps };
        steps[first] = 0;
        let mut queue = VecDeque::from([from]);
        while let Some(at) = queue.pop_front() {
            let next_steps = self.cell(at).map_or(FAR, |cell| steps[cell] + 1);
            for next in beside(at).into_iter().flatten() {
                let Some(cell) = self.cell(next) else { continue };
                let enters = also == Some(next) || self.passable_with(next.x, next.y, keys);
                if steps[cell] == FAR && enters {
                    steps[cell] = next_steps;
                    queue.push_back(next);
                }
            }
        }
        steps
    }
}

/// The neighbours to the north, west, east and south.
fn beside(Point { x, y }: Point) -> [Option<Point>; 4] {
    let at = |x: Option<u32>, y: Option<u32>| Some(Point { x: x?, y: y? });
    [
        at(Some(x), y.checked_sub(1)),
        at(x.checked_sub(1), Some(y)),
        at(x.checked_add(1), Some(y)),
        at(Some(x), y.checked_add(1)),
    ]
}
