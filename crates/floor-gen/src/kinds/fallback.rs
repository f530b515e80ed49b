//! The fallback for rejected layouts, which fits every spec: rooms in rows and columns.

use crate::arena::{Arena, MAX_ROOMS, Side};
use crate::floor::{Point, RoomRole, Terrain};
use crate::plan::Plan;
use crate::rng::{Rng, Streams};
use crate::shape::{Form, Shape};
use crate::stages::accrete::{join, place};
use crate::stages::gates;
use crate::stages::kind_rules::KindRules;
use crate::stages::survey::LayoutRejected;

/// Cells of a side for each room along it.
const PITCH: usize = 16;
/// The most rooms along a side: 144 in all, each within the size limit of a shape.
const MAX_ALONG: usize = 12;

/// How often, in 1,000, two rooms of one zone get a door besides those of the tree.
const LOOP_CHANCE: u32 = 400;

pub(crate) fn lay_out(
    arena: &mut Arena,
    plan: &Plan<'_>,
    rules: &KindRules,
    streams: &Streams<'_>,
) -> Result<(), LayoutRejected> {
    let tiles @ (columns, rows) = (rooms_along(arena.width), rooms_along(arena.height));
    // Stages keep their names: they seed the streams.
    let rng = &mut streams.open("refuge");
    for row in 0..rows {
        let (top, bottom) = span(arena.height, row, rows);
        for column in 0..columns {
            let (left, right) = span(arena.width, column, columns);
            let (width, height) = ((right - left + 1) as i32, (bottom - top + 1) as i32);
            let _ = place(arena, &Shape::draw(Form::Hall, width, height, rng), left, top);
        }
    }
    let room_of = |cell: Point| arena.room_at(arena.at(cell.x.into(), cell.y.into()));
    let ends = (room_of(plan.arrival), room_of(plan.departure));
    let (Some(entry), Some(exit)) = ends else { return Err(LayoutRejected("stairs in a wall")) };
    join_all(arena, tiles, entry, exit);
    arena.rooms[entry].role = RoomRole::Entry;
    arena.rooms[exit].role = RoomRole::Exit;
    gates::trace_path(arena, entry, exit)?;
    // Locks the last door but one, so that a boss has a room behind it and before the exit.
    let gate = usize::from(arena.path[arena.path.len() - 2]);
    gates::lock(arena, gate);
    arena.required_locks = 1;
    if rules.fallback_boss {
        let boss = usize::from(arena.connections[gate].to);
        arena.rooms[boss].role = RoomRole::Boss;
    }
    gates::assign_zones(arena, entry);
    add_doors(arena, tiles, rng);
    Ok(())
}

/// Rooms along a side.
fn rooms_along(side: usize) -> usize {
    (side / PITCH).clamp(2, MAX_ALONG)
}

/// The room along a side that a cell belongs to; none for a wall between two.
pub(crate) fn room_of(side: u16, at: u16) -> Option<usize> {
    let (side, at) = (usize::from(side), usize::from(at));
    let count = rooms_along(side);
    (0..count).find(|&index| {
        let (first, last) = span(side, index, count);
        (first..=last).contains(&at)
    })
}

/// Joins all rooms by a tree of shortest walks from the entry. The exit is never the next room, so that at least one
/// lies between.
fn join_all(arena: &mut Arena, tiles: (usize, usize), entry: usize, exit: usize) {
    let mut seen = [false; MAX_ROOMS];
    seen[entry] = true;
    arena.room_list.clear();
    arena.room_list.push(entry as u8);
    let mut next = 0;
    while let Some(&room) = arena.room_list.get(next) {
        let room = usize::from(room);
        next += 1;
        for there in Side::ALL.into_iter().filter_map(|side| side.neighbour(room, tiles)) {
            if !seen[there] && (room, there) != (entry, exit) {
                seen[there] = true;
                arena.room_list.push(there as u8);
                join_neighbours(arena, room, there);
            }
        }
    }
}

/// Adds doors between neighbours that no lock parts.
fn add_doors(arena: &mut Arena, tiles: (usize, usize), rng: &mut Rng) {
    for room in 0..arena.rooms.len() {
        for there in [Side::East, Side::South].into_iter().filter_map(|side| side.neighbour(room, tiles)) {
            if arena.rooms[room].zone == arena.rooms[there].zone
                && !arena.are_joined(room, there)
                && rng.chance(LOOP_CHANCE)
            {
                join_neighbours(arena, room, there);
            }
        }
    }
}

/// First and last cell of a room's part of a side, with a wall between neighbours and at both ends.
fn span(side: usize, index: usize, count: usize) -> (usize, usize) {
    let edge = |i: usize| i * (side - 1) / count;
    (edge(index) + 1, edge(index + 1) - 1)
}

/// Builds a door in the middle of the wall between two adjacent rooms.
fn join_neighbours(arena: &mut Arena, from: usize, to: usize) {
    let (a, b) = (arena.rooms[from], arena.rooms[to]);
    let (x, y) = (usize::from(a.min.x + a.max.x) / 2, usize::from(a.min.y + a.max.y) / 2);
    let (side, gate) = match () {
        () if b.min.x > a.max.x => (Side::East, arena.at(usize::from(a.max.x) + 1, y)),
        () if b.max.x < a.min.x => (Side::West, arena.at(usize::from(a.min.x) - 1, y)),
        () if b.min.y > a.max.y => (Side::South, arena.at(x, usize::from(a.max.y) + 1)),
        () => (Side::North, arena.at(x, usize::from(a.min.y) - 1)),
    };
    join(arena, (from, to), gate, side, 0, Terrain::Door);
}
