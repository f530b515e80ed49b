//! Windows: where a thin wall parts two rooms whose walk is long, a cut that shows a reward and lets nobody through.

use crate::arena::{Arena, SEALED, Side};
use crate::floor::{Item, RoomRole, Terrain};
use crate::plan::Plan;
use crate::rng::Rng;
use crate::stages::accrete::doorway;
use crate::stages::loops::cast_ray;
use crate::stages::spots;

/// Spots tried on a floor.
const TRIES: usize = 120;

/// Cuts a window on some floors, of the theme's deep ground, and places a fine treasure behind it.
pub(crate) fn cut(arena: &mut Arena, plan: &Plan<'_>, rng: &mut Rng) {
    let numbers = arena.params.windows;
    if !rng.chance(numbers.chance) {
        return;
    }
    arena.graph.rebuild(arena.rooms.len(), &arena.connections);
    for _ in 0..TRIES {
        let (room, side) = (rng.index(arena.rooms.len()), rng.pick(&Side::ALL));
        if let Some((first, cells, reward)) = find(arena, room, side, rng) {
            arena.terrain[first] = plan.theme().ground.deep;
            for at in arena.beyond(first, side, cells) {
                arena.terrain[at] = plan.theme().ground.deep;
            }
            let worth = (arena.params.items.base + plan.level()) * arena.params.windows.worth / 10;
            arena.reserve(reward);
            arena.items.push(Item {
                at: arena.point(reward),
                archetype: plan.choose(&plan.content.fine, rng),
                value: worth,
                opens_lock: 0,
            });
            return;
        }
    }
}

/// The first cell of a window in the wall of a room, the cells behind it, and the cell of the reward.
fn find(arena: &mut Arena, room: usize, side: Side, rng: &mut Rng) -> Option<(usize, usize, usize)> {
    let numbers = arena.params.windows;
    let gate = doorway(arena, room, side, rng)?;
    let hit = cast_ray(arena, room, gate, side, numbers.thickest as usize - 1)?;
    let (here, there) = (&arena.rooms[room], &arena.rooms[hit.room]);
    let is_shown = !matches!(there.role, RoomRole::Secret | RoomRole::Entry | RoomRole::Boss) && !there.set_piece;
    if here.zone == SEALED || here.set_piece || here.role == RoomRole::Secret || !is_shown {
        return None;
    }
    if arena.graph.within_doors(room, hit.room, numbers.detour - 1, &arena.connections) {
        return None;
    }
    // The border is wall, so the walk leaves the room before it leaves the floor.
    let cells = arena.beyond(gate, side, hit.corridor + numbers.depth as usize).skip(hit.corridor);
    let mut inside = cells.take_while(|&at| arena.room_at(at) == Some(hit.room));
    let reward = inside.find(|&at| spots::is_open(arena, at))?;
    Some((gate, hit.corridor, reward))
}
