//! The fallback for rejected layouts, which fits every spec: rooms in rows and columns, joined along one winding path.

use crate::arena::{Arena, Side};
use crate::floor::{RoomRole, Terrain};
use crate::rng::Streams;
use crate::shape::{Form, Shape};
use crate::stages::accrete::{join, place};
use crate::stages::gates;
use crate::stages::kind_rules::KindRules;
use crate::stages::survey::LayoutRejected;

/// Cells of a side for each room along it.
const PITCH: usize = 16;
/// The most rooms along a side: 144 in all, each within the size limit of a shape.
const MAX_ALONG: usize = 12;

pub(crate) fn lay_out(arena: &mut Arena, rules: &KindRules, streams: &Streams<'_>) -> Result<(), LayoutRejected> {
    let columns = (arena.width / PITCH).clamp(2, MAX_ALONG);
    let rows = (arena.height / PITCH).clamp(2, MAX_ALONG);
    // Stages keep their names: they seed the streams.
    let rng = &mut streams.open("refuge");
    for row in 0..rows {
        let (top, bottom) = span(arena.height, row, rows);
        for column in 0..columns {
            let (left, right) = span(arena.width, column, columns);
            let (width, height) = ((right - left + 1) as i32, (bottom - top + 1) as i32);
            place(arena, &Shape::draw(Form::Hall, width, height, rng), left, top);
        }
    }
    // East along the first row, west along the next, and so on.
    let at = |step: usize| {
        let (row, along) = (step / columns, step % columns);
        row * columns + if row.is_multiple_of(2) { along } else { columns - 1 - along }
    };
    let last = rows * columns - 1;
    for step in 0..last {
        join_neighbours(arena, at(step), at(step + 1));
    }
    let (entry, exit) = (at(0), at(last));
    arena.rooms[entry].role = RoomRole::Entry;
    arena.rooms[exit].role = RoomRole::Exit;
    gates::trace_path(arena, entry, exit)?;
    // Locks the last door but one: all rooms but two lie before it, and on a boss floor the boss room is the first
    // behind it.
    gates::lock(arena, last - 2);
    arena.required_locks = 1;
    if rules.fallback_boss {
        arena.rooms[at(last - 1)].role = RoomRole::Boss;
    }
    gates::assign_zones(arena, entry);
    // Joins the rows' far ends too, where no lock lies between them.
    for row in 1..rows {
        let far = at(row * columns) - row * columns;
        let far = columns - 1 - far;
        let (north, south) = ((row - 1) * columns + far, row * columns + far);
        if arena.rooms[north].zone == arena.rooms[south].zone {
            join_neighbours(arena, north, south);
        }
    }
    Ok(())
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
