//! STANDARD: rooms and corridors grown by accretion, with loops where the walk would be long.

use crate::arena::Arena;
use crate::plan::Plan;
use crate::rng::Streams;
use crate::stages::gates::LockCounts;
use crate::stages::kind_rules::KindRules;
use crate::stages::loops::LoopGoal;
use crate::stages::survey::LayoutRejected;
use crate::stages::{accrete, gates, loops, stairs};

pub(crate) const RULES: KindRules = KindRules::BUILT;

pub(crate) fn lay_out(arena: &mut Arena, plan: &Plan<'_>, streams: &Streams<'_>) -> Result<(), LayoutRejected> {
    let params = accrete::RoomParams::draw(arena, &mut streams.open("size"));
    let first = stairs::seed(arena, plan, &params, &mut streams.open("first room"))?;
    accrete::grow_from(arena, &params, first, &mut streams.open("rooms"));
    if arena.rooms.len() < 2 {
        return Err(LayoutRejected("fewer than two rooms"));
    }
    let ends = stairs::own(arena, plan, &mut streams.open("stairs"), |_| true)?;
    gates::place_locks(arena, ends, LockCounts::for_rooms(arena, plan), &mut streams.open("locks"))?;
    let standard = arena.params.standard;
    let wanted = LoopGoal {
        loops: arena.rooms.len() / standard.rooms_per_loop as usize,
        detour: standard.detour,
        tries: 4 * arena.rooms.len(),
    };
    let made = loops::add_loops(arena, &params, wanted, &mut streams.open("loops"));
    streams.note("loops", made);
    if made < least_loops(arena) {
        return Err(LayoutRejected("too few loops"));
    }
    Ok(())
}

/// Small floors need none.
fn least_loops(arena: &Arena) -> usize {
    if arena.width.min(arena.height) >= 100 { arena.params.standard.least_loops as usize } else { 0 }
}
