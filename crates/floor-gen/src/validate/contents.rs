//! Checks what a player can reach, and where spawns, items and traps lie.

use alloc::vec;
use alloc::vec::Vec;

use super::walker::{Walker, is_open, steps_between};
use super::{Violation, cells, index, terrain_at, things};
use crate::floor::{Floor, RoomRole, Terrain};

/// The exit, every key and every other room are reached without a search; secret rooms only by one.
pub(super) fn check_reach(floor: &Floor<'_>, explorer: &Walker, searcher: &Walker, found: &mut Vec<Violation>) {
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
    for ((at, _), &mark) in cells(floor).zip(&floor.region) {
        let secret = mark != 0 && floor.rooms[usize::from(mark) - 1].role == RoomRole::Secret;
        if secret && explorer.reaches(at) {
            found.push(Violation::SecretInTheOpen(at));
        }
    }
}

/// Groups are numbered from 1 and have two members or more; who falls lands where a walker without a key gets.
pub(super) fn check_groups_and_landing(floor: &Floor<'_>, found: &mut Vec<Violation>) {
    let greatest = floor.spawns.iter().map(|spawn| spawn.group).max().unwrap_or(0);
    let members = |group: u8| floor.spawns.iter().filter(|spawn| spawn.group == group).count();
    found.extend((1..=greatest).filter(|&group| members(group) < 2).map(Violation::Group));
    let lands = is_open(floor.terrain[index(floor, floor.landing)]);
    if !lands || steps_between(floor, floor.entry, floor.landing, |_| false).is_none() {
        found.push(Violation::LandingOutOfReach(floor.landing));
    }
}

/// Every spawn, item and trap lies on a reachable cell, no two on one cell.
pub(super) fn check_things(floor: &Floor<'_>, searcher: &Walker, found: &mut Vec<Violation>) {
    let mut used = vec![false; floor.terrain.len()];
    for (what, at) in things(floor) {
        let i = index(floor, at);
        if !is_open(floor.terrain[i]) || !searcher.reaches(at) {
            found.push(Violation::ThingOutOfReach(what, at));
        }
        if core::mem::replace(&mut used[i], true) {
            found.push(Violation::ThingsCollide(at));
        }
    }
}

/// Furniture stands in rooms, on ground that holds it, and shares its cell with nothing. The landmark is a room that is
/// neither hidden nor closed.
pub(super) fn check_furniture(floor: &Floor<'_>, found: &mut Vec<Violation>) {
    let mut used = vec![false; floor.terrain.len()];
    things(floor).for_each(|(_, at)| used[index(floor, at)] = true);
    for piece in &floor.furniture {
        let i = index(floor, piece.at);
        let holds_it = match terrain_at(floor, piece.at) {
            Terrain::Floor
            | Terrain::Grass
            | Terrain::Rubble
            | Terrain::ShallowWater
            | Terrain::Bridge
            | Terrain::Pillar => true,
            Terrain::Wall
            | Terrain::Door
            | Terrain::LockedDoor
            | Terrain::SecretDoor
            | Terrain::StairsUp
            | Terrain::StairsDown
            | Terrain::DeepWater
            | Terrain::Lava
            | Terrain::Chasm => false,
        };
        if !holds_it || floor.region[i] == 0 {
            found.push(Violation::FurniturePlace(piece.at));
        }
        if core::mem::replace(&mut used[i], true) {
            found.push(Violation::FurnitureCollides(piece.at));
        }
    }
    if let Some(landmark) = floor.landmark.map(usize::from) {
        let is_open = |role| !matches!(role, RoomRole::Secret | RoomRole::Vault);
        if !floor.rooms.get(landmark).is_some_and(|room| is_open(room.role)) {
            found.push(Violation::Landmark(landmark));
        }
    }
}
