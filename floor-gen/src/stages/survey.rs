//! Walks the finished floor: its measures, and whether it is one that may leave the generator.

use crate::arena::Arena;
use crate::floor::{Metrics, RoomRole};
use crate::graph::Pieces;

/// Why a construction is thrown away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Unfit(pub(crate) &'static str);

/// Measures the floor by walking it from the entry over the keys that the way out needs to the exit.
pub(crate) fn measure(arena: &mut Arena) -> Result<(), Unfit> {
    if arena.items.iter().filter(|item| item.opens_lock != 0).count() != arena.locks.len() {
        return Err(Unfit("a lock without a key"));
    }
    let passable_cells = arena.walk.survey(&arena.terrain);
    let critical_path = walk_out(arena)?;
    let pieces = Pieces::joined_by(arena.rooms.len(), &arena.ways).count;
    let loops = (arena.ways.len() + pieces - arena.rooms.len()) as u32;
    let difficulty = difficulty(arena);
    arena.metrics = Metrics { critical_path, passable_cells, loops, difficulty };
    Ok(())
}

/// Steps of the critical path, over the cells that were surveyed. The locks that the way out needs have the first ids, in the order they are opened.
fn walk_out(arena: &mut Arena) -> Result<u32, Unfit> {
    let Arena { walk, locks, items, needed, width, .. } = arena;
    let cell = |x: u16, y: u16| usize::from(y) * *width + usize::from(x);
    let needed = *needed;
    let mut here = arena.entry;
    let mut steps = 0;
    for leg in 0..=needed {
        if let Some(lock) = leg.checked_sub(1).and_then(|before| locks.get(before)) {
            walk.unlock(cell(lock.at.x, lock.at.y));
        }
        let goal = match locks.get(leg).filter(|_| leg < needed) {
            Some(lock) => {
                let key = items.iter().find(|item| item.opens_lock == lock.id).ok_or(Unfit("a lock without a key"))?;
                cell(key.at.x, key.at.y)
            }
            None => arena.exit,
        };
        // The last leg walks everywhere, to see that every room is reached.
        walk.flood(here, *width, (leg < needed).then_some(goal));
        steps += walk.steps_to(goal).ok_or(Unfit("a key or the exit out of reach"))?;
        here = goal;
    }
    let shut = |role| matches!(role, RoomRole::Secret | RoomRole::Vault);
    if arena.rooms.iter().any(|room| !shut(room.role) && arena.walk.steps_to(room.center).is_none()) {
        return Err(Unfit("a room out of reach"));
    }
    Ok(steps)
}

/// Levels of the monsters in the rooms that the path leads through, for each such room, in thousandths.
fn difficulty(arena: &mut Arena) -> u32 {
    let mut on_path = [false; crate::arena::MAX_ROOMS + 1];
    for &way in &arena.path {
        let way = &arena.ways[usize::from(way)];
        on_path[usize::from(way.from) + 1] = true;
        on_path[usize::from(way.to) + 1] = true;
    }
    let met = arena
        .spawns
        .iter()
        .filter(|spawn| on_path[usize::from(arena.region[arena.at(spawn.at.x.into(), spawn.at.y.into())])]);
    let levels: u64 = met.map(|spawn| u64::from(spawn.level)).sum();
    u32::try_from(levels * 1_000 / (arena.path.len() as u64 + 1)).unwrap_or(u32::MAX)
}
