//! Ways over a floor: where a walker gets with the keys that it has, and how. A step leads to one of the four neighbours
//! of a cell. All clients answer alike: docs/clients/kit.md.

use std::collections::VecDeque;

use crate::{
    floor::{Floor, is_passable},
    v1::{Lock, Point, Terrain},
};

/// No way leads to the cell.
const FAR: u32 = u32::MAX;

/// What ways lead over: the cells of a floor, and its locked doors.
#[derive(Debug, Clone, Copy)]
pub struct Ground<'a> {
    /// Cells from west to east.
    pub width: u32,
    /// Row by row.
    pub terrain: &'a [Terrain],
    /// Each at the cell of its door.
    pub locks: &'a [Lock],
    /// Where a party arrives.
    pub entry: Point,
}

impl Floor {
    /// What ways lead over.
    #[must_use]
    pub fn ground(&self) -> Ground<'_> {
        Ground { width: self.width(), terrain: self.terrain(), locks: self.locks(), entry: self.entry() }
    }

    /// As [`Ground::passable`].
    #[must_use]
    pub fn passable_with(&self, x: u32, y: u32, keys: &[u32]) -> bool {
        self.ground().passable(Point { x, y }, keys)
    }

    /// As [`Ground::reachable`].
    #[must_use]
    pub fn reachable(&self, from: Point, keys: &[u32]) -> Vec<bool> {
        self.ground().reachable(from, keys)
    }

    /// The steps of [`path`](Self::path); 0 from a cell to itself.
    #[must_use]
    pub fn distance(&self, from: Point, to: Point, keys: &[u32]) -> Option<u32> {
        self.path(from, to, keys).map(|path| path.len() as u32 - 1)
    }

    /// As [`Ground::path`].
    #[must_use]
    pub fn path(&self, from: Point, to: Point, keys: &[u32]) -> Option<Vec<Point>> {
        self.ground().path(from, to, keys)
    }

    /// As [`Ground::starts`].
    #[must_use]
    pub fn starts(&self, count: usize) -> Vec<Point> {
        self.ground().starts(count)
    }
}

impl Ground<'_> {
    /// Whether a walker with the keys of these locks can enter a cell. `false` outside the floor.
    #[must_use]
    pub fn passable(self, at: Point, keys: &[u32]) -> bool {
        let Some(terrain) = self.cell(at).and_then(|cell| self.terrain.get(cell)) else { return false };
        let opens = |lock: &Lock| lock.at == Some(at) && keys.contains(&lock.id);
        is_passable(*terrain) || (*terrain == Terrain::LockedDoor && self.locks.iter().any(opens))
    }

    /// The cells that a walker with these keys reaches from a cell, that cell among them, row by row. None from outside the
    /// floor.
    #[must_use]
    pub fn reachable(self, from: Point, keys: &[u32]) -> Vec<bool> {
        self.distances(from, None, keys).into_iter().map(|steps| steps != FAR).collect()
    }

    /// The cells of the shortest way, both ends among them. Of ways with as few steps it is the one whose first different
    /// step leads north, else west, else east.
    #[must_use]
    pub fn path(self, from: Point, to: Point, keys: &[u32]) -> Option<Vec<Point>> {
        self.cell(from)?;
        if from != to && !self.passable(to, keys) {
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
    pub fn starts(self, count: usize) -> Vec<Point> {
        let stands = |cell: usize| !matches!(self.terrain[cell], Terrain::Door | Terrain::StairsDown);
        let steps = self.distances(self.entry, None, &[]);
        let mut cells: Vec<_> = (0..steps.len()).filter(|cell| steps[*cell] != FAR && stands(*cell)).collect();
        cells.sort_by_key(|cell| steps[*cell]);
        let point = |cell: usize| Point { x: cell as u32 % self.width, y: cell as u32 / self.width };
        cells.into_iter().take(count).map(point).collect()
    }

    fn cell(self, Point { x, y }: Point) -> Option<usize> {
        let cell = (x < self.width).then(|| y as usize * self.width as usize + x as usize)?;
        (cell < self.terrain.len()).then_some(cell)
    }

    /// The steps from a cell to every other, row by row. The cell `also` can be entered, whatever it is.
    fn distances(self, from: Point, also: Option<Point>, keys: &[u32]) -> Vec<u32> {
        let mut steps = vec![FAR; self.terrain.len()];
        let Some(first) = self.cell(from) else { return steps };
        steps[first] = 0;
        let mut queue = VecDeque::from([from]);
        while let Some(at) = queue.pop_front() {
            let next_steps = self.cell(at).map_or(FAR, |cell| steps[cell] + 1);
            for next in beside(at).into_iter().flatten() {
                let Some(cell) = self.cell(next) else { continue };
                let enters = also == Some(next) || self.passable(next, keys);
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
