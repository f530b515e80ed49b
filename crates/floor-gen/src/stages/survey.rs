//! Measures the finished floor by walking it, and rejects a floor that cannot be finished.

use crate::arena::{Arena, MAX_ROOMS, SEALED};
use crate::floor::{Metrics, RoomRole};
use crate::graph::Components;
use crate::stages::spots;

/// Why a layout is thrown away; the generator then tries another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LayoutRejected(pub(crate) &'static str);

/// Computes the metrics. Rejects a floor on which a key, the exit or a room is out of reach.
pub(crate) fn measure(arena: &mut Arena) -> Result<(), LayoutRejected> {
    if arena.items.iter().filter(|item| item.opens_lock != 0).count() != arena.locks.len() {
        return Err(LayoutRejected("a lock without a key"));
    }
    let passable_cells = arena.distances.reset(&arena.terrain);
    let critical_path = critical_path(arena)?;
    let components = Components::of_connections(arena.rooms.len(), &arena.connections).count;
    let loops = (arena.connections.len() + components - arena.rooms.len()) as u32;
    let difficulty = difficulty(arena);
    arena.metrics = Metrics { critical_path, passable_cells, loops, difficulty };
    Ok(())
}

/// Steps of the critical path, whose cells are listed. The locks that the exit needs have the first ids, in the order in which
/// they are opened.
fn critical_path(arena: &mut Arena) -> Result<u32, LayoutRejected> {
    let Arena { distances, locks, items, required_locks, width, cell_list, .. } = arena;
    cell_list.clear();
    let cell = |x: u16, y: u16| usize::from(y) * *width + usize::from(x);
    let required_locks = *required_locks;
    let mut here = arena.entry;
    let mut steps = 0;
    for leg in 0..=required_locks {
        if let Some(lock) = leg.checked_sub(1).and_then(|before| locks.get(before)) {
            distances.unlock(cell(lock.at.x, lock.at.y));
        }
        let goal = match locks.get(leg).filter(|_| leg < required_locks) {
            Some(lock) => {
                let key = items
                    .iter()
                    .find(|item| item.opens_lock == lock.id)
                    .ok_or(LayoutRejected("a lock without a key"))?;
                cell(key.at.x, key.at.y)
            }
            None => arena.exit,
        };
        // The last search has no goal, so that it reaches every room.
        distances.flood(here, *width, (leg < required_locks).then_some(goal));
        let walked = distances.steps_to(goal).ok_or(LayoutRejected("a key or the exit out of reach"))?;
        steps += walked;
        // Back from the goal, so that of walks of one length it is always the same.
        let (mut at, w) = (goal, *width);
        cell_list.push(at as u32);
        for left in (0..walked).rev() {
            at = [at - w, at + 1, at + w, at - 1]
                .into_iter()
                .find(|&there| distances.steps_to(there) == Some(left))
                .expect("a cell that a search reached has a neighbour one step nearer");
            cell_list.push(at as u32);
        }
        here = goal;
    }
    let is_closed = |role| matches!(role, RoomRole::Secret | RoomRole::Vault);
    if arena.rooms.iter().any(|room| !is_closed(room.role) && arena.distances.steps_to(room.center).is_none()) {
        return Err(LayoutRejected("a room out of reach"));
    }
    if things(arena).any(|at| arena.distances.steps_to(at).is_none()) {
        return Err(LayoutRejected("a thing out of reach"));
    }
    Ok(steps)
}

/// The cells of keys, loot, monsters and traps in rooms that are not closed, which the exit's keys have to reach.
fn things(arena: &Arena) -> impl Iterator<Item = usize> + '_ {
    let items = arena.items.iter().map(|item| item.at);
    let places = items.chain(arena.spawns.iter().map(|spawn| spawn.at)).chain(arena.traps.iter().map(|trap| trap.at));
    let cells = places.map(|at| arena.at(at.x.into(), at.y.into()));
    cells.filter(|&at| arena.room_at(at).is_some_and(|room| arena.rooms[room].zone != SEALED))
}

/// Monsters outside rooms that stand so near the critical path are met on it, in steps without obstacles.
const IN_THE_WAY: u32 = 8;

/// Summed levels of the monsters that one meets on the critical path, whose cells are listed, in thousandths: those in the
/// rooms that it enters, and those outside rooms that are near it.
fn difficulty(arena: &Arena) -> u32 {
    let mut entered = [false; MAX_ROOMS + 1];
    for &at in &arena.cell_list {
        entered[usize::from(arena.region[at as usize])] = true;
    }
    let is_met = |at: usize| match arena.room_at(at) {
        Some(_) => entered[usize::from(arena.region[at])],
        None => arena.cell_list.iter().any(|&other| spots::distance(arena, at, other as usize) <= IN_THE_WAY),
    };
    let met = arena.spawns.iter().filter(|spawn| is_met(arena.at(spawn.at.x.into(), spawn.at.y.into())));
    let levels: u64 = met.map(|spawn| u64::from(spawn.level)).sum();
    u32::try_from(levels * 1_000).unwrap_or(u32::MAX)
}
