//! The roles of the rooms that the layout left plain.

use crate::arena::Arena;
use crate::curve;
use crate::floor::RoomRole;
use crate::rng::Rng;

/// Dead ends become treasure rooms, narrow rooms passages. Shrines lie where the difficulty curve rests, shops half
/// way.
pub(crate) fn assign(arena: &mut Arena, rng: &mut Rng) {
    arena.graph.rebuild(arena.rooms.len(), &arena.connections);
    let (numbers, acts) = (arena.params.roles, arena.params.curve.acts);
    for room in 0..arena.rooms.len() {
        let draft = &arena.rooms[room];
        if draft.role != RoomRole::Combat {
            continue;
        }
        let narrow = draft.width().min(draft.height()) <= 3 && draft.width().max(draft.height()) >= 8;
        match arena.graph.edges(room).len() {
            0 | 1 if rng.chance(numbers.treasure_chance) => arena.rooms[room].role = RoomRole::Treasure,
            2.. if narrow => arena.rooms[room].role = RoomRole::Passage,
            _ => {}
        }
    }
    let count = arena.rooms.len();
    let shrines =
        (count / numbers.rooms_per_shrine as usize).max(usize::from(count >= numbers.first_shrine as usize)) as u32;
    for i in 0..shrines {
        // The first act begins at the entry and needs no shrine.
        let act = 1 + i % (acts - 1).max(1);
        assign_nearest(arena, RoomRole::Shrine, act * curve::FULL_PROGRESS / acts, rng);
    }
    let shops = count / numbers.rooms_per_shop as usize
        + usize::from(count >= numbers.first_shop as usize && rng.chance(numbers.shop_chance));
    for _ in 0..shops {
        assign_nearest(arena, RoomRole::Shop, curve::FULL_PROGRESS / 2, rng);
    }
}

/// Gives the role to the plain room nearest to that progress; prefers dead ends.
fn assign_nearest(arena: &mut Arena, role: RoomRole, progress: u32, rng: &mut Rng) {
    let wanted = arena.max_depth() * progress / curve::FULL_PROGRESS;
    let busy = arena.max_depth() / 10;
    let plain = (0..arena.rooms.len()).filter(|&room| arena.rooms[room].role == RoomRole::Combat);
    let chosen = plain.min_by_key(|&room| {
        let through = u32::from(arena.graph.edges(room).len() > 1);
        (arena.rooms[room].depth.abs_diff(wanted) + through * busy, rng.next())
    });
    if let Some(room) = chosen {
        arena.rooms[room].role = role;
    }
}
