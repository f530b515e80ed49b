//! Niches: small rooms with one door each, dug off rooms that lie open to each other. On such floors only niches can be
//! locked: the exit, the rooms that hold its keys, vaults and secret rooms.

use crate::arena::{Arena, ConnectionDraft, Side};
use crate::floor::RoomRole;
use crate::plan::Plan;
use crate::rng::Rng;
use crate::shape::Shape;
use crate::stages::accrete::{RoomParams, attach};
use crate::stages::gates::{self, LockCounts};
use crate::stages::stairs;
use crate::stages::survey::LayoutRejected;

/// Least side of a niche, in cells.
const MIN_NICHE: i32 = 3;

/// Digs the niches off the first `hosts` rooms, for a floor whose exit lies where the tower says. Only an exit in a room
/// of its own can be locked.
pub(crate) fn dig(
    arena: &mut Arena,
    plan: &Plan<'_>,
    hosts: usize,
    wanted: LockCounts,
    rng: &mut Rng,
) -> Result<(), LayoutRejected> {
    let (entry, exit) = stairs::own(arena, plan, rng, |_| true)?;
    arena.rooms[entry].role = RoomRole::Entry;
    arena.rooms[exit].role = RoomRole::Exit;
    let wanted = LockCounts { locks: if exit < hosts { 0 } else { wanted.locks }, ..wanted };
    dig_closed(arena, hosts, wanted, rng);
    seal(arena, exit, wanted);
    gates::trace_path(arena, entry, exit)
}

/// Digs only vaults and secret rooms, for a floor that has an entry and an exit.
pub(crate) fn dig_beside(arena: &mut Arena, hosts: usize, wanted: LockCounts, rng: &mut Rng) {
    let wanted = LockCounts { locks: 0, ..wanted };
    dig_closed(arena, hosts, wanted, rng);
    seal(arena, 0, wanted);
}

/// Digs the niches besides the exit's, and lists them in `room_list`.
fn dig_closed(arena: &mut Arena, hosts: usize, wanted: LockCounts, rng: &mut Rng) {
    arena.room_list.clear();
    for _ in 0..wanted.beside_exit() {
        if let Some(niche) = dig_one(arena, hosts, rng) {
            arena.room_list.push(niche as u8);
        }
    }
}

/// Closes the exit and the listed rooms, which have one connection each: first the rooms for keys of nested locks, then
/// vaults, then secret rooms.
pub(crate) fn seal(arena: &mut Arena, exit: usize, wanted: LockCounts) {
    let mut next = 0;
    let mut take = |arena: &mut Arena, count: usize, role: RoomRole| {
        let last = (next + count).min(arena.room_list.len());
        for i in next..last {
            let room = usize::from(arena.room_list[i]);
            arena.rooms[room].role = role;
            close(arena, room);
        }
        next = last;
    };
    // Locks are numbered in the order in which they are opened. The first key lies in the open, each other key in the
    // room that the lock before it opens.
    if wanted.locks > 0 {
        take(arena, wanted.locks - 1, RoomRole::Key);
        close(arena, exit);
        arena.required_locks = arena.locks.len();
        for i in 1..arena.required_locks {
            arena.key_rooms[i] = Some(arena.room_list[i - 1]);
        }
    }
    take(arena, wanted.vaults, RoomRole::Vault);
    take(arena, wanted.secrets, RoomRole::Secret);
}

/// Closes a room's only connection that has a door.
fn close(arena: &mut Arena, room: usize) {
    let is_door = |connection: &ConnectionDraft| connection.gate.is_some() && connection.touches(room as u8);
    if let Some(connection) = arena.connections.iter().position(is_door) {
        gates::close(arena, room, connection);
    }
}

/// Digs a niche off a random one of the hosts.
fn dig_one(arena: &mut Arena, hosts: usize, rng: &mut Rng) -> Option<usize> {
    let numbers = arena.params.niches;
    let (corridor_chance, corridor) = (numbers.corridor_chance, numbers.corridor as i32);
    let params = RoomParams { corridor_chance, corridor, door_chance: 1_000, ..RoomParams::of(arena) };
    let tries = numbers.tries as i32;
    (0..tries).find_map(|tried| {
        // Each try draws smaller shapes.
        let slack = tries - tried;
        let width = rng.range(MIN_NICHE, MIN_NICHE + (numbers.width as i32 - MIN_NICHE) * slack / tries);
        let height = rng.range(MIN_NICHE, MIN_NICHE + (numbers.height as i32 - MIN_NICHE) * slack / tries);
        let form = arena.params.niches.forms.draw(rng);
        let shape = Shape::draw(form, width, height, rng);
        let parent = rng.index(hosts);
        let side = rng.pick(&Side::ALL);
        attach(arena, &params, parent, side, &shape, rng)
    })
}
