//! Loops: a second way where the walk between two rooms that lie side by side is long.

use crate::arena::{Arena, SEALED, Side};
use crate::floor::Terrain;
use crate::rng::Rng;
use crate::stages::accrete::{Grain, doorway, flanked, join};

/// How many loops a layout wants and what counts as a long walk.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wanted {
    pub(crate) loops: usize,
    /// Doors on the shortest way so far, at the least.
    pub(crate) detour: u32,
    /// Spots to look at.
    pub(crate) tries: usize,
}

/// Digs up to the wanted number of ways between rooms of one zone. Asks for long detours first, then takes shorter.
pub(crate) fn close(arena: &mut Arena, grain: &Grain, wanted: Wanted, rng: &mut Rng) -> usize {
    arena.graph.rebuild(arena.rooms.len(), &arena.ways);
    let mut made = 0;
    for detour in (2..=wanted.detour).rev() {
        for _ in 0..wanted.tries {
            if made >= wanted.loops {
                return made;
            }
            made += usize::from(try_one(arena, grain, detour, rng));
        }
    }
    made
}

/// Looks out of one random spot of one random room, and digs if that joins two rooms far apart.
fn try_one(arena: &mut Arena, grain: &Grain, detour: u32, rng: &mut Rng) -> bool {
    let room = rng.index(arena.rooms.len());
    let side = rng.pick(&Side::ALL);
    let Some(sight) = look_out(arena, room, side, grain.corridor as usize, rng) else { return false };
    let (here, there) = (&arena.rooms[room], &arena.rooms[sight.room]);
    if here.zone != there.zone || here.zone == SEALED || here.set_piece || there.set_piece {
        return false;
    }
    if arena.graph.within_doors(room, sight.room, detour - 1, &arena.ways) {
        return false;
    }
    let door = if rng.chance(grain.doors) { Terrain::Door } else { Terrain::Floor };
    join(arena, (room, sight.room), sight.gate, side, sight.corridor, door);
    arena.graph.rebuild(arena.rooms.len(), &arena.ways);
    true
}

/// A room seen straight through rock.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sight {
    pub(crate) room: usize,
    pub(crate) gate: usize,
    /// Cells between the gate and the room.
    pub(crate) corridor: usize,
}

/// The first thing out of a random spot on that side, if it is a room and nothing else lies beside the line.
pub(crate) fn look_out(arena: &Arena, room: usize, side: Side, farthest: usize, rng: &mut Rng) -> Option<Sight> {
    look_from(arena, room, doorway(arena, room, side, rng)?, side, farthest)
}

/// The same from a given doorway of the room.
pub(crate) fn look_from(arena: &Arena, room: usize, gate: usize, side: Side, farthest: usize) -> Option<Sight> {
    let step = arena.step(side);
    let mut at = gate;
    for corridor in 0..=farthest {
        at = at.checked_add_signed(step).filter(|&at| at < arena.terrain.len())?;
        if let Some(seen) = arena.room_at(at) {
            return (seen != room).then_some(Sight { room: seen, gate, corridor });
        }
        let (x, y) = (arena.column(at), arena.row(at));
        let inside = (1..arena.width - 1).contains(&x) && (1..arena.height - 1).contains(&y);
        if !inside || arena.terrain[at] != Terrain::Wall || !flanked(arena, at, side) {
            return None;
        }
    }
    None
}
