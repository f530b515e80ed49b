//! Windows: cuts in the wall between two rooms that are many doors apart. They show a reward and
//! cannot be crossed.

use crate::arena::{Arena, RoomDraft, SEALED, Side};
use crate::floor::{Item, RoomRole, Terrain};
use crate::plan::Plan;
use crate::rng::Rng;
use crate::stages::accrete::{doorway, is_flanked};
use crate::stages::loops::cast_ray;
use crate::stages::spots;

/// Spots tried between rooms, and then between rooms and passages.
const TRIES: usize = 120;

/// Cuts a window on some floors, of the theme's deep ground, and places a fine treasure behind it.
pub(crate) fn cut(arena: &mut Arena, plan: &Plan<'_>, rng: &mut Rng) {
    let numbers = arena.params.windows;
    if !rng.chance(numbers.chance) {
        return;
    }
    arena.graph.rebuild(arena.rooms.len(), &arena.connections);
    for tried in 0..2 * TRIES {
        let (room, side) = (rng.index(arena.rooms.len()), rng.pick(&Side::ALL));
        let Some(gate) = doorway(arena, room, side, rng) else { continue };
        // Passages show something only where no two rooms do.
        let found =
            if tried < TRIES { between(arena, room, gate, side) } else { from_passage(arena, room, gate, side) };
        if let Some((behind, reward)) = found {
            arena.terrain[gate] = plan.theme().ground.deep;
            for at in arena.beyond(gate, side, behind) {
                arena.terrain[at] = plan.theme().ground.deep;
            }
            arena.reserve(reward);
            arena.items.push(Item {
                at: arena.point(reward),
                archetype: plan.choose(&plan.content.fine, rng),
                value: (arena.params.items.base + plan.level()) * numbers.worth / 10,
                opens_lock: 0,
            });
            return;
        }
    }
}

/// Whether a room may show what it holds.
fn shows(draft: &RoomDraft) -> bool {
    !matches!(draft.role, RoomRole::Secret | RoomRole::Entry | RoomRole::Boss) && !draft.set_piece
}

/// The cells of a window behind its first one, which shows a reward in another room, and the cell of the reward.
fn between(arena: &mut Arena, room: usize, gate: usize, side: Side) -> Option<(usize, usize)> {
    let numbers = arena.params.windows;
    let hit = cast_ray(arena, room, gate, side, numbers.thickest as usize - 1)?;
    let (here, there) = (&arena.rooms[room], &arena.rooms[hit.room]);
    if here.zone == SEALED || here.set_piece || here.role == RoomRole::Secret || !shows(there) {
        return None;
    }
    if arena.graph.within_doors(room, hit.room, numbers.detour - 1, &arena.connections) {
        return None;
    }
    let first = gate.wrapping_add_signed(arena.step(side) * hit.corridor as isize);
    Some((hit.corridor, inside(arena, hit.room, first, side)?))
}

/// The same for a window that shows a reward in the room itself to who walks through a passage outside.
fn from_passage(arena: &Arena, room: usize, gate: usize, side: Side) -> Option<(usize, usize)> {
    let mut wall = 0;
    for at in arena.beyond(gate, side, arena.params.windows.thickest as usize) {
        if !arena.is_inside(at) {
            return None;
        }
        match arena.terrain[at] {
            Terrain::Wall if is_flanked(arena, at, side) => wall += 1,
            Terrain::Floor if arena.region[at] == 0 && shows(&arena.rooms[room]) => {
                return Some((wall, inside(arena, room, gate, side.opposite())?));
            }
            _ => return None,
        }
    }
    None
}

/// A free cell of the room, not far behind a window's last cell.
fn inside(arena: &Arena, room: usize, window: usize, side: Side) -> Option<usize> {
    // The border is wall, so the walk leaves the room before it leaves the floor.
    let mut cells = arena
        .beyond(window, side, arena.params.windows.depth as usize)
        .take_while(|&at| arena.room_at(at) == Some(room));
    cells.find(|&at| spots::is_open(arena, at))
}
