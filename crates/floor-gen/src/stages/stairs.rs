//! The rooms that both stairs lie in. The tower decides the cells of the stairs, so a layout that did not build around
//! them opens them.

use crate::arena::{Arena, RoomDraft, Side};
use crate::floor::{Point, RoomRole, Terrain};
use crate::plan::Plan;
use crate::rng::Rng;
use crate::shape::Shape;
use crate::stages::accrete::{self, RoomParams, fits, is_flanked, join, nth_bit, place};
use crate::stages::corridors::connect_to_nearest;
use crate::stages::loops::cast_ray;
use crate::stages::survey::LayoutRejected;

/// Shapes tried for a room around a cell.
const TRIES: i32 = 12;
/// The longest corridor to such a room, in cells.
const CORRIDOR: usize = 8;
/// Rooms that a corridor to a far one is tried to.
const NEAREST: usize = 4;
/// The longest alcove, in cells.
const ALCOVE: usize = 10;

/// Places the first room, so that it holds the stairs up.
pub(crate) fn seed(
    arena: &mut Arena,
    plan: &Plan<'_>,
    params: &RoomParams,
    rng: &mut Rng,
) -> Result<usize, LayoutRejected> {
    place_room(arena, plan.arrival, params, rng).ok_or(LayoutRejected("no room for the stairs up"))
}

/// Places a room that holds the cell.
pub(crate) fn place_room(arena: &mut Arena, cell: Point, params: &RoomParams, rng: &mut Rng) -> Option<usize> {
    (0..TRIES).find_map(|tried| {
        let shape = if tried < TRIES - 1 { accrete::draw_room(arena, params, rng) } else { accrete::draw_closet(rng) };
        let (x, y) = place_around(arena, &shape, cell, rng)?;
        Some(place(arena, &shape, x as usize, y as usize))
    })
}

/// The rooms of the stairs up and down, which are two of those that are `fit`. A cell in the rock gets a room of its
/// own, or an alcove of the nearest room.
pub(crate) fn own(
    arena: &mut Arena,
    plan: &Plan<'_>,
    rng: &mut Rng,
    fit: impl Fn(&RoomDraft) -> bool,
) -> Result<(usize, usize), LayoutRejected> {
    let (arrival, departure) = (index(arena, plan.arrival), index(arena, plan.departure));
    let entry = own_cell(arena, arrival, rng, &fit)?;
    let exit = own_cell(arena, departure, rng, &fit)?;
    if entry == exit { Err(LayoutRejected("both stairs in one room")) } else { Ok((entry, exit)) }
}

/// Keeps vaults and other late additions off the cells of the stairs.
pub(crate) fn reserve(arena: &mut Arena, plan: &Plan<'_>) {
    for cell in [plan.arrival, plan.departure] {
        let at = index(arena, cell);
        arena.reserve(at);
    }
}

/// Places both stairs on their cells, in the rooms for them.
pub(crate) fn build(arena: &mut Arena, plan: &Plan<'_>) -> Result<(), LayoutRejected> {
    let ends =
        [(RoomRole::Entry, plan.arrival, Terrain::StairsUp), (RoomRole::Exit, plan.departure, Terrain::StairsDown)];
    for (role, cell, stairs) in ends {
        let at = index(arena, cell);
        if arena.room_at(at).is_none_or(|room| arena.rooms[room].role != role) {
            return Err(LayoutRejected("the stairs lie in no room of theirs"));
        }
        arena.terrain[at] = stairs;
        arena.reserve(at);
    }
    (arena.entry, arena.exit) = (index(arena, plan.arrival), index(arena, plan.departure));
    Ok(())
}

fn index(arena: &Arena, cell: Point) -> usize {
    arena.at(cell.x.into(), cell.y.into())
}

/// Where a shape can be placed so that it holds the cell.
pub(crate) fn place_around(arena: &Arena, shape: &Shape, cell: Point, rng: &mut Rng) -> Option<(i32, i32)> {
    let along = |cell: u16, taken: i32, side: usize, rng: &mut Rng| {
        let (least, most) = ((i32::from(cell) - taken + 1).max(1), i32::from(cell).min(side as i32 - 1 - taken));
        (least <= most).then(|| rng.range(least, most))
    };
    let (x, y) = (along(cell.x, shape.width, arena.width, rng)?, along(cell.y, shape.height, arena.height, rng)?);
    let holds = shape.rows()[(i32::from(cell.y) - y) as usize] >> (i32::from(cell.x) - x) & 1 == 1;
    (holds && fits(arena, shape, x, y)).then_some((x, y))
}

fn own_cell(
    arena: &mut Arena,
    at: usize,
    rng: &mut Rng,
    fit: impl Fn(&RoomDraft) -> bool,
) -> Result<usize, LayoutRejected> {
    if let Some(room) = arena.room_at(at) {
        let is_fit = arena.terrain[at] == Terrain::Floor && fit(&arena.rooms[room]);
        return if is_fit { Ok(room) } else { Err(LayoutRejected("stairs in a room that is not for them")) };
    }
    if arena.terrain[at] != Terrain::Wall {
        return Err(LayoutRejected("stairs in a passage"));
    }
    let near = build_room(arena, at, rng, &fit).or_else(|| dig_alcove(arena, at, &fit));
    let room = near.or_else(|| build_far_room(arena, at, rng, fit));
    room.ok_or(LayoutRejected("no room near the stairs"))
}

/// Builds a small room around a cell, with a door or a corridor to another.
fn build_room(arena: &mut Arena, at: usize, rng: &mut Rng, fit: impl Fn(&RoomDraft) -> bool) -> Option<usize> {
    let (cell, first) = (arena.point(at), rng.index(4));
    for i in 0..TRIES {
        let side = Side::ALL[(first + i as usize) % 4];
        let shape = draw_small(arena, TRIES - i, rng);
        let Some((x, y)) = place_around(arena, &shape, cell, rng) else { continue };
        let edge = shape.edge(side);
        let Some(line) = nth_bit(edge, rng.below(edge.count_ones())) else { continue };
        let (gate_x, gate_y) = match side {
            Side::North => (x + line, y - 1),
            Side::South => (x + line, y + shape.height),
            Side::West => (x - 1, y + line),
            Side::East => (x + shape.width, y + line),
        };
        let gate = arena.at(gate_x as usize, gate_y as usize);
        let Some(hit) = cast_ray(arena, usize::MAX, gate, side, CORRIDOR) else { continue };
        if !fit(&arena.rooms[hit.room]) || arena.terrain[gate] != Terrain::Wall || !is_flanked(arena, gate, side) {
            continue;
        }
        let room = place(arena, &shape, x as usize, y as usize);
        join(arena, (room, hit.room), gate, side, hit.corridor, Terrain::Door);
        return Some(room);
    }
    None
}

/// A shape like that of a niche; the fewer tries are left, the smaller.
fn draw_small(arena: &Arena, left: i32, rng: &mut Rng) -> Shape {
    let numbers = arena.params.niches;
    let form = numbers.forms.draw(rng);
    let mut side = |most: u32| rng.range(3, 3 + (most as i32 - 3) * left / TRIES);
    let (width, height) = (side(numbers.width), side(numbers.height));
    Shape::draw(form, width, height, rng)
}

/// Builds a small room around a cell far from all others, with a corridor to one of the nearest.
fn build_far_room(arena: &mut Arena, at: usize, rng: &mut Rng, fit: impl Fn(&RoomDraft) -> bool) -> Option<usize> {
    let shape = draw_small(arena, TRIES / 2, rng);
    let (x, y) = (0..TRIES).find_map(|_| place_around(arena, &shape, arena.point(at), rng))?;
    let built = place(arena, &shape, x as usize, y as usize);
    let others = |arena: &Arena, room: usize| room != built && fit(&arena.rooms[room]);
    connect_to_nearest(arena, built, (at, NEAREST), others, rng).map(|_| built)
}

/// Digs from a cell to the nearest room, whose cells the alcove's become.
fn dig_alcove(arena: &mut Arena, start: usize, fit: impl Fn(&RoomDraft) -> bool) -> Option<usize> {
    let Arena { cell_list, alcove: marks, terrain, .. } = arena;
    cell_list.clear();
    cell_list.push(start as u32);
    // The side from which a cell was reached + 1.
    marks.clear();
    marks.resize(terrain.len(), 0);
    marks[start] = u8::MAX;
    let mut next = 0;
    while next < arena.cell_list.len() && next < 4 * ALCOVE * ALCOVE {
        let at = arena.cell_list[next] as usize;
        next += 1;
        match neighbour_of(arena, at) {
            Neighbour::Room(room) if fit(&arena.rooms[room]) => {
                open_alcove(arena, at, room);
                return Some(room);
            }
            Neighbour::None => {}
            _ => continue,
        }
        for (side, there) in Side::ALL.into_iter().zip(arena.neighbours(at)) {
            if arena.is_inside(there) && arena.alcove[there] == 0 {
                arena.alcove[there] = side as u8 + 1;
                arena.cell_list.push(there as u32);
            }
        }
    }
    None
}

/// What lies beside a cell of rock.
enum Neighbour {
    None,
    Room(usize),
    /// Two rooms, or a door or corridor.
    Others,
}

fn neighbour_of(arena: &Arena, at: usize) -> Neighbour {
    let mut found = Neighbour::None;
    for there in arena.neighbours(at) {
        found = match (arena.room_at(there), found) {
            (None, found) if arena.terrain[there] == Terrain::Wall => found,
            (Some(room), Neighbour::None) if arena.terrain[there] == Terrain::Floor => Neighbour::Room(room),
            (Some(room), Neighbour::Room(same)) if room == same => Neighbour::Room(room),
            _ => return Neighbour::Others,
        };
    }
    found
}

/// Opens the cells from `at` back to the start of the search.
fn open_alcove(arena: &mut Arena, mut at: usize, room: usize) {
    loop {
        arena.open_cell(at, Terrain::Floor);
        arena.region[at] = room as u8 + 1;
        let Point { x, y } = arena.point(at);
        arena.rooms[room].add_cell(x, y);
        match arena.alcove[at] {
            u8::MAX => return,
            from => at = at.wrapping_add_signed(-arena.step(Side::ALL[usize::from(from) - 1])),
        }
    }
}
