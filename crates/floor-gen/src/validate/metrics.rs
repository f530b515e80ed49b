//! Recomputes the metrics of a floor and compares them.

use alloc::vec::Vec;

use super::Violation;
use super::walker::{Walker, is_open, steps_between};
use crate::floor::Floor;

pub(super) fn check(floor: &Floor<'_>, explorer: &Walker, found: &mut Vec<Violation>) {
    let mut compare = |name, stated, counted| {
        if stated != counted {
            found.push(Violation::Metric { name, stated, counted });
        }
    };
    let passable = floor.terrain.iter().filter(|&&cell| is_open(cell)).count();
    compare("passable_cells", floor.metrics.passable_cells, passable as u32);
    compare("loops", floor.metrics.loops, loops(floor));
    match critical_path(floor) {
        Some(steps) => compare("critical_path", floor.metrics.critical_path, steps),
        // Without a path to the exit there is nothing to count; check_reach reports it.
        None if !explorer.reaches(floor.exit) => {}
        None => found.push(Violation::LockOrder),
    }
}

/// Connections minus rooms plus connected components.
fn loops(floor: &Floor<'_>) -> u32 {
    let mut component: Vec<usize> = (0..floor.rooms.len()).collect();
    for connection in &floor.connections {
        let (a, b) = (component[usize::from(connection.from_room)], component[usize::from(connection.to_room)]);
        for mark in &mut component {
            if *mark == a {
                *mark = b;
            }
        }
    }
    component.sort_unstable();
    component.dedup();
    (floor.connections.len() + component.len()).saturating_sub(floor.rooms.len()) as u32
}

/// Steps from the entry, by the keys that the exit needs in lock order, to the exit. A lock is needed if the exit
/// cannot be reached while it is closed.
fn critical_path(floor: &Floor<'_>) -> Option<u32> {
    let mut locks: Vec<u8> = floor.locks.iter().map(|lock| lock.id).collect();
    locks.sort_unstable();
    locks.retain(|&lock| !Walker::explore(floor, false, Some(lock)).reaches(floor.exit));
    let mut held: Vec<u8> = Vec::new();
    let (mut here, mut total) = (floor.entry, 0);
    for lock in locks {
        for key in floor.items.iter().filter(|item| item.opens_lock == lock) {
            total += steps_between(floor, here, key.at, |place| held.contains(&floor.locks[place].id))?;
            here = key.at;
        }
        held.push(lock);
    }
    let out = steps_between(floor, here, floor.exit, |place| held.contains(&floor.locks[place].id))?;
    Some(total + out)
}
