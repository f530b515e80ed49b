//! Corridors between rooms that lie apart: straight, or with one or two bends.

use crate::arena::{Arena, ConnectionDraft, Side};
use crate::floor::Terrain;
use crate::rng::Rng;
use crate::stages::accrete::{doorway, doorway_on};
use crate::stages::spots::{distance, sort_rooms};

/// Routes tried between two rooms.
const TRIES: usize = 20;
/// A shorter corridor is no road, in cells.
const SHORTEST_ROAD: usize = 5;

/// Digs a corridor from room `from` to room `to`; false if every route tried touches something else. `doors` is how
/// often, in 1,000, an end gets a door.
pub(crate) fn connect(arena: &mut Arena, from: usize, to: usize, doors: u32, rng: &mut Rng) -> bool {
    connect_by_road(arena, (from, to), (doors, 1), rng)
}

/// The same with a road of up to `width` cells across, between its ends. It is narrow where it would touch something.
pub(crate) fn connect_by_road(
    arena: &mut Arena,
    (from, to): (usize, usize),
    (doors, width): (u32, u32),
    rng: &mut Rng,
) -> bool {
    for _ in 0..TRIES {
        if let Some((leave, arrive)) = choose_sides(arena, from, to, rng)
            && route(arena, (from, leave), (to, arrive), rng)
        {
            let length = arena.cell_list.len();
            if width > 1 && length >= SHORTEST_ROAD {
                broaden(arena, width);
            }
            carve(arena, (from, to), length, doors, rng);
            return true;
        }
    }
    false
}

/// Opens the cells beside a corridor's that make it a road, and lists them behind its own: whole squares in solid rock, so
/// that they touch nothing and none is a spur.
fn broaden(arena: &mut Arena, width: u32) {
    for i in 1..arena.cell_list.len() - 1 {
        let at = arena.cell_list[i] as usize;
        let (x, y) = (arena.column(at), arena.row(at));
        let is_rock = |&width: &usize| {
            let (before, after) = ((width - 1) / 2, width / 2);
            let is_inside = x.min(y) > before && x + after < arena.width - 1 && y + after < arena.height - 1;
            let is_free = |row: usize| arena.claimed.window(x - before, row) & ((1 << width) - 1) == 0;
            is_inside && (y - before..=y + after).all(is_free)
        };
        let Some(width) = (2..=width as usize).rev().find(is_rock) else { continue };
        let before = (width - 1) / 2;
        for row in (y - before..).take(width) {
            let first = arena.at(x - before, row);
            for at in first..first + width {
                // Squares overlap: a cell that is listed is floor.
                if arena.terrain[at] == Terrain::Wall {
                    arena.terrain[at] = Terrain::Floor;
                    arena.cell_list.push(at as u32);
                }
            }
        }
    }
}

/// Digs a corridor from a room to one of the `most` rooms nearest to the cell `from` that are `fit`, and returns that
/// room.
pub(crate) fn connect_to_nearest(
    arena: &mut Arena,
    room: usize,
    (from, most): (usize, usize),
    mut fit: impl FnMut(&Arena, usize) -> bool,
    rng: &mut Rng,
) -> Option<usize> {
    let mut near = core::mem::take(&mut arena.room_list);
    near.clear();
    near.extend((0..arena.rooms.len()).filter(|&there| fit(arena, there)).map(|there| there as u8));
    sort_rooms(&mut near, |there| distance(arena, from, arena.rooms[there].center));
    let found =
        near.iter().map(|&there| usize::from(there)).take(most).find(|&there| connect(arena, room, there, 1_000, rng));
    arena.room_list = near;
    found
}

/// Sides of the two rooms that face each other.
fn choose_sides(arena: &Arena, from: usize, to: usize, rng: &mut Rng) -> Option<(Side, Side)> {
    let (a, b) = (&arena.rooms[from], &arena.rooms[to]);
    // Rooms with a gap of two cells or more can face each other.
    let across = match () {
        () if b.min.x > a.max.x + 2 => Some(Side::East),
        () if a.min.x > b.max.x + 2 => Some(Side::West),
        () => None,
    };
    let along = match () {
        () if b.min.y > a.max.y + 2 => Some(Side::South),
        () if a.min.y > b.max.y + 2 => Some(Side::North),
        () => None,
    };
    match (across, along) {
        (Some(side), None) | (None, Some(side)) => Some((side, side.opposite())),
        (Some(across), Some(along)) => Some(match rng.below(4) {
            0 => (across, across.opposite()),
            1 => (along, along.opposite()),
            2 => (across, along.opposite()),
            _ => (along, across.opposite()),
        }),
        (None, None) => None,
    }
}

/// Lists the cells of a corridor. False if it touches anything but its two rooms.
fn route(arena: &mut Arena, (from, leave): (usize, Side), (to, arrive): (usize, Side), rng: &mut Rng) -> bool {
    let Some(first) = doorway(arena, from, leave, rng) else { return false };
    // Rooms that face each other get a straight corridor where possible.
    let same_line = leave == arrive.opposite() && rng.chance(700);
    let line = |at: usize| if leave.is_level() { arena.row(at) } else { arena.column(at) };
    let last = if same_line { straight_across(arena, to, arrive, line(first)) } else { None };
    let Some(last) = last.or_else(|| doorway(arena, to, arrive, rng)) else { return false };

    let (start, end) = (first.wrapping_add_signed(arena.step(leave)), last.wrapping_add_signed(arena.step(arrive)));
    let (sx, sy) = (arena.column(start), arena.row(start));
    let (ex, ey) = (arena.column(end), arena.row(end));
    let corners = match (leave.is_level(), arrive.is_level()) {
        (true, true) => {
            let bend = sx.min(ex) + rng.index(sx.abs_diff(ex) + 1);
            [(bend, sy), (bend, ey)]
        }
        (false, false) => {
            let bend = sy.min(ey) + rng.index(sy.abs_diff(ey) + 1);
            [(sx, bend), (ex, bend)]
        }
        (true, false) => [(ex, sy), (ex, sy)],
        (false, true) => [(sx, ey), (sx, ey)],
    };
    arena.cell_list.clear();
    arena.cell_list.push(first as u32);
    let mut here = (sx, sy);
    let mut free = !arena.claimed.contains(sx, sy);
    arena.cell_list.push(start as u32);
    for corner in corners.into_iter().chain([(ex, ey)]) {
        while here != corner && free {
            here.0 = step_toward(here.0, corner.0);
            here.1 = step_toward(here.1, corner.1);
            free = !arena.claimed.contains(here.0, here.1);
            arena.cell_list.push(arena.at(here.0, here.1) as u32);
        }
    }
    arena.cell_list.push(last as u32);
    free
}

/// The doorway of a room in a given row or column.
fn straight_across(arena: &Arena, room: usize, side: Side, line: usize) -> Option<usize> {
    let draft = &arena.rooms[room];
    let (first, last) = if side.is_level() { (draft.min.y, draft.max.y) } else { (draft.min.x, draft.max.x) };
    if (usize::from(first)..=usize::from(last)).contains(&line) { doorway_on(arena, room, side, line) } else { None }
}

/// One step closer. Consecutive corners share a coordinate, so only one of the two changes.
fn step_toward(here: usize, there: usize) -> usize {
    here + usize::from(here < there) - usize::from(here > there)
}

/// Carves the listed cells, of which the first ones lead from end to end.
fn carve(arena: &mut Arena, (from, to): (usize, usize), length: usize, doors: u32, rng: &mut Rng) {
    for i in 0..arena.cell_list.len() {
        let at = arena.cell_list[i] as usize;
        let door = (i == 0 || i == length - 1) && rng.chance(doors);
        arena.open_cell(at, if door { Terrain::Door } else { Terrain::Floor });
    }
    let gate = Some(arena.cell_list[0]);
    arena.connections.push(ConnectionDraft::open(from as u8, to as u8, gate));
}
