//! BOSS: an approach, a locked gate, an arena, and a reward behind it.

use crate::arena::{Arena, Side};
use crate::floor::RoomRole;
use crate::plan::Plan;
use crate::rng::{Rng, Streams};
use crate::shape::{MAX_SHAPE, Shape};
use crate::stages::accrete::{self, RoomParams};
use crate::stages::kind_rules::KindRules;
use crate::stages::loops::LoopGoal;
use crate::stages::survey::LayoutRejected;
use crate::stages::{gates, loops};

/// Tries to place a required room.
const TRIES: usize = 40;

pub(crate) const RULES: KindRules = KindRules { fallback_boss: true, ..KindRules::BUILT };

pub(crate) fn lay_out(arena: &mut Arena, _: &Plan<'_>, streams: &Streams<'_>) -> Result<(), LayoutRejected> {
    let boss = arena.params.boss;
    let mut params = RoomParams::of(arena);
    let rng = &mut streams.open("arena");
    let onward = place_arena(arena, rng);
    place_reward(arena, &params, onward, rng)?;
    // Everything behind the gate is built; the next connection is the gate, and the next rooms lie before it.
    let (behind, gate) = (arena.rooms.len(), arena.connections.len());
    let approach = place_required_room(
        arena,
        &RoomParams { corridor_chance: 0, door_chance: 1_000, ..params },
        0,
        onward.opposite(),
        rng,
    )
    .ok_or(LayoutRejected("no room before the gate"))?;
    // The approach is a layout with a part of the rooms, grown from the room before the gate.
    params.rooms = behind + 1 + (params.rooms * boss.approach as usize / 100).max(2);
    accrete::grow_from(arena, &params, approach, &mut streams.open("rooms"));

    let exit = behind - 1;
    let Arena { graph, rooms, connections, .. } = arena;
    graph.rebuild(rooms.len(), connections);
    graph.measure_distances(0, rooms, connections, |connection| {
        connection.from != 0 || usize::from(connection.to) == approach
    });
    let entry = graph.farthest(|_| true);
    arena.rooms[entry].role = RoomRole::Entry;
    arena.rooms[0].role = RoomRole::Boss;
    arena.rooms[1].role = RoomRole::Vault;
    arena.rooms[exit].role = RoomRole::Exit;
    gates::trace_path(arena, entry, exit)?;
    gates::lock(arena, gate);
    arena.required_locks = 1;
    // Secret rooms lie in dead ends of the approach, so that a player finds them before the fight.
    let approached = arena.rooms.len() - behind;
    let secrets = (approached / boss.rooms_per_secret as usize).min(boss.most_secrets as usize);
    gates::seal_rooms(arena, RoomRole::Secret, secrets, &mut streams.open("secrets"));
    gates::assign_zones(arena, entry);
    let wanted = LoopGoal {
        loops: arena.rooms.len() / boss.rooms_per_loop as usize,
        detour: boss.detour,
        tries: 3 * arena.rooms.len(),
    };
    loops::add_loops(arena, &params, wanted, &mut streams.open("loops"));
    Ok(())
}

/// Builds the arena as room 0, across most of the floor's short side and nearer to one end of the long side. Returns
/// the side of the arena that the reward lies on.
fn place_arena(arena: &mut Arena, rng: &mut Rng) -> Side {
    let (long, short) = (arena.width.max(arena.height) as i32 - 2, arena.width.min(arena.height) as i32 - 2);
    let boss = arena.params.boss;
    let along = (long * boss.arena_length as i32 / 100).clamp(5, MAX_SHAPE);
    let across = (short * rng.range(boss.arena_least as i32, boss.arena_most as i32) / 100)
        .clamp(5, MAX_SHAPE.min(along + along / 3));
    // Of the cells that remain, a fifth for the reward, and at least a small room.
    let behind = ((long - along) / 5).max(4);
    let lies_broad = arena.width >= arena.height;
    let first = rng.chance(500);
    let start = if first { 1 + behind } else { 1 + long - behind - along };
    let aside = 1 + rng.range((short - across) / 3, short - across - (short - across) / 3);
    let form = arena.params.boss.forms.draw(rng);
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

/// Builds the vault behind the arena as room 1 and, where there is space, the exit behind it as room 2.
fn place_reward(arena: &mut Arena, params: &RoomParams, onward: Side, rng: &mut Rng) -> Result<(), LayoutRejected> {
    let near = RoomParams { corridor_chance: 0, door_chance: 1_000, ..*params };
    place_required_room(arena, &near, 0, onward, rng).ok_or(LayoutRejected("no place for the reward"))?;
    for _ in 0..4 {
        let side = rng.pick(&Side::ALL);
        if side != onward.opposite() && place_required_room(arena, &near, 1, side, rng).is_some() {
            break;
        }
    }
    Ok(())
}

/// Attaches a room; each try draws a smaller one.
fn place_required_room(
    arena: &mut Arena,
    params: &RoomParams,
    parent: usize,
    side: Side,
    rng: &mut Rng,
) -> Option<usize> {
    (0..TRIES).find_map(|tried| {
        let shrink =
            |(least, greatest): (i32, i32)| (least, greatest - (greatest - least) * tried as i32 / TRIES as i32);
        let tight = RoomParams { width: shrink(params.width), height: shrink(params.height), ..*params };
        let shape = if tried < TRIES / 2 { accrete::draw_room(arena, &tight, rng) } else { accrete::draw_closet(rng) };
        accrete::attach(arena, params, parent, side, &shape, rng)
    })
}
