//! The landmark: the room that a floor is remembered by.

use crate::arena::{Arena, RoomDraft, SEALED};
use crate::floor::RoomRole;
use crate::stages::spots;

/// Chooses a boss's arena, else the largest room; each step that a player leaves the way for it makes it count less.
/// Takes no room that is hidden or closed.
pub(crate) fn choose(arena: &Arena) -> Option<u8> {
    let way = arena.rooms.iter().find(|room| room.role == RoomRole::Exit).map_or(0, |exit| exit.depth);
    let worth = |room: &RoomDraft| {
        let detour = (room.depth + spots::distance(arena, room.center, arena.exit)).saturating_sub(way);
        // Rooms with stairs have their use already.
        let is_end = matches!(room.role, RoomRole::Entry | RoomRole::Exit);
        u64::from(room.area) * if is_end { 60 } else { 100 } / u64::from(100 + detour)
    };
    let is_closed = |room: &RoomDraft| matches!(room.role, RoomRole::Secret | RoomRole::Vault) || room.zone == SEALED;
    let open = arena.rooms.iter().enumerate().filter(|(_, room)| !is_closed(room) && !room.set_piece);
    let best = open.max_by_key(|(_, room)| (room.role == RoomRole::Boss, worth(room)));
    best.map(|(id, _)| id as u8)
}
