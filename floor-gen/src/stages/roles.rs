//! The roles of the rooms that the layout left plain.

use crate::arena::Arena;
use crate::curve;
use crate::floor::RoomRole;
use crate::rng::Rng;

/// Rooms for each shrine, and for each shop.
const ROOMS_PER_SHRINE: usize = 14;
const ROOMS_PER_SHOP: usize = 30;

/// Dead ends become treasure rooms, narrow rooms passages. Shrines lie where the difficulty curve rests, shops half
/// way.
pub(crate) fn assign(arena: &mut Arena, rng: &mut Rng) {
    arena.graph.rebuild(arena.rooms.len(), &arena.connections);
    for room in 0..arena.rooms.len() {
        let draft = &arena.rooms[room];
        if draft.role != RoomRole::Combat {
            continue;
        }
        let narrow = draft.width().min(draft.height()) <= 3 && draft.width().max(draft.height()) >= 8;
        match arena.graph.edges(room).len() {
            0 | 1 if rng.chance(650) => arena.rooms[room].role = RoomRole::Treasure,
            2.. if narrow => arena.rooms[room].role = RoomRole::Passage,
            _ => {}
        }
    }
    let count = arena.rooms.len();
    let shrines = (count / ROOMS_PER_SHRINE).max(usize::from(count >= 7)) as u32;
    for i in 0..shrines {
        // The first act begins at the entry and needs no shrine.
        let act = 1 + i % (curve::ACTS - 1);
        assign_nearest(arena, RoomRole::Shrine, act * curve::FULL_PROGRESS / curve::ACTS, rng);
    }
    let shops = count / ROOMS_PER_SHOP + usize::from(count >= 9 && rng.chance(350));
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
