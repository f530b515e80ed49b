//! Loops: a second way where the walk between two rooms that lie side by side is long.

use crate::arena::{Arena, SEALED, Side};
use crate::floor::Terrain;
use crate::rng::Rng;
use crate::stages::accrete::{RoomParams, doorway, is_flanked, join};

/// How many loops a layout wants and what counts as a long walk.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LoopGoal {
    pub(crate) loops: usize,
    /// Doors on the shortest way so far, at the least.
    pub(crate) detour: u32,
    /// Spots to look at.
    pub(crate) tries: usize,
}

/// Digs up to the wanted number of ways between rooms of one zone. Asks for long detours first, then takes shorter.
pub(crate) fn add_loops(arena: &mut Arena, params: &RoomParams, goal: LoopGoal, rng: &mut Rng) -> usize {
    arena.graph.rebuild(arena.rooms.len(), &arena.connections);
    let mut made = 0;
    for detour in (2..=goal.detour).rev() {
        for _ in 0..goal.tries {
            if made >= goal.loops {
                return made;
            }
            made += usize::from(try_loop(arena, params, detour, rng));
        }
    }
    made
}

/// Looks out of one random spot of one random room, and digs if that joins two rooms far apart.
fn try_loop(arena: &mut Arena, params: &RoomParams, detour: u32, rng: &mut Rng) -> bool {
    let room = rng.index(arena.rooms.len());
    let side = rng.pick(&Side::ALL);
    let Some(hit) = cast_ray_from_side(arena, room, side, params.corridor as usize, rng) else { return false };
    let (here, there) = (&arena.rooms[room], &arena.rooms[hit.room]);
    if here.zone != there.zone || here.zone == SEALED || here.set_piece || there.set_piece {
        return false;
    }
    if arena.graph.within_doors(room, hit.room, detour - 1, &arena.connections) {
        return false;
    }
    let door = if rng.chance(params.door_chance) { Terrain::Door } else { Terrain::Floor };
    join(arena, (room, hit.room), hit.gate, side, hit.corridor, door);
    arena.graph.rebuild(arena.rooms.len(), &arena.connections);
    true
}

/// A room seen straight through rock.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RayHit {
    pub(crate) room: usize,
    pub(crate) gate: usize,
    /// Cells between the gate and the room.
    pub(crate) corridor: usize,
}

/// The first thing out of a random spot on that side, if it is a room and nothing else lies beside the line.
pub(crate) fn cast_ray_from_side(
    arena: &Arena,
    room: usize,
    side: Side,
    farthest: usize,
    rng: &mut Rng,
) -> Option<RayHit> {
    cast_ray(arena, room, doorway(arena, room, side, rng)?, side, farthest)
}

/// The same from a given doorway of the room.
pub(crate) fn cast_ray(arena: &Arena, room: usize, gate: usize, side: Side, farthest: usize) -> Option<RayHit> {
    let step = arena.step(side);
    let mut at = gate;
    for corridor in 0..=farthest {
        at = at.checked_add_signed(step).filter(|&at| at < arena.terrain.len())?;
        if let Some(seen) = arena.room_at(at) {
            return (seen != room).then_some(RayHit { room: seen, gate, corridor });
        }
        let (x, y) = (arena.column(at), arena.row(at));
        let inside = (1..arena.width - 1).contains(&x) && (1..arena.height - 1).contains(&y);
        if !inside || arena.terrain[at] != Terrain::Wall || !is_flanked(arena, at, side) {
            return None;
        }
    }
    None
}
