//! HALLS: large rooms far apart in the rock, joined by long corridors along a sparse graph.
//!
//! The shortest gaps between unconnected rooms are dug first, which gives a minimum spanning tree (Kruskal, 1956) of
//! the corridors that can be dug. Then some edges of the Gabriel graph (Gabriel, Sokal, 1969), a subgraph of the
//! Delaunay triangulation that contains the tree, become loops.

use crate::arena::{Arena, RoomDraft, SEALED};
use crate::graph::Components;
use crate::plan::Plan;
use crate::rng::{Rng, Streams};
use crate::shape::Shape;
use crate::stages::accrete::{RoomParams, place};
use crate::stages::corridors::connect;
use crate::stages::gates::{self, LockCounts};
use crate::stages::kind_rules::KindRules;
use crate::stages::stairs;
use crate::stages::survey::LayoutRejected;

/// The most halls.
const MAX_HALLS: usize = 200;

pub(crate) const RULES: KindRules = KindRules::BUILT;

pub(crate) fn lay_out(arena: &mut Arena, plan: &Plan<'_>, streams: &Streams<'_>) -> Result<(), LayoutRejected> {
    scatter(arena, &mut streams.open("halls"));
    list_candidates(arena);
    let rng = &mut streams.open("corridors");
    let mut components = Components::singletons(arena.rooms.len());
    for i in 0..arena.candidates.len() {
        let (_, a, b) = arena.candidates[i];
        let (a, b) = (usize::from(a), usize::from(b));
        if !components.connected(a, b) && connect(arena, a, b, arena.params.halls.door_chance, rng) {
            components.join(a, b);
        }
    }
    if arena.rooms.len() < 2 || components.count > 1 {
        return Err(LayoutRejected("a hall without a corridor"));
    }
    let ends = stairs::own(arena, plan, &mut streams.open("stairs"), |_| true)?;
    gates::place_locks(arena, ends, LockCounts::for_rooms(arena, plan), &mut streams.open("locks"))?;
    let loops = close_loops(arena, &mut streams.open("loops"));
    streams.note("loops", loops);
    Ok(())
}

/// Places halls at random, apart from each other.
fn scatter(arena: &mut Arena, rng: &mut Rng) {
    let params = RoomParams::of(arena);
    let halls = arena.params.halls;
    let gap = halls.gap as i32;
    // A row of a hall with the gap on both sides fits a word.
    let most = |side: i32, limit: i32| (side * halls.most as i32 / 100, limit.max(3).min(65 - 2 * gap));
    let wanted = (arena.width * arena.height / halls.cells as usize).clamp(3, MAX_HALLS);
    let least = |side: i32| (side * halls.least as i32 / 100).max(3);
    let (widest, highest) = ((arena.width as i32 - 2) / 2 - gap, (arena.height as i32 - 2) / 2 - gap);
    for _ in 0..wanted * halls.spots as usize {
        if arena.rooms.len() >= wanted {
            return;
        }
        let (broad, widest) = most(params.width.1, widest);
        let (high, highest) = most(params.height.1, highest);
        let width = rng.range(least(params.width.1), broad).clamp(3, widest);
        let height = rng.range(least(params.height.1), high).clamp(3, highest);
        let form = arena.params.halls.forms.draw(rng);
        let shape = Shape::draw(form, width, height, rng);
        let x = rng.range(1, arena.width as i32 - 1 - shape.width);
        let y = rng.range(1, arena.height as i32 - 1 - shape.height);
        if is_clear(arena, &shape, x, y, gap) {
            place(arena, &shape, x as usize, y as usize);
        }
    }
}

/// Whether the shape's box and `gap` cells around it are free. The border needs no gap.
fn is_clear(arena: &Arena, shape: &Shape, x: i32, y: i32, gap: i32) -> bool {
    // The claim of a room reaches one cell beyond it.
    let margin = gap - 1;
    let (left, top) = ((x - margin).max(0), (y - margin).max(0));
    let (right, bottom) = (x + shape.width + margin, (y + shape.height + margin).min(arena.height as i32));
    let columns = (1u64 << (right - left)) - 1;
    (top..bottom).all(|row| arena.claimed.window(left as usize, row as usize) & columns == 0)
}

/// Lists pairs of rooms within reach, nearest first.
fn list_candidates(arena: &mut Arena) {
    let Arena { rooms, candidates, .. } = arena;
    candidates.clear();
    let reach = (arena.width * arena.height * 9 / rooms.len().max(1)).isqrt() as u32 + 24;
    for (i, a) in rooms.iter().enumerate() {
        for (j, b) in rooms.iter().enumerate().skip(i + 1) {
            let gap = gap(a, b);
            if gap < reach {
                candidates.push((gap, i as u8, j as u8));
            }
        }
    }
    candidates.sort_unstable();
}

/// Steps between the boxes of two rooms.
fn gap(a: &RoomDraft, b: &RoomDraft) -> u32 {
    let between = |min_a: u16, max_a: u16, min_b: u16, max_b: u16| {
        u32::from(min_a.saturating_sub(max_b).max(min_b.saturating_sub(max_a)))
    };
    between(a.min.x, a.max.x, b.min.x, b.max.x) + between(a.min.y, a.max.y, b.min.y, b.max.y)
}

/// Digs corridors along the Gabriel graph between rooms whose walk is a detour.
fn close_loops(arena: &mut Arena, rng: &mut Rng) -> usize {
    let wanted = arena.rooms.len() / arena.params.halls.halls_per_loop as usize + 1;
    let mut made = 0;
    for i in 0..arena.candidates.len() {
        let (_, a, b) = arena.candidates[i];
        let (a, b) = (usize::from(a), usize::from(b));
        let same_zone = arena.rooms[a].zone == arena.rooms[b].zone && arena.rooms[a].zone != SEALED;
        if made >= wanted || !same_zone || !is_gabriel(arena, a, b) {
            continue;
        }
        arena.graph.rebuild(arena.rooms.len(), &arena.connections);
        if !arena.graph.within_doors(a, b, 2, &arena.connections)
            && connect(arena, a, b, arena.params.halls.door_chance, rng)
        {
            made += 1;
        }
    }
    made
}

/// Whether no third room lies in the circle whose diameter joins the two rooms' centers.
fn is_gabriel(arena: &Arena, a: usize, b: usize) -> bool {
    let place = |room: usize| {
        let center = arena.rooms[room].center;
        (arena.column(center) as i64, arena.row(center) as i64)
    };
    let square = |(ax, ay): (i64, i64), (bx, by): (i64, i64)| (ax - bx).pow(2) + (ay - by).pow(2);
    let (from, to) = (place(a), place(b));
    let across = square(from, to);
    (0..arena.rooms.len())
        .filter(|&c| c != a && c != b)
        .all(|c| square(from, place(c)) + square(to, place(c)) >= across)
}
