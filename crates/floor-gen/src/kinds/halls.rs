//! HALLS: large rooms far apart in the rock, joined by long corridors along a sparse graph.
//!
//! The shortest gaps between unconnected rooms are dug first, which gives a minimum spanning tree (Kruskal, 1956) of
//! the corridors that can be dug. Then some edges of the Gabriel graph (Gabriel, Sokal, 1969), a subgraph of the
//! Delaunay triangulation that contains the tree, become loops.

use crate::arena::{Arena, RoomDraft, SEALED};
use crate::graph::Components;
use crate::plan::Plan;
use crate::rng::{Rng, Streams};
use crate::shape::{Form, MAX_SHAPE, Shape};
use crate::stages::accrete::{RoomParams, fill_core, place};
use crate::stages::corridors::connect;
use crate::stages::gates::{self, LockCounts};
use crate::stages::kind_rules::KindRules;
use crate::stages::stairs;
use crate::stages::survey::LayoutRejected;

/// The most halls.
const MAX_HALLS: usize = 200;
/// Floors with a shorter side have halls of so many hundredths of the size.
const SMALL: usize = 72;
const SMALL_PERCENT: i32 = 62;
/// Halls that a floor has at the least, if there are so many cells for each.
const LEAST_HALLS: usize = 15;
const LEAST_CELLS: usize = 120;
/// The forms of a hall that others lie around.
const GREAT: [Form; 7] =
    [Form::Quatrefoil, Form::Octagon, Form::Cloister, Form::Cross, Form::Apse, Form::Diamond, Form::Ring];
/// Tries to place the hall that others lie around.
const FIRST_TRIES: usize = 20;

pub(crate) const RULES: KindRules = KindRules::BUILT;

pub(crate) fn lay_out(arena: &mut Arena, plan: &Plan<'_>, streams: &Streams<'_>) -> Result<(), LayoutRejected> {
    scatter(arena, plan, streams);
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

/// What the other halls lie around.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Family {
    /// Nothing.
    Scattered,
    /// A great hall.
    GreatHall,
    /// A gallery as long as most of the floor.
    Gallery,
    /// A hall in the middle, apart from the others.
    Ring,
}

/// Places halls at random, apart from each other.
fn scatter(arena: &mut Arena, plan: &Plan<'_>, streams: &Streams<'_>) {
    let rng = &mut streams.open("halls");
    let params = RoomParams::of(arena);
    let halls = arena.params.halls;
    let families = [Family::Scattered, Family::GreatHall, Family::Gallery, Family::Ring];
    let weights = [
        ("scattered", halls.scattered),
        ("great_hall", halls.great_hall),
        ("gallery", halls.gallery),
        ("ring", halls.ring),
    ];
    let family = families[streams.draw(rng, "family", weights)];
    let gap = halls.gap as i32;
    let (side, cells) = (arena.width.min(arena.height), arena.width * arena.height);
    // Small floors have more and smaller halls than their share.
    let small = if side < SMALL { SMALL_PERCENT } else { 100 };
    let spread = rng.range(100 - halls.spread as i32, 100 + halls.spread as i32) as usize;
    let wanted =
        (cells * 100 / (halls.cells as usize * spread)).max((cells / LEAST_CELLS).min(LEAST_HALLS) * 100 / spread);
    let wanted = wanted.clamp(3, MAX_HALLS);
    let (across, down) = (arena.width as i32, arena.height as i32);
    // A row of a hall with the gap on both sides fits a word.
    let size = |largest: i32, side: i32, rng: &mut Rng| {
        let (least, most) =
            (largest * halls.least as i32 * small / 10_000, largest * halls.most as i32 * small / 10_000);
        rng.range(least.max(3), most.max(least.max(3))).clamp(3, ((side - 2) / 2 - gap).max(3)).min(65 - 2 * gap)
    };
    for tried in 0..wanted * halls.spots as usize {
        if arena.rooms.len() >= wanted {
            break;
        }
        let (mut width, mut height) = (size(params.width.1, across, rng), size(params.height.1, down, rng));
        let mut form = arena.params.halls.forms.draw(rng);
        match family {
            // The first tries are for what the others lie around.
            Family::GreatHall if tried < FIRST_TRIES && arena.rooms.is_empty() => {
                form = rng.pick(&GREAT);
                (width, height) = (across * rng.range(34, 46) / 100, down * rng.range(34, 46) / 100);
            }
            Family::Ring if arena.rooms.is_empty() => {
                form = rng.pick(&GREAT);
                (width, height) = (across * rng.range(16, 26) / 100, down * rng.range(16, 26) / 100);
            }
            Family::Gallery if tried < FIRST_TRIES && arena.rooms.is_empty() => {
                form = Form::Hall;
                (width, height) =
                    if rng.chance(500) { (across * 70 / 100, down / 12) } else { (across / 12, down * 70 / 100) };
            }
            _ => {}
        }
        let fits = |side: i32, least: i32| side.clamp(least, 65 - 2 * gap).min(MAX_SHAPE);
        let shape = Shape::draw(form, fits(width, 3), fits(height, 3), rng);
        let is_core = family == Family::Ring && arena.rooms.is_empty();
        let along = |side: i32, taken: i32, rng: &mut Rng| {
            if is_core { (side - taken) / 2 } else { rng.range(1, side - 1 - taken) }
        };
        let (x, y) = (along(across, shape.width, rng), along(down, shape.height, rng));
        let is_middle = |at: i32, length: i32, side: i32| at + length > side * 3 / 10 && at < side * 7 / 10;
        let in_the_middle = is_middle(x, shape.width, across) && is_middle(y, shape.height, down);
        if (family != Family::Ring || is_core || !in_the_middle) && is_clear(arena, &shape, x, y, gap) {
            let room = place(arena, &shape, x as usize, y as usize);
            if form.has_core() {
                fill_core(arena, plan, room, rng);
            }
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

/// Digs corridors along the Gabriel graph between rooms whose walk is a detour; if none is dug, between any such rooms.
fn close_loops(arena: &mut Arena, rng: &mut Rng) -> usize {
    let wanted = arena.rooms.len() / arena.params.halls.halls_per_loop as usize + 1;
    match close_loops_where(arena, wanted, rng, is_gabriel) {
        0 => close_loops_where(arena, 1, rng, |_, _, _| true),
        made => made,
    }
}

fn close_loops_where(
    arena: &mut Arena,
    wanted: usize,
    rng: &mut Rng,
    fit: impl Fn(&Arena, usize, usize) -> bool,
) -> usize {
    let mut made = 0;
    for i in 0..arena.candidates.len() {
        let (_, a, b) = arena.candidates[i];
        let (a, b) = (usize::from(a), usize::from(b));
        let same_zone = arena.rooms[a].zone == arena.rooms[b].zone && arena.rooms[a].zone != SEALED;
        if made >= wanted || !same_zone || !fit(arena, a, b) {
            continue;
        }
        arena.graph.rebuild(arena.rooms.len(), &arena.connections);
        if !arena.graph.within_doors(a, b, 1, &arena.connections)
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
