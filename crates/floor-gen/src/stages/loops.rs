//! Loops: a second connection between adjacent rooms whose walk is long.

use crate::arena::{Arena, SEALED, Side};
use crate::floor::Terrain;
use crate::rng::Rng;
use crate::stages::accrete::{RoomParams, doorway, is_flanked, join};

/// How many loops a layout needs, and what counts as a long walk.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LoopGoal {
    pub(crate) loops: usize,
    /// Least number of doors on the shortest walk.
    pub(crate) detour: u32,
    /// Spots to try.
    pub(crate) tries: usize,
}

/// Digs up to `goal.loops` connections between rooms of one zone, and returns how many. Tries long detours first, then
/// shorter ones.
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

/// Casts a ray from a random spot of a random room, and digs if that joins two rooms far apart.
fn try_loop(arena: &mut Arena, params: &RoomParams, detour: u32, rng: &mut Rng) -> bool {
    let room = rng.index(arena.rooms.len());
    let side = rng.pick(&Side::ALL);
    let Some(gate) = doorway(arena, room, side, rng) else { return false };
    let Some(hit) = cast_ray(arena, room, gate, side, params.corridor as usize) else { return false };
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

/// A room that a ray through rock reached.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RayHit {
    pub(crate) room: usize,
    pub(crate) gate: usize,
    /// Cells between the gate and the room.
    pub(crate) corridor: usize,
}

/// Casts a ray from a doorway of the room; `None` unless it reaches another room through solid rock.
pub(crate) fn cast_ray(arena: &Arena, room: usize, gate: usize, side: Side, farthest: usize) -> Option<RayHit> {
    // Cells from the gate to the border, which belongs to no room. A gate may lie on it.
    let inside = match side {
        Side::North => arena.row(gate).saturating_sub(1),
        Side::East => (arena.width - 2).saturating_sub(arena.column(gate)),
        Side::South => (arena.height - 2).saturating_sub(arena.row(gate)),
        Side::West => arena.column(gate).saturating_sub(1),
    };
    for (corridor, at) in arena.beyond(gate, side, inside.min(farthest + 1)).enumerate() {
        if let Some(seen) = arena.room_at(at) {
            return (seen != room).then_some(RayHit { room: seen, gate, corridor });
        }
        if arena.terrain[at] != Terrain::Wall || !is_flanked(arena, at, side) {
            return None;
        }
    }
    None
}
