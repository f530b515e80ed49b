//! A player that walks the floor: picks up keys, opens locks once it has every key of them, and may search for secret
//! doors.

use alloc::vec;
use alloc::vec::Vec;

use super::index;
use crate::floor::{Floor, Point, Terrain};

/// The cells that a walk reached.
pub(super) struct Walker {
    width: usize,
    reached: Vec<bool>,
}

/// Whether a cell can be entered.
enum Passability {
    Open,
    /// A locked door, by the index of its lock in the floor's list.
    Locked(usize),
    Blocked,
}

impl Walker {
    /// Walks everywhere from the entry, with the keys found so far. Never opens the lock `kept_locked`.
    pub(super) fn explore(floor: &Floor<'_>, searches: bool, kept_locked: Option<u8>) -> Self {
        let mut walker = Self { width: floor.spec.width().into(), reached: vec![false; floor.terrain.len()] };
        let mut opened = vec![false; floor.locks.len()];
        let mut reached_door = vec![false; floor.locks.len()];
        let mut frontier = vec![floor.entry];
        walker.reached[index(floor, floor.entry)] = true;
        while !frontier.is_empty() {
            while let Some(here) = frontier.pop() {
                for there in around(floor, here) {
                    let i = index(floor, there);
                    match passability(floor, there, searches) {
                        _ if walker.reached[i] => {}
                        Passability::Locked(lock) if !opened[lock] => reached_door[lock] = true,
                        Passability::Blocked => {}
                        Passability::Open | Passability::Locked(_) => {
                            walker.reached[i] = true;
                            frontier.push(there);
                        }
                    }
                }
            }
            for (place, lock) in floor.locks.iter().enumerate() {
                let mut keys = floor.items.iter().filter(|item| item.opens_lock == lock.id);
                let holds_all = keys.all(|key| walker.reaches(key.at));
                if holds_all && kept_locked != Some(lock.id) && !opened[place] {
                    opened[place] = true;
                    if reached_door[place] {
                        walker.reached[index(floor, lock.at)] = true;
                        frontier.push(lock.at);
                    }
                }
            }
        }
        walker
    }

    pub(super) fn reaches(&self, at: Point) -> bool {
        self.reached[usize::from(at.y) * self.width + usize::from(at.x)]
    }
}

/// Steps of the shortest walk from `start` to `end` without a search. `open` gets the index of a lock in the floor's
/// list.
pub(super) fn steps_between(floor: &Floor<'_>, start: Point, end: Point, open: impl Fn(usize) -> bool) -> Option<u32> {
    let mut seen = vec![false; floor.terrain.len()];
    seen[index(floor, start)] = true;
    let (mut ring, mut next) = (vec![start], Vec::new());
    // Cells in rings of equal distance.
    let mut walked = 0;
    while !ring.is_empty() {
        for &here in &ring {
            if here == end {
                return Some(walked);
            }
            for there in around(floor, here) {
                let i = index(floor, there);
                let walkable = match passability(floor, there, false) {
                    Passability::Open => true,
                    Passability::Locked(lock) => open(lock),
                    Passability::Blocked => false,
                };
                if walkable && !seen[i] {
                    seen[i] = true;
                    next.push(there);
                }
            }
        }
        walked += 1;
        ring.clear();
        core::mem::swap(&mut ring, &mut next);
    }
    None
}

/// The neighbours of a cell, inside the floor.
fn around(floor: &Floor<'_>, at: Point) -> impl Iterator<Item = Point> {
    let (width, height) = (floor.spec.width(), floor.spec.height());
    let beside = [(0, -1), (1, 0), (0, 1), (-1, 0)];
    beside.into_iter().filter_map(move |(dx, dy)| {
        let (x, y) = (at.x.checked_add_signed(dx)?, at.y.checked_add_signed(dy)?);
        (x < width && y < height).then_some(Point { x, y })
    })
}

fn passability(floor: &Floor<'_>, at: Point, searches: bool) -> Passability {
    match floor.terrain[index(floor, at)] {
        Terrain::SecretDoor if searches => Passability::Open,
        // A locked door without a lock cannot be opened.
        Terrain::LockedDoor => {
            floor.locks.iter().position(|lock| lock.at == at).map_or(Passability::Blocked, Passability::Locked)
        }
        cell if is_open(cell) => Passability::Open,
        _ => Passability::Blocked,
    }
}

/// Whether terrain is passable without a key or a search. This list is the validator's own, so that it finds a mistake
/// in [`Terrain::passable`].
pub(super) const fn is_open(cell: Terrain) -> bool {
    match cell {
        Terrain::Wall
        | Terrain::LockedDoor
        | Terrain::SecretDoor
        | Terrain::DeepWater
        | Terrain::Lava
        | Terrain::Chasm
        | Terrain::Pillar => false,
        Terrain::Floor
        | Terrain::Door
        | Terrain::StairsUp
        | Terrain::StairsDown
        | Terrain::ShallowWater
        | Terrain::Bridge
        | Terrain::Grass
        | Terrain::Rubble => true,
    }
}
