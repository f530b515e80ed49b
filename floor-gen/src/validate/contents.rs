//! Checks what a player can reach, and where spawns, items and traps lie.

use alloc::vec;
use alloc::vec::Vec;

use super::walker::{Walker, is_open};
use super::{Violation, index};
use crate::floor::{Floor, Point, RoomRole};

/// The exit, every key and every other room are reached without a search; secret rooms only by one.
pub(super) fn check_reach(floor: &Floor, explorer: &Walker, searcher: &Walker, found: &mut Vec<Violation>) {
    if !explorer.reaches(floor.exit) {
        found.push(Violation::ExitOutOfReach);
    }
    for key in floor.items.iter().filter(|item| item.opens_lock != 0) {
        // The key must be reached while its lock is closed.
        if !Walker::explore(floor, false, Some(key.opens_lock)).reaches(key.at) {
            found.push(Violation::KeyOutOfReach(key.opens_lock));
        }
    }
    for (place, room) in floor.rooms.iter().enumerate() {
        let walker = if room.role == RoomRole::Secret { searcher } else { explorer };
        if !walker.reaches(room.center) {
            found.push(Violation::RoomOutOfReach(place, room.role));
        }
    }
    let width = usize::from(floor.spec.width());
    for (i, &mark) in floor.region.iter().enumerate() {
        let secret = mark != 0 && floor.rooms[usize::from(mark) - 1].role == RoomRole::Secret;
        let at = Point { x: (i % width) as u16, y: (i / width) as u16 };
        if secret && explorer.reaches(at) {
            found.push(Violation::SecretInTheOpen(at));
        }
    }
}

/// Every spawn, item and trap lies on a reachable cell, no two on one cell.
pub(super) fn check_things(floor: &Floor, searcher: &Walker, found: &mut Vec<Violation>) {
    let spawns = floor.spawns.iter().map(|spawn| ("spawn", spawn.at));
    let items = floor.items.iter().map(|item| ("item", item.at));
    let traps = floor.traps.iter().map(|trap| ("trap", trap.at));
    let mut used = vec![false; floor.terrain.len()];
    for (what, at) in spawns.chain(items).chain(traps) {
        let i = index(floor, at);
        if !is_open(floor.terrain[i]) || !searcher.reaches(at) {
            found.push(Violation::ThingOutOfReach(what, at));
        }
        if core::mem::replace(&mut used[i], true) {
            found.push(Violation::ThingsCollide(at));
        }
    }
}
