//! Measures the finished floor by walking it, and rejects a floor that cannot be finished.

use crate::arena::{Arena, SEALED};
use crate::floor::{Metrics, RoomRole};
use crate::graph::Components;

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

/// Steps of the critical path. The locks that the exit needs have the first ids, in the order in which they are opened.
fn critical_path(arena: &mut Arena) -> Result<u32, LayoutRejected> {
    let Arena { distances, locks, items, required_locks, width, .. } = arena;
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
        steps += distances.steps_to(goal).ok_or(LayoutRejected("a key or the exit out of reach"))?;
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

/// Summed levels of the critical path's monsters for each of its rooms, in thousandths.
fn difficulty(arena: &mut Arena) -> u32 {
    let mut on_path = [false; crate::arena::MAX_ROOMS + 1];
    for &connection in &arena.path {
        let connection = &arena.connections[usize::from(connection)];
        on_path[usize::from(connection.from) + 1] = true;
        on_path[usize::from(connection.to) + 1] = true;
    }
    let met = arena
        .spawns
        .iter()
        .filter(|spawn| on_path[usize::from(arena.region[arena.at(spawn.at.x.into(), spawn.at.y.into())])]);
    let levels: u64 = met.map(|spawn| u64::from(spawn.level)).sum();
    u32::try_from(levels * 1_000 / (arena.path.len() as u64 + 1)).unwrap_or(u32::MAX)
}
