//! Traps, away from doors and stairs.

use crate::arena::Arena;
use crate::floor::{RoomRole, Terrain, Trap};
use crate::plan::Plan;
use crate::rng::Rng;
use crate::stages::spots;

/// Places the traps of the floor.
pub(crate) fn place_traps(arena: &mut Arena, plan: &Plan<'_>, rng: &mut Rng) {
    let level = plan.level() as u16;
    let numbers = arena.params.traps;
    for _ in 0..arena.rooms.len().div_ceil(numbers.rooms as usize) {
        let room = rng.index(arena.rooms.len());
        if arena.rooms[room].set_piece
            || matches!(arena.rooms[room].role, RoomRole::Entry | RoomRole::Shop | RoomRole::Shrine)
        {
            continue;
        }
        if let Some(at) = spots::open_where(arena, room, rng, |at| is_clear(arena, at, numbers.clearance as usize)) {
            arena.reserve(at);
            arena.traps.push(Trap { at: arena.point(at), archetype: plan.choose(&plan.content.traps, rng), level });
        }
    }
}

/// Whether no door and no stairs lie near.
fn is_clear(arena: &Arena, at: usize, clearance: usize) -> bool {
    let near = |at: usize, side: usize| at.saturating_sub(clearance)..(at + clearance + 1).min(side);
    let (columns, rows) = (near(arena.column(at), arena.width), near(arena.row(at), arena.height));
    rows.flat_map(|y| columns.clone().map(move |x| arena.at(x, y))).all(|at| {
        let cell = arena.terrain[at];
        !cell.is_door() && !matches!(cell, Terrain::StairsUp | Terrain::StairsDown)
    })
}
