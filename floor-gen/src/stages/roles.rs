//! What each room is for.

use crate::arena::Arena;
use crate::floor::RoomRole;
use crate::rng::Rng;

/// Rooms for each shrine, and for each shop.
const ROOMS_PER_SHRINE: usize = 14;
const ROOMS_PER_SHOP: usize = 30;

/// Gives the rooms that are still plain their roles: dead ends hold treasure, narrow rooms lead on, and some that lie
/// half way are for rest or trade.
pub(crate) fn assign(arena: &mut Arena, rng: &mut Rng) {
    let plain = |arena: &Arena, room: usize| arena.rooms[room].role == RoomRole::Combat;
    arena.graph.rebuild(arena.rooms.len(), &arena.ways);
    arena.shortlist.clear();
    for room in 0..arena.rooms.len() {
        if !plain(arena, room) {
            continue;
        }
        let chamber = &arena.rooms[room];
        let narrow = chamber.width().min(chamber.height()) <= 3 && chamber.width().max(chamber.height()) >= 8;
        match arena.graph.links(room).len() {
            0 | 1 if rng.chance(650) => arena.rooms[room].role = RoomRole::Treasure,
            0 | 1 => arena.shortlist.push(room as u8),
            _ if narrow => arena.rooms[room].role = RoomRole::Passage,
            _ => {}
        }
    }
    let shrines = (arena.rooms.len() / ROOMS_PER_SHRINE).max(usize::from(arena.rooms.len() >= 7));
    let shops = arena.rooms.len() / ROOMS_PER_SHOP + usize::from(arena.rooms.len() >= 9 && rng.chance(350));
    for i in 0..shrines + shops {
        let role = if i < shrines { RoomRole::Shrine } else { RoomRole::Shop };
        let room = arena.shortlist.pop().map(usize::from).or_else(|| {
            let pick = rng.index(arena.rooms.len());
            plain(arena, pick).then_some(pick)
        });
        if let Some(room) = room {
            arena.rooms[room].role = role;
        }
    }
}
