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
    let near = |at: usize, side: usize| at.saturating_sub(CLEARANCE)..(at + CLEARANCE + 1).min(side);
    let (columns, rows) = (near(arena.column(at), arena.width), near(arena.row(at), arena.height));
    rows.flat_map(|y| columns.clone().map(move |x| arena.at(x, y))).all(|at| {
        let cell = arena.terrain[at];
        !cell.is_door() && !matches!(cell, Terrain::StairsUp | Terrain::StairsDown)
    })
}
