//! STANDARD: rooms and corridors grown by accretion, with loops where the walk would be long. Four
//! families differ in how rooms lie beside each other.

use crate::arena::{Arena, Side};
use crate::plan::Plan;
use crate::rng::{Rng, Streams};
use crate::shape::{MAX_SHAPE, Shape};
use crate::stages::accrete::RoomParams;
use crate::stages::gates::LockCounts;
use crate::stages::kind_rules::KindRules;
use crate::stages::loops::LoopGoal;
use crate::stages::survey::LayoutRejected;
use crate::stages::{accrete, gates, loops, stairs};

pub(crate) const RULES: KindRules = KindRules::BUILT;

/// Sizes tried for a great room.
const GREAT_TRIES: i32 = 24;
/// How often, in 1,000, a dense floor has a corridor, and one with winding branches.
const DENSE_CORRIDORS: u32 = 80;
const WINDING_CORRIDORS: u32 = 900;

pub(crate) fn lay_out(arena: &mut Arena, plan: &Plan<'_>, streams: &Streams<'_>) -> Result<(), LayoutRejected> {
    let rng = &mut streams.open("family");
    let mut params = RoomParams::draw(arena, rng);
    let family = draw_family(arena, &mut params, streams, rng);
    let first = stairs::seed(arena, plan, &params, &mut streams.open("first room"))?;
    arena.room_list.clear();
    arena.room_list.push(first as u8);
    if family == Family::GreatRoom {
        place_great_room(arena, &params, &mut streams.open("great room"));
    }
    accrete::grow(arena, &params, &mut streams.open("rooms"));
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

/// How rooms lie beside each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Family {
    Even,
    Dense,
    Winding,
    GreatRoom,
}

/// Draws the family, and sets the numbers of rooms and corridors that make it.
fn draw_family(arena: &mut Arena, params: &mut RoomParams, streams: &Streams<'_>, rng: &mut Rng) -> Family {
    let standard = arena.params.standard;
    let families = [
        ("even", standard.even),
        ("dense", standard.dense),
        ("winding", standard.winding),
        ("great_room", standard.great_room),
    ];
    match streams.draw(rng, "family", families) {
        0 => Family::Even,
        1 => {
            params.corridor_chance = DENSE_CORRIDORS;
            Family::Dense
        }
        2 => {
            // Rooms attach to any side, not to the emptiest.
            arena.params.rooms.compared = 1;
            params.corridor_chance = WINDING_CORRIDORS;
            params.corridor = (2 * params.corridor).min(arena.params.rooms.corridor_most as i32);
            Family::Winding
        }
        _ => Family::GreatRoom,
    }
}

/// Joins a great room to the first one, if the floor has space for it there.
fn place_great_room(arena: &mut Arena, params: &RoomParams, rng: &mut Rng) {
    let most = arena.params.standard.great as i32;
    for tried in 0..GREAT_TRIES {
        let share = most - (most - 15) * tried / GREAT_TRIES;
        let [width, height] = [arena.width, arena.height].map(|side| (side as i32 * share / 100).min(MAX_SHAPE));
        let shape = Shape::draw(arena.params.rooms.forms.draw(rng), width, height, rng);
        let first = usize::from(arena.room_list[0]);
        if let Some(room) = accrete::attach(arena, params, first, rng.pick(&Side::ALL), &shape, rng) {
            arena.room_list.push(room as u8);
            return;
        }
    }
}

/// Small floors need none.
fn least_loops(arena: &Arena) -> usize {
    if arena.width.min(arena.height) >= 100 { arena.params.standard.least_loops as usize } else { 0 }
}
