//! CYCLIC: a graph of cycles, whose rooms have at least two connections each. Vaults and secret rooms lie off the
//! cycles, and some cycles have a secret chord.
//!
//! The layout is an ear decomposition (Whitney, 1932): a ring first, then paths between two rooms that exist. The idea
//! of levels made of cycles is Joris Dormans's, from the game Unexplored.

use crate::arena::{Arena, SEALED, Side};
use crate::graph::Components;
use crate::plan::Plan;
use crate::rng::{Rng, Streams};
use crate::stages::corridors::connect;
use crate::stages::gates::{self, LockCounts};
use crate::stages::kind_rules::KindRules;
use crate::stages::niches;
use crate::stages::survey::LayoutRejected;
use crate::stages::tiles::Tiles;

/// The tile has no room.
const FREE: u8 = 0;
/// The tile is on the current ear.
const ON_EAR: u8 = u8::MAX;

pub(crate) const RULES: KindRules = KindRules { ..KindRules::BUILT };

pub(crate) fn lay_out(arena: &mut Arena, plan: &Plan<'_>, streams: &Streams<'_>) -> Result<(), LayoutRejected> {
    let cyclic = arena.params.cyclic;
    let tiles = Tiles::over(arena, (cyclic.tile_width as usize, cyclic.tile_height as usize));
    arena.marks.clear();
    arena.marks.resize(tiles.count(), FREE);
    let rng = &mut streams.open("cycles");
    lay_ring(arena, &tiles, rng);
    let wanted = tiles.count() * cyclic.full as usize / 1_000;
    let mut ears = 0;
    for _ in 0..tiles.count() {
        if arena.rooms.len() >= wanted {
            break;
        }
        ears += usize::from(lay_ear(arena, &tiles, rng));
    }
    streams.note("ears", ears);
    let is_tree = arena.connections.len() < arena.rooms.len();
    if is_tree || Components::of_connections(arena.rooms.len(), &arena.connections).count > 1 {
        return Err(LayoutRejected("a cycle is not closed"));
    }
    let rooms = arena.rooms.len();
    niches::dig(arena, plan, rooms, LockCounts::for_cells(arena, plan), &mut streams.open("niches"))?;
    hide_chord(arena, &tiles, rooms, &mut streams.open("chord"));
    Ok(())
}

/// Builds the first cycle, around a block of tiles.
fn lay_ring(arena: &mut Arena, tiles: &Tiles, rng: &mut Rng) {
    let side = |count: usize, rng: &mut Rng| (count * 3 / 5).max(2) + rng.index(count - (count * 3 / 5).max(2) + 1);
    let (across, down) = (side(tiles.columns, rng), side(tiles.rows, rng));
    let (left, top) = (rng.index(tiles.columns - across + 1), rng.index(tiles.rows - down + 1));
    let tile = |x: usize, y: usize| (top + y) * tiles.columns + left + x;
    let north = (0..across).map(|x| tile(x, 0));
    let east = (1..down).map(|y| tile(across - 1, y));
    let south = (0..across - 1).rev().map(|x| tile(x, down - 1));
    let west = (1..down - 1).rev().map(|y| tile(0, y));
    arena.tile_path.clear();
    arena.tile_path.extend(north.chain(east).chain(south).chain(west).map(|tile| tile as u32));
    let count = arena.tile_path.len();
    for i in 0..count {
        let tile = arena.tile_path[i] as usize;
        build(arena, tiles, tile, rng);
    }
    for room in 0..count {
        connect(arena, room, (room + 1) % count, arena.params.cyclic.door_chance, rng);
    }
}

/// Builds a path of rooms over free tiles from one room to another.
fn lay_ear(arena: &mut Arena, tiles: &Tiles, rng: &mut Rng) -> bool {
    for _ in 0..arena.params.cyclic.tries {
        let start = rng.index(tiles.count());
        if arena.marks[start] == FREE {
            continue;
        }
        arena.tile_path.clear();
        let end = walk_free(arena, tiles, start, rng);
        for i in 0..arena.tile_path.len() {
            arena.marks[arena.tile_path[i] as usize] = FREE;
        }
        let Some(end) = end else { continue };
        let mut before = usize::from(arena.marks[start]) - 1;
        for i in 0..arena.tile_path.len() {
            let tile = arena.tile_path[i] as usize;
            let room = build(arena, tiles, tile, rng);
            connect(arena, before, room, arena.params.cyclic.door_chance, rng);
            before = room;
        }
        connect(arena, before, usize::from(arena.marks[end]) - 1, arena.params.cyclic.door_chance, rng);
        return true;
    }
    false
}

/// Walks over free tiles at random, each at most once, until it is next to the tile of another room than the start's.
/// Returns that tile; the walk is the arena's `tile_path`.
fn walk_free(arena: &mut Arena, tiles: &Tiles, start: usize, rng: &mut Rng) -> Option<usize> {
    let mut here = start;
    loop {
        let first = rng.index(4);
        let beside = (0..4).filter_map(|i| tiles.neighbour(here, Side::ALL[(first + i) % 4]));
        let mut free = None;
        for there in beside {
            match arena.marks[there] {
                FREE => free = free.or(Some(there)),
                ON_EAR => {}
                _ if there != start && here != start => return Some(there),
                _ => {}
            }
        }
        here = free?;
        arena.marks[here] = ON_EAR;
        arena.tile_path.push(here as u32);
    }
}

/// Builds a room on a tile.
fn build(arena: &mut Arena, tiles: &Tiles, tile: usize, rng: &mut Rng) -> usize {
    let form = arena.params.cyclic.forms.draw(rng);
    let cyclic = arena.params.cyclic;
    let room = tiles.build(arena, tile, form, (cyclic.fill_least as i32, cyclic.fill_most as i32), rng);
    arena.marks[tile] = room as u8 + 1;
    room
}

/// Adds a secret connection between two neighbouring rooms that are far apart otherwise.
fn hide_chord(arena: &mut Arena, tiles: &Tiles, rooms: usize, rng: &mut Rng) {
    let start = rng.index(tiles.count());
    for i in 0..tiles.count() {
        let tile = (start + i) % tiles.count();
        for side in [Side::East, Side::South] {
            let Some(there) = tiles.neighbour(tile, side) else { continue };
            let (Some(a), Some(b)) = (arena.marks[tile].checked_sub(1), arena.marks[there].checked_sub(1)) else {
                continue;
            };
            let (a, b) = (usize::from(a), usize::from(b));
            let open = arena.rooms[a].zone != SEALED && arena.rooms[b].zone != SEALED && a < rooms && b < rooms;
            arena.graph.rebuild(arena.rooms.len(), &arena.connections);
            if open && !arena.graph.within_doors(a, b, 2, &arena.connections) && connect(arena, a, b, 0, rng) {
                gates::make_secret(arena, arena.connections.len() - 1);
                return;
            }
        }
    }
}
