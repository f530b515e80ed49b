//! The overlays of a picture: rooms, critical path and locks.

use std::collections::{BTreeMap, BTreeSet};

use floor_proto::{floor::Floor, v1::Room};

use super::paths::{self, Cell, Goal, Segment, cell};
use crate::names;

/// The overlays to show. They can be combined.
#[derive(Debug, Clone, Copy, Default)]
pub struct Overlays {
    /// The outlines and the numbers of the rooms.
    pub rooms: bool,
    /// The critical path: from the entry to the exit, by way of the keys that are needed.
    pub path: bool,
    /// Which key opens which lock, and the area behind each lock.
    pub locks: bool,
}

/// The computed overlays of one floor. Those not requested are empty.
#[derive(Debug, Default)]
pub(crate) struct Overlay {
    /// Rooms by id.
    pub(crate) rooms: BTreeMap<u32, Outline>,
    /// The segments of the critical path.
    pub(crate) segments: Vec<Segment>,
    /// The locks with their doors and keys.
    pub(crate) locks: Vec<LockKeys>,
    steps: BTreeMap<Cell, Goal>,
    behind: Vec<Option<u32>>,
    labels: BTreeMap<Cell, char>,
}

/// The colour of a room, and where its number is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Outline {
    /// Index of the colour. Connected rooms have different colours.
    pub(crate) colour: usize,
    /// Near the center, and free if possible.
    pub(crate) number_at: Cell,
}

/// A lock and its keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LockKeys {
    pub(crate) lock: u32,
    pub(crate) door: Cell,
    pub(crate) keys: Vec<Cell>,
    /// Number of cells that the lock makes reachable.
    pub(crate) opens: usize,
}

impl Overlays {
    #[cfg(test)]
    pub(crate) const fn all() -> Self {
        Self { rooms: true, path: true, locks: true }
    }

    /// Computes the overlays. No label covers a cell in `taken`.
    pub(crate) fn of(self, floor: &Floor, taken: &BTreeSet<Cell>) -> Overlay {
        let mut overlay = Overlay::default();
        if self.path {
            overlay.segments = paths::critical_path(floor).unwrap_or_default();
            for segment in &overlay.segments {
                overlay.steps.extend(segment.cells.iter().map(|cell| (*cell, segment.goal)));
            }
        }
        if self.locks {
            overlay.behind = paths::behind_locks(floor);
            overlay.locks = locks(floor, &overlay.behind);
            let keys =
                overlay.locks.iter().flat_map(|lock_keys| lock_keys.keys.iter().map(|key| (lock_keys.lock, *key)));
            for (lock, (x, y)) in keys.collect::<Vec<_>>() {
                // Next to the key, so that both are visible.
                let beside = [(x + 1, y), (x.wrapping_sub(1), y), (x, y + 1), (x, y.wrapping_sub(1))];
                overlay.write(floor, taken, beside.into_iter(), lock);
            }
        }
        if self.rooms {
            let colours = colours(floor);
            for room in floor.rooms() {
                let number_at = overlay.write(floor, taken, cells_near_center(room), names::room_number(room.id));
                let number_at = number_at.unwrap_or_else(|| cell(room.center));
                overlay.rooms.insert(room.id, Outline { colour: colours[&room.id], number_at });
            }
        }
        overlay
    }
}

impl Overlay {
    /// The goal of the path segment through a cell; of several segments the last.
    pub(crate) fn step(&self, at: Cell) -> Option<Goal> {
        self.steps.get(&at).copied()
    }

    pub(crate) fn label(&self, at: Cell) -> Option<char> {
        self.labels.get(&at).copied()
    }

    /// The lock in front of a cell.
    pub(crate) fn behind(&self, index: usize) -> Option<u32> {
        self.behind.get(index).copied().flatten().filter(|lock| *lock != 0)
    }

    /// Writes a number at the first of `candidates` where it covers nothing, and returns that cell. `None` if there is
    /// none.
    fn write(
        &mut self,
        floor: &Floor,
        taken: &BTreeSet<Cell>,
        mut candidates: impl Iterator<Item = Cell>,
        number: u32,
    ) -> Option<Cell> {
        let digits = number.to_string();
        let cells = |(x, y): Cell| (x..).zip(digits.chars()).map(move |(x, digit)| ((x, y), digit));
        let free = |at: &Cell| {
            cells(*at)
                .all(|(at, _)| floor.passable(at.0, at.1) && !taken.contains(&at) && !self.labels.contains_key(&at))
        };
        let position = candidates.find(free);
        self.labels.extend(position.into_iter().flat_map(cells));
        position
    }
}

/// The cells of a room's bounding box, those near its center first.
fn cells_near_center(room: &Room) -> impl Iterator<Item = Cell> {
    let (min, max, center) = (cell(room.min), cell(room.max), cell(room.center));
    let mut cells = (min.1..=max.1).flat_map(|y| (min.0..=max.0).map(move |x| (x, y))).collect::<Vec<_>>();
    cells.sort_by_key(|(x, y)| (x.abs_diff(center.0) + 2 * y.abs_diff(center.1), *y, *x));
    cells.into_iter()
}

/// Gives each room the first colour that no connected room has.
fn colours(floor: &Floor) -> BTreeMap<u32, usize> {
    let mut colours = BTreeMap::<u32, usize>::new();
    for room in floor.rooms() {
        let connections = floor.wire().connections.iter();
        let neighbours = connections.filter_map(|connection| match (connection.from_room, connection.to_room) {
            (from, to) if from == room.id => Some(to),
            (from, to) if to == room.id => Some(from),
            _ => None,
        });
        let used = neighbours.filter_map(|other| colours.get(&other)).copied().collect::<BTreeSet<_>>();
        let free = (0..).find(|colour| !used.contains(colour)).unwrap_or(0);
        colours.insert(room.id, free);
    }
    colours
}

fn locks(floor: &Floor, behind: &[Option<u32>]) -> Vec<LockKeys> {
    let wire = floor.wire();
    let lock_keys = |lock: &floor_proto::v1::Lock| LockKeys {
        lock: lock.id,
        door: cell(lock.at),
        keys: wire.items.iter().filter(|item| item.opens_lock == lock.id).map(|key| cell(key.at)).collect(),
        opens: behind.iter().filter(|behind| **behind == Some(lock.id)).count(),
    };
    wire.locks.iter().map(lock_keys).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn connected_rooms_differ_in_colour() {
        let floor = fixture::floor();
        let colours = colours(&floor);
        assert_eq!(colours.len(), floor.rooms().len());
        for connection in &floor.wire().connections {
            assert_ne!(colours[&connection.from_room], colours[&connection.to_room], "{connection:?}");
        }
    }

    #[test]
    fn labels_hide_nothing() {
        let floor = fixture::floor();
        let taken = BTreeSet::from([(2, 2), (3, 11)]);
        let overlay = Overlays::all().of(&floor, &taken);
        let near = |(x, y): Cell| (x - 1..=x + 1).any(|x| (y - 1..=y + 1).any(|y| overlay.label((x, y)) == Some('1')));
        assert!(near((2, 2)), "room 1 is labelled next to the object in its center");
        assert_eq!(overlay.label((1, 11)), Some('1'), "the key's label is on its free side");
        assert!(taken.iter().all(|at| overlay.label(*at).is_none()));
    }

    #[test]
    fn an_overlay_not_requested_is_empty() {
        let overlay = Overlays::default().of(&fixture::floor(), &BTreeSet::new());
        assert!(overlay.rooms.is_empty() && overlay.segments.is_empty() && overlay.locks.is_empty());
        assert!(overlay.labels.is_empty() && overlay.behind.is_empty() && overlay.steps.is_empty());
    }

    #[test]
    fn a_lock_is_listed_with_its_key() {
        let overlay = Overlays { locks: true, ..Overlays::default() }.of(&fixture::floor(), &BTreeSet::new());
        let [lock_keys] = overlay.locks.as_slice() else { panic!("{:?}", overlay.locks) };
        assert_eq!((lock_keys.lock, lock_keys.door, lock_keys.keys.as_slice()), (1, (22, 4), &[(2, 11)][..]));
        assert_eq!(lock_keys.opens, (0..480).filter(|index| overlay.behind(*index) == Some(1)).count());
    }
}
