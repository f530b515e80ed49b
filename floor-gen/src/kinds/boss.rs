//! BOSS: a way in, a locked gate, an arena, and a reward behind it.

use crate::arena::{Arena, Side};
use crate::floor::RoomRole;
use crate::rng::{Rng, Streams};
use crate::shape::{Form, MAX_SIDE, Shape};
use crate::stages::accrete::{self, Grain};
use crate::stages::loops::Wanted;
use crate::stages::survey::Unfit;
use crate::stages::{gates, loops};

/// Rooms of the approach for each secret one, and the most of those.
const ROOMS_PER_SECRET: usize = 6;
const MOST_SECRETS: usize = 3;
/// Tries to set a room that the layout needs.
const TRIES: usize = 40;

pub(crate) fn lay_out(arena: &mut Arena, streams: &Streams<'_>) -> Result<(), Unfit> {
    let mut grain = Grain::of(arena);
    let rng = &mut streams.open("arena");
    let onward = place_arena(arena, rng);
    set_reward(arena, &grain, onward, rng)?;
    // What lies behind the gate is built; the gate's way comes next, and then the rooms before it.
    let (behind, gate) = (arena.rooms.len(), arena.ways.len());
    let approach = set_room(arena, &Grain { apart: 0, doors: 1_000, ..grain }, 0, onward.opposite(), rng)
        .ok_or(Unfit("no room before the gate"))?;
    // The way in is a floor of its own, half as dense, that grows from the room before the gate.
    grain.rooms = behind + 1 + (grain.rooms / 2).max(2);
    accrete::grow_from(arena, &grain, approach, &mut streams.open("rooms"));

    let exit = behind - 1;
    let Arena { graph, rooms, ways, .. } = arena;
    graph.rebuild(rooms.len(), ways);
    graph.measure_walk(0, rooms, ways, |way| way.from != 0 || usize::from(way.to) == approach);
    let entry = graph.farthest(|_| true);
    arena.rooms[entry].role = RoomRole::Entry;
    arena.rooms[0].role = RoomRole::Boss;
    arena.rooms[1].role = RoomRole::Vault;
    arena.rooms[exit].role = RoomRole::Exit;
    gates::trace_path(arena, entry, exit)?;
    gates::lock(arena, gate);
    arena.needed = 1;
    // What is worth finding before the fight: dead ends of the approach, none of them on the way.
    let approached = arena.rooms.len() - behind;
    let secrets = (approached / ROOMS_PER_SECRET).min(MOST_SECRETS);
    gates::seal_rooms(arena, RoomRole::Secret, secrets, &mut streams.open("secrets"));
    gates::zone(arena, entry);
    let wanted = Wanted { loops: arena.rooms.len() / 5, detour: 4, tries: 3 * arena.rooms.len() };
    loops::close(arena, &grain, wanted, &mut streams.open("loops"));
    Ok(())
}

/// The arena as room 0, most of the floor's short side across, nearer to one end of the long side. Returns the side
/// that the reward lies on.
fn place_arena(arena: &mut Arena, rng: &mut Rng) -> Side {
    let (long, short) = (arena.width.max(arena.height) as i32 - 2, arena.width.min(arena.height) as i32 - 2);
    let along = (long * 2 / 5).clamp(5, MAX_SIDE);
    let across = (short * rng.range(55, 75) / 100).clamp(5, MAX_SIDE.min(along + along / 3));
    // What is left beside the arena: a fifth for the reward, room for a small chamber at the least.
    let behind = ((long - along) / 5).max(4);
    let lies_broad = arena.width >= arena.height;
    let first = rng.chance(500);
    let start = if first { 1 + behind } else { 1 + long - behind - along };
    let aside = 1 + rng.range((short - across) / 3, short - across - (short - across) / 3);
    let form = rng.pick(&[Form::Hall, Form::Octagon, Form::Octagon, Form::Rotunda]);
    let (shape, x, y) = if lies_broad {
        (Shape::draw(form, along, across, rng), start, aside)
    } else {
        (Shape::draw(form, across, along, rng), aside, start)
    };
    accrete::place(arena, &shape, x as usize, y as usize);
    match (lies_broad, first) {
        (true, true) => Side::West,
        (true, false) => Side::East,
        (false, true) => Side::North,
        (false, false) => Side::South,
    }
}

/// The vault behind the arena as room 1 and, where there is a place for it, the exit behind that as room 2.
fn set_reward(arena: &mut Arena, grain: &Grain, onward: Side, rng: &mut Rng) -> Result<(), Unfit> {
    let near = Grain { apart: 0, doors: 1_000, ..*grain };
    set_room(arena, &near, 0, onward, rng).ok_or(Unfit("no place for the reward"))?;
    for _ in 0..4 {
        let side = rng.pick(&Side::ALL);
        if side != onward.opposite() && set_room(arena, &near, 1, side, rng).is_some() {
            break;
        }
    }
    Ok(())
}

/// A room that must stand there: drawn smaller from try to try.
fn set_room(arena: &mut Arena, grain: &Grain, parent: usize, side: Side, rng: &mut Rng) -> Option<usize> {
    (0..TRIES).find_map(|tried| {
        let shrink =
            |(least, greatest): (i32, i32)| (least, greatest - (greatest - least) * tried as i32 / TRIES as i32);
        let tight = Grain { width: shrink(grain.width), height: shrink(grain.height), ..*grain };
        let shape = if tried < TRIES / 2 { accrete::draw_room(&tight, rng) } else { accrete::draw_closet(rng) };
        accrete::attach(arena, grain, parent, side, &shape, rng)
    })
}
