//! Somebody who walks the floor: opens a locked door once every key to it is in the bag, and may search for doors.

use alloc::vec;
use alloc::vec::Vec;

use super::index;
use crate::floor::{Floor, Point, Terrain};

/// Where a walker got to.
pub(super) struct Walker {
    width: usize,
    reached: Vec<bool>,
}

/// What stands in a walker's way.
enum Passability {
    Open,
    /// A locked door, by its lock's place in the floor's list.
    Locked(usize),
    Blocked,
}

impl Walker {
    /// Walks everywhere from the entry, opening whatever the keys found so far open. Leaves the lock `shunned` shut even
    /// with its key.
    pub(super) fn explore(floor: &Floor, searches: bool, kept_locked: Option<u8>) -> Self {
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

/// Steps of the shortest walk from `start` to `end` without searching, through the locked doors whose lock, by its place
/// in the floor's list, is `open`.
pub(super) fn steps_between(floor: &Floor, start: Point, end: Point, open: impl Fn(usize) -> bool) -> Option<u32> {
    let mut seen = vec![false; floor.terrain.len()];
    seen[index(floor, start)] = true;
    let (mut ring, mut next) = (vec![start], Vec::new());
    // Ring by ring: all cells that are `walked` steps away, then those one further.
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

/// The cells beside one, inside the floor.
fn around(floor: &Floor, at: Point) -> impl Iterator<Item = Point> {
    let (width, height) = (floor.spec.width(), floor.spec.height());
    let beside = [(0, -1), (1, 0), (0, 1), (-1, 0)];
    beside.into_iter().filter_map(move |(dx, dy)| {
        let (x, y) = (at.x.checked_add_signed(dx)?, at.y.checked_add_signed(dy)?);
        (x < width && y < height).then_some(Point { x, y })
    })
}

fn passability(floor: &Floor, at: Point, searches: bool) -> Passability {
    match floor.terrain[index(floor, at)] {
        Terrain::SecretDoor if searches => Passability::Open,
        // A locked door without a lock stays shut.
        Terrain::LockedDoor => {
            floor.locks.iter().position(|lock| lock.at == at).map_or(Passability::Blocked, Passability::Locked)
        }
        cell if is_open(cell) => Passability::Open,
        _ => Passability::Blocked,
    }
}

/// Whether anybody may stand there. The validator's own list, so that a slip in [`Terrain::passable`], by which floors are
/// built, is seen here.
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
