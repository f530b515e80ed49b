//! Traps, away from doors and stairs.

use crate::arena::Arena;
use crate::curve;
use crate::floor::{RoomRole, Terrain, Trap};
use crate::rng::Rng;
use crate::stages::spots;

pub(crate) const TRAPS: [&str; 4] = ["spikes", "darts", "gas", "net"];
/// Rooms for each trap.
const ROOMS_PER_TRAP: usize = 4;
/// Cells around a trap, on each side, that hold no door and no stairs.
const CLEARANCE: usize = 2;

/// Places the traps of the floor.
pub(crate) fn place_traps(arena: &mut Arena, number: u32, rng: &mut Rng) {
    let level = curve::level_of_floor(number) as u16;
    for _ in 0..arena.rooms.len().div_ceil(ROOMS_PER_TRAP) {
        let room = rng.index(arena.rooms.len());
        if arena.rooms[room].set_piece
            || matches!(arena.rooms[room].role, RoomRole::Entry | RoomRole::Shop | RoomRole::Shrine)
        {
            continue;
        }
        if let Some(at) = spots::open_where(arena, room, rng, |at| is_clear(arena, at)) {
            arena.reserve(at);
            arena.traps.push(Trap { at: arena.point(at), archetype: rng.pick(&TRAPS), level });
        }
    }
}

/// Whether no door and no stairs lie near.
fn is_clear(arena: &Arena, at: usize) -> bool {
    let (x, y) = (arena.column(at), arena.row(at));
    let columns = x.saturating_sub(CLEARANCE)..=(x + CLEARANCE).min(arena.width - 1);
    (y.saturating_sub(CLEARANCE)..=(y + CLEARANCE).min(arena.height - 1)).all(|y| {
        !arena.terrain[arena.at(*columns.start(), y)..=arena.at(*columns.end(), y)].iter().any(|cell| {
            matches!(
                cell,
                Terrain::Door | Terrain::LockedDoor | Terrain::SecretDoor | Terrain::StairsUp | Terrain::StairsDown
            )
        })
    })
}
