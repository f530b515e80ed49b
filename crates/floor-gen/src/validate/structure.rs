//! Checks that need no walk: the grids, the rooms, the locks.

use alloc::vec;
use alloc::vec::Vec;

use super::walker::is_open;
use super::{Violation, cells, index, terrain_at, things};
use crate::floor::{Floor, Point, Terrain};

/// Grids of the right size, everything inside the floor, a closed border, and one of each stairs. All other checks rely
/// on it.
pub(super) fn check_frame(floor: &Floor<'_>, found: &mut Vec<Violation>) {
    let (width, height) = (floor.spec.width(), floor.spec.height());
    for (grid, cells) in [("terrain", floor.terrain.len()), ("region", floor.region.len())] {
        if cells != floor.spec.cells() {
            found.push(Violation::GridSize { grid, cells });
        }
    }
    let things = things(floor).chain(floor.locks.iter().map(|lock| ("lock", lock.at)));
    let things = things
        .chain(floor.furniture.iter().map(|piece| ("furniture", piece.at)))
        .chain(floor.rooms.iter().flat_map(|room| [("room", room.min), ("room", room.max), ("room", room.center)]));
    for (what, at) in things.chain([("entry", floor.entry), ("exit", floor.exit), ("landing", floor.landing)]) {
        if at.x >= width || at.y >= height {
            found.push(Violation::Outside(what, at));
        }
    }
    let named =
        floor.connections.iter().flat_map(|connection| [connection.from_room, connection.to_room]).map(usize::from);
    let marked = floor.region.iter().filter_map(|&mark| usize::from(mark).checked_sub(1));
    found.extend(named.chain(marked).filter(|&room| room >= floor.rooms.len()).map(Violation::NoSuchRoom));
    if !found.is_empty() {
        return;
    }
    for (at, cell) in cells(floor) {
        let on_border = at.x == 0 || at.y == 0 || at.x == width - 1 || at.y == height - 1;
        if on_border && cell != Terrain::Wall {
            found.push(Violation::OpenBorder(at));
        }
    }
    for (kind, at) in [(Terrain::StairsUp, floor.entry), (Terrain::StairsDown, floor.exit)] {
        let count = floor.terrain.iter().filter(|&&cell| cell == kind).count();
        if count != 1 || terrain_at(floor, at) != kind {
            found.push(Violation::Stairs { kind, count });
        }
    }
}

/// Consecutive ids, exact bounding boxes, passable centers.
pub(super) fn check_rooms(floor: &Floor<'_>, found: &mut Vec<Violation>) {
    let mut boxes: Vec<Option<(Point, Point)>> = vec![None; floor.rooms.len()];
    for ((at, cell), &mark) in cells(floor).zip(&floor.region) {
        let Some(room) = usize::from(mark).checked_sub(1) else { continue };
        if matches!(cell, Terrain::Wall | Terrain::Door | Terrain::LockedDoor | Terrain::SecretDoor) {
            found.push(Violation::RoomCell(at));
        }
        let (min, max) = boxes[room].get_or_insert((at, at));
        (min.x, min.y) = (min.x.min(at.x), min.y.min(at.y));
        (max.x, max.y) = (max.x.max(at.x), max.y.max(at.y));
    }
    for (place, (room, around)) in floor.rooms.iter().zip(boxes).enumerate() {
        if usize::from(room.id) != place {
            found.push(Violation::RoomId(place));
        }
        if around != Some((room.min, room.max)) {
            found.push(Violation::RoomBox(place));
        }
        let center = index(floor, room.center);
        if usize::from(floor.region[center]) != place + 1 || !is_open(floor.terrain[center]) {
            found.push(Violation::RoomCenter(place));
        }
    }
}

/// Consecutive lock ids, one locked door for each lock, and a key for each.
pub(super) fn check_locks(floor: &Floor<'_>, found: &mut Vec<Violation>) {
    let exists = |id: u8| floor.locks.iter().any(|lock| lock.id == id);
    let mut ids: Vec<u8> = floor.locks.iter().map(|lock| lock.id).collect();
    ids.sort_unstable();
    found.extend(ids.iter().zip(1..).filter(|&(&id, want)| id != want).map(|(&id, _)| Violation::LockId(id)));
    for lock in &floor.locks {
        let sharing = floor.locks.iter().filter(|other| other.at == lock.at).count();
        if sharing != 1 || terrain_at(floor, lock.at) != Terrain::LockedDoor {
            found.push(Violation::LockCell(lock.at));
        }
        if !floor.items.iter().any(|item| item.opens_lock == lock.id) {
            found.push(Violation::LockWithoutKey(lock.id));
        }
    }
    let locked = cells(floor).filter(|&(_, cell)| cell == Terrain::LockedDoor);
    let loose = locked.filter(|&(at, _)| !floor.locks.iter().any(|lock| lock.at == at));
    found.extend(loose.map(|(at, _)| Violation::DoorWithoutLock(at)));
    let named = floor
        .items
        .iter()
        .map(|item| item.opens_lock)
        .chain(floor.connections.iter().map(|connection| connection.lock_id));
    found.extend(named.filter(|&id| id != 0 && !exists(id)).map(Violation::NoSuchLock));
}
