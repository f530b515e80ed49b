//! BOSS: an approach, a locked gate, an arena, and a reward behind it.

use crate::arena::{Arena, Side};
use crate::floor::{RoomRole, Terrain};
use crate::plan::Plan;
use crate::rng::{Rng, Streams};
use crate::shape::{MAX_SHAPE, Shape};
use crate::stages::accrete::{self, RoomParams, Site};
use crate::stages::corridors::connect;
use crate::stages::kind_rules::KindRules;
use crate::stages::loops::{self, LoopGoal, RayHit};
use crate::stages::survey::LayoutRejected;
use crate::stages::{gates, stairs};

/// Places tried for the arena, and how many of them are compared.
const PLACES: i32 = 200;
const COMPARED: usize = 6;
/// Places tried for one shape.
const PLACES_OF_A_SHAPE: i32 = 8;
/// Tries to place the vault.
const TRIES: i32 = 40;
/// Rounds in which the approach grows, and the rooms that it needs.
const ROUNDS: usize = 2;
const LEAST_APPROACH: usize = 6;
/// Rays cast from the arena in search of a room before the gate, and the most of those that are compared.
const RAYS: usize = 80;
const GATES: usize = 8;
/// Spots tried for a loop, at the least: small floors have few that fit.
const LOOP_TRIES: usize = 80;
/// How often, in 1,000, an approach of dense or of winding rooms has corridors.
const DENSE_CORRIDORS: u32 = 80;
const WINDING_CORRIDORS: u32 = 850;

pub(crate) const RULES: KindRules = KindRules { fallback_boss: true, ..KindRules::BUILT };

/// The first rooms of the floor, in the order in which they are placed. Those of the approach follow.
const ENTRY: usize = 0;
const EXIT: usize = 1;
const ARENA: usize = 2;
const VAULT: usize = 3;

pub(crate) fn lay_out(arena: &mut Arena, plan: &Plan<'_>, streams: &Streams<'_>) -> Result<(), LayoutRejected> {
    let boss = arena.params.boss;
    let mut params = RoomParams::draw(arena, &mut streams.open("sizes"));
    let rng = &mut streams.open("arena");
    stairs::seed(arena, plan, &params, rng)?;
    stairs::place_room(arena, plan.departure, &params, rng).ok_or(LayoutRejected("no room for the stairs down"))?;
    place_arena(arena, plan, &params, streams, rng).ok_or(LayoutRejected("no place for the arena"))?;
    place_vault(arena, &params, rng).ok_or(LayoutRejected("no place for the reward"))?;
    for (room, role) in [RoomRole::Entry, RoomRole::Exit, RoomRole::Boss, RoomRole::Vault].into_iter().enumerate() {
        arena.rooms[room].role = role;
    }

    params.rooms = VAULT + 1 + (params.rooms * boss.approach as usize / 100).max(2);
    let approach = &mut streams.open("rooms");
    draw_approach(arena, &mut params, streams, approach);
    grow_approach(arena, params, approach)?;
    let gate = dig_gate(arena, &mut streams.open("gate")).ok_or(LayoutRejected("no room before the gate"))?;

    gates::trace_path(arena, ENTRY, EXIT)?;
    gates::lock(arena, gate);
    let before = usize::from(arena.connections[gate].to);
    if before != ENTRY && streams.open("shrine").chance(boss.shrine) {
        arena.rooms[before].role = RoomRole::Shrine;
    }
    arena.required_locks = 1;
    // Secret rooms lie in dead ends of the approach, so that a player finds them before the fight.
    let approached = arena.rooms.len() - VAULT - 1;
    let secrets = (approached / boss.rooms_per_secret as usize).min(boss.most_secrets as usize);
    gates::seal_rooms(arena, RoomRole::Secret, secrets, &mut streams.open("secrets"));
    gates::assign_zones(arena, ENTRY);
    let wanted = LoopGoal {
        loops: arena.rooms.len() / boss.rooms_per_loop as usize,
        detour: boss.detour,
        tries: (3 * arena.rooms.len()).max(LOOP_TRIES),
    };
    let long = RoomParams { corridor: 2 * params.corridor, ..params };
    loops::add_loops(arena, &long, wanted, &mut streams.open("loops"));
    Ok(())
}

/// Builds the arena before the exit: of a few places where it fits, the nearest to the one that is drawn.
fn place_arena(
    arena: &mut Arena,
    plan: &Plan<'_>,
    params: &RoomParams,
    streams: &Streams<'_>,
    rng: &mut Rng,
) -> Option<usize> {
    let goal = draw_place(arena, streams, rng);
    let near = RoomParams { corridor_chance: 300, door_chance: 1_000, ..*params };
    let compared = if goal.is_some() { COMPARED } else { 1 };
    let mut shape = draw_arena(arena, 0, rng);
    let fitting = (0..PLACES).filter_map(|tried| {
        if tried % PLACES_OF_A_SHAPE == PLACES_OF_A_SHAPE - 1 {
            shape = draw_arena(arena, tried, rng);
        }
        let side = rng.pick(&Side::ALL);
        let gate = accrete::doorway(arena, EXIT, side, rng)?;
        Some((accrete::find_site(arena, &near, gate, side, &shape, rng)?, shape.clone()))
    });
    let away = |(site, shape): &(Site, Shape)| {
        let (x, y) = goal.unwrap_or_default();
        (2 * site.x + shape.width - 2 * x).abs() + (2 * site.y + shape.height - 2 * y).abs()
    };
    let (site, shape) = fitting.take(compared).min_by_key(away)?;
    let room = accrete::build(arena, &near, EXIT, &site, &shape, rng);
    if shape.has_core() {
        accrete::fill_core(arena, plan, room, rng);
    }
    Some(room)
}

/// The cell that the middle of the arena should be near, if any.
fn draw_place(arena: &Arena, streams: &Streams<'_>, rng: &mut Rng) -> Option<(i32, i32)> {
    let boss = arena.params.boss;
    let (width, height) = (arena.width as i32, arena.height as i32);
    let corner = (width * rng.range(0, 1), height * rng.range(0, 1));
    let places = [("middle", boss.middle), ("side", boss.side), ("corner", boss.corner), ("anywhere", boss.anywhere)];
    match streams.draw(rng, "place", places) {
        0 => Some((width / 2, height / 2)),
        1 if rng.chance(500) => Some((width / 2, corner.1)),
        1 => Some((corner.0, height / 2)),
        2 => Some(corner),
        _ => None,
    }
}

/// The shape of the arena; later tries draw smaller ones.
fn draw_arena(arena: &Arena, tried: i32, rng: &mut Rng) -> Shape {
    let boss = arena.params.boss;
    // A small floor has a large arena for its size, or nobody would see that it is one.
    let small = Arena::PLAIN_SIDE.saturating_sub(arena.width.min(arena.height)) as i32 / 6;
    let least = (boss.arena_least as i32 + small).min(60);
    let most = (boss.arena_most as i32).max(least);
    let mut along = |side: usize| {
        let side = side as i32 * rng.range(least, most) / 100;
        (side * (PLACES - tried / 2) / PLACES).clamp(5, MAX_SHAPE)
    };
    let (width, height) = (along(arena.width), along(arena.height));
    Shape::draw(boss.forms.draw(rng), width.min(2 * height), height.min(2 * width), rng)
}

/// Builds the vault beside the arena or the exit; each try draws a smaller one.
fn place_vault(arena: &mut Arena, params: &RoomParams, rng: &mut Rng) -> Option<usize> {
    let near = RoomParams { corridor_chance: 0, door_chance: 1_000, ..*params };
    (0..TRIES).find_map(|tried| {
        let shrink = |(least, greatest): (i32, i32)| (least, greatest - (greatest - least) * tried / TRIES);
        let tight = RoomParams { width: shrink(near.width), height: shrink(near.height), ..near };
        let shape = if tried < TRIES / 2 { accrete::draw_room(arena, &tight, rng) } else { accrete::draw_closet(rng) };
        let parent = if rng.chance(500) { EXIT } else { ARENA };
        accrete::attach(arena, &near, parent, rng.pick(&Side::ALL), &shape, rng)
    })
}

/// Draws how the rooms of the approach lie beside each other.
fn draw_approach(arena: &mut Arena, params: &mut RoomParams, streams: &Streams<'_>, rng: &mut Rng) {
    let boss = arena.params.boss;
    match streams.draw(rng, "family", [("even", boss.even), ("dense", boss.dense), ("winding", boss.winding)]) {
        0 => {}
        1 => params.corridor_chance = DENSE_CORRIDORS,
        _ => {
            // Rooms attach to any side, not to the emptiest.
            arena.params.rooms.compared = 1;
            params.corridor_chance = WINDING_CORRIDORS;
        }
    }
}

/// Grows the approach from the entry. If few rooms fit, smaller ones are tried once more.
fn grow_approach(arena: &mut Arena, mut params: RoomParams, rng: &mut Rng) -> Result<(), LayoutRejected> {
    let wanted = params.rooms - VAULT - 1;
    for _ in 0..ROUNDS {
        arena.room_list.clear();
        arena.room_list.push(ENTRY as u8);
        arena.room_list.extend((VAULT + 1..arena.rooms.len()).map(|room| room as u8));
        accrete::grow(arena, &params, rng);
        if arena.rooms.len() - VAULT - 1 > wanted / 2 {
            return Ok(());
        }
        arena.rooms.iter_mut().for_each(|draft| draft.failed_attachments = 0);
        params.width.1 = params.width.0.max(params.width.1 / 2);
        params.height.1 = params.height.0.max(params.height.1 / 2);
    }
    let is_short = arena.rooms.len() - VAULT - 1 < (wanted / 2).min(LEAST_APPROACH);
    if is_short { Err(LayoutRejected("no space for the approach")) } else { Ok(()) }
}

/// Connects the arena and a room of the approach, of a few the farthest from the entry. Returns the connection.
fn dig_gate(arena: &mut Arena, rng: &mut Rng) -> Option<usize> {
    let Arena { graph, rooms, connections, .. } = arena;
    graph.rebuild(rooms.len(), connections);
    graph.measure_distances(ENTRY, rooms, connections, |_| true);
    let is_before = |room: usize| room == ENTRY || room > VAULT;
    let farthest = arena.params.rooms.corridor_most as usize;
    let hits = (0..RAYS).filter_map(|_| {
        let side = rng.pick(&Side::ALL);
        let gate = accrete::doorway(arena, ARENA, side, rng)?;
        let hit = loops::cast_ray(arena, ARENA, gate, side, farthest)?;
        is_before(hit.room).then_some((side, hit))
    });
    let gate = arena.connections.len();
    if let Some((side, RayHit { room, gate: at, corridor })) =
        hits.take(GATES).max_by_key(|(_, hit)| arena.graph.distance[hit.room])
    {
        accrete::join(arena, (ARENA, room), at, side, corridor, Terrain::Door);
        return Some(gate);
    }
    let mut before = (0..arena.rooms.len()).rev().filter(|&room| is_before(room));
    before.any(|room| connect(arena, ARENA, room, 1_000, rng)).then_some(gate)
}
