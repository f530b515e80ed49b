//! Patrols: monsters in the corridors between rooms.

use crate::arena::Arena;
use crate::curve;
use crate::floor::{Behaviour, Terrain};
use crate::plan::Plan;
use crate::rng::Rng;
use crate::stages::monsters::{draw_pack, group, level_at, spawn};
use crate::stages::spots;

/// Cells of a corridor that a patrol stands on, counted from the door.
const LENGTH: usize = 6;

/// Places a patrol in some of the corridors, a leader and what follows it.
pub(crate) fn place(arena: &mut Arena, plan: &Plan<'_>, rng: &mut Rng) {
    let numbers = arena.params.monsters;
    let max_depth = arena.max_depth();
    for i in 0..arena.connections.len() {
        let draft = arena.connections[i];
        let Some(gate) = draft.gate.filter(|_| !draft.secret) else { continue };
        list_corridor(arena, gate as usize);
        if arena.cell_list.is_empty() || !rng.chance(numbers.patrol_chance) {
            continue;
        }
        let depth = arena.rooms[usize::from(draft.to)].depth;
        let level = level_at(&numbers, plan.level(), depth * curve::FULL_PROGRESS / max_depth);
        let (leader, follower) = draw_pack(plan, &numbers, rng);
        let (first, count) = (arena.spawns.len(), arena.cell_list.len().min(numbers.in_a_patrol as usize));
        for step in 0..count {
            let member = if step == 0 { leader } else { follower };
            let at = arena.cell_list[step] as usize;
            spawn(arena, at, member.archetype, level + member.above, Behaviour::Patrols);
        }
        group(arena, first);
    }
}

/// Lists the first cells of the corridor behind a door, in the order in which a walker passes them.
fn list_corridor(arena: &mut Arena, gate: usize) {
    arena.cell_list.clear();
    let mut here = gate;
    while arena.cell_list.len() < LENGTH {
        let is_next = |&there: &usize| {
            arena.region[there] == 0
                && arena.terrain[there] == Terrain::Floor
                && spots::is_open(arena, there)
                && !arena.cell_list.contains(&(there as u32))
        };
        let Some(there) = arena.neighbours(here).into_iter().find(is_next) else { return };
        arena.cell_list.push(there as u32);
        here = there;
    }
}
