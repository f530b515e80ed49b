//! Path finding on a floor: shortest paths, the critical path, and the area behind each lock.

use std::collections::{BTreeSet, VecDeque};

use floor_proto::{
    floor::Floor,
    v1::{Point, Terrain},
};

pub(crate) type Cell = (u32, u32);

/// The end of a segment of the critical path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Goal {
    /// The key of a lock.
    Key(u32),
    Exit,
}

/// A segment of the critical path: a shortest path, both ends included.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Segment {
    pub(crate) goal: Goal,
    pub(crate) cells: Vec<Cell>,
}

/// The critical path as in `FloorMetrics`: from the entry to the exit, by way of the keys of the locks in front of the
/// exit, in lock order. `None` if the exit is unreachable.
pub(crate) fn critical_path(floor: &Floor) -> Option<Vec<Segment>> {
    let wire = floor.wire();
    let locks = wire.locks.iter().map(|lock| lock.id).collect::<BTreeSet<_>>();
    let blocks_exit = |lock: &u32| !explored(floor, Some(*lock)).reaches(floor, cell(Some(floor.exit())));
    let needed = locks.into_iter().filter(blocks_exit).collect::<Vec<_>>();
    let keys = needed.iter().flat_map(|lock| {
        let keys = wire.items.iter().filter(move |item| item.opens_lock == *lock);
        keys.map(|key| (Goal::Key(*lock), cell(key.at)))
    });
    let goals = keys.chain([(Goal::Exit, cell(Some(floor.exit())))]).collect::<Vec<_>>();
    let mut here = cell(Some(floor.entry()));
    let mut open = BTreeSet::new();
    let mut segments = Vec::new();
    for (goal, at) in goals {
        // A lock opens after its last key, so after the segment whose successor has another goal.
        open.extend(segments.last().and_then(|segment: &Segment| match segment.goal {
            Goal::Key(lock) if goal != Goal::Key(lock) => Some(lock),
            _ => None,
        }));
        let cells = ShortestPaths::from(floor, here, &open).to(floor, at)?;
        segments.push(Segment { goal, cells });
        here = at;
    }
    Some(segments)
}

/// For each cell, row-major, the last lock that must be opened to reach it; 0 if none. `None` if the cell is
/// unreachable without searching.
pub(crate) fn behind_locks(floor: &Floor) -> Vec<Option<u32>> {
    let entry = cell(Some(floor.entry()));
    let mut behind = vec![None; floor.terrain().len()];
    let mut open = BTreeSet::new();
    let mut last = 0;
    loop {
        let paths = ShortestPaths::from(floor, entry, &open);
        for (behind, step) in behind.iter_mut().zip(&paths.previous) {
            if step.is_some() {
                behind.get_or_insert(last);
            }
        }
        // One lock at a time, the lowest id first: the order that the generator intends.
        let next = openable(floor, &paths, &open).next();
        let Some(lock) = next else { return behind };
        open.insert(lock);
        last = lock;
    }
}

/// The cells that are reachable with all locks open that can be opened, except `excluded`.
fn explored(floor: &Floor, excluded: Option<u32>) -> ShortestPaths {
    let mut open = BTreeSet::new();
    loop {
        let paths = ShortestPaths::from(floor, cell(Some(floor.entry())), &open);
        let more = openable(floor, &paths, &open).filter(|lock| Some(*lock) != excluded).collect::<Vec<_>>();
        if more.is_empty() {
            return paths;
        }
        open.extend(more);
    }
}

/// Closed locks whose keys are all reachable, lowest id first.
fn openable(floor: &Floor, paths: &ShortestPaths, open: &BTreeSet<u32>) -> impl Iterator<Item = u32> {
    let wire = floor.wire();
    let holds_keys = |lock: &u32| {
        let mut keys = wire.items.iter().filter(|item| item.opens_lock == *lock).peekable();
        keys.peek().is_some() && keys.all(|key| paths.reaches(floor, cell(key.at)))
    };
    let closed = wire.locks.iter().map(|lock| lock.id).filter(|lock| !open.contains(lock));
    closed.filter(holds_keys).collect::<BTreeSet<_>>().into_iter()
}

/// The shortest paths from one cell to all others, 4-connected.
struct ShortestPaths {
    /// For each reachable cell the cell before it; for the start the start itself.
    previous: Vec<Option<Cell>>,
}

impl ShortestPaths {
    /// Breadth-first search from `start` without searching for secret doors. Only the locks in `open` are passable.
    fn from(floor: &Floor, start: Cell, open: &BTreeSet<u32>) -> Self {
        let locked = floor.wire().locks.iter().filter(|lock| open.contains(&lock.id)).map(|lock| cell(lock.at));
        let unlocked = locked.collect::<BTreeSet<_>>();
        let walkable = |(x, y): Cell| {
            floor.passable(x, y) || floor.terrain_at(x, y) == Some(Terrain::LockedDoor) && unlocked.contains(&(x, y))
        };
        let mut paths = Self { previous: vec![None; floor.terrain().len()] };
        paths.previous[index(floor, start)] = Some(start);
        let mut queue = VecDeque::from([start]);
        while let Some((x, y)) = queue.pop_front() {
            let around = [(x.wrapping_sub(1), y), (x + 1, y), (x, y.wrapping_sub(1)), (x, y + 1)];
            for next in around.into_iter().filter(|next| walkable(*next)) {
                let step = &mut paths.previous[index(floor, next)];
                if step.is_none() {
                    *step = Some((x, y));
                    queue.push_back(next);
                }
            }
        }
        paths
    }

    fn reaches(&self, floor: &Floor, at: Cell) -> bool {
        self.previous[index(floor, at)].is_some()
    }

    /// The shortest path to `goal`, both ends included.
    fn to(&self, floor: &Floor, goal: Cell) -> Option<Vec<Cell>> {
        let before = |at: &Cell| self.previous[index(floor, *at)].filter(|before| before != at);
        self.reaches(floor, goal).then(|| {
            let mut cells = std::iter::successors(Some(goal), before).collect::<Vec<_>>();
            cells.reverse();
            cells
        })
    }
}

pub(crate) fn cell(at: Option<Point>) -> Cell {
    let at = at.unwrap_or_default();
    (at.x, at.y)
}

const fn index(floor: &Floor, (x, y): Cell) -> usize {
    (y * floor.width() + x) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn the_critical_path_visits_the_key_that_it_needs() {
        let floor = fixture::floor();
        let segments = critical_path(&floor).unwrap();
        assert_eq!(segments.iter().map(|segment| segment.goal).collect::<Vec<_>>(), [Goal::Key(1), Goal::Exit]);
        assert_eq!((segments[0].cells[0], *segments[0].cells.last().unwrap()), ((1, 1), (2, 11)));
        assert_eq!((segments[1].cells[0], *segments[1].cells.last().unwrap()), ((2, 11), (27, 7)));
        assert!(segments[1].cells.contains(&(22, 4)), "through the locked door");
        let steps = segments.iter().flat_map(|segment| segment.cells.windows(2));
        assert!(steps.clone().all(|step| step[0].0.abs_diff(step[1].0) + step[0].1.abs_diff(step[1].1) == 1));
        assert_eq!(steps.count() as u32, floor.wire().metrics.unwrap().critical_path);
    }

    #[test]
    fn cells_behind_a_lock_have_its_id() {
        let floor = fixture::floor();
        let behind = behind_locks(&floor);
        let at = |x: usize, y: usize| behind[y * 30 + x];
        assert_eq!((at(1, 1), at(17, 2), at(2, 11)), (Some(0), Some(0), Some(0)));
        assert_eq!((at(22, 4), at(27, 7), at(26, 3)), (Some(1), Some(1), Some(1)));
        assert_eq!((at(20, 10), at(0, 0), at(10, 9)), (None, None, None), "secret, wall, deep water");
    }

    #[test]
    fn an_unreachable_exit_has_no_path() {
        let mut keyless = fixture::message();
        keyless.items.retain(|item| item.opens_lock == 0);
        keyless.content_hash = floor_proto::hash::content_hash(&keyless);
        assert_eq!(critical_path(&fixture::decoded(keyless)), None);
        assert_eq!(critical_path(&fixture::plain(20, 16)).unwrap()[0].cells.len(), 17 + 13 + 1);
    }
}
