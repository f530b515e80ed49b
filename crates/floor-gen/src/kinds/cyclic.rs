//! CYCLIC: a graph of cycles, whose rooms have at least two connections each. The exit, vaults and secret rooms lie off
//! the cycles, and some cycles have a secret chord.
//!
//! The layout is an ear decomposition (Whitney, 1932) over plots: first one or two cycles through the way from the
//! stairs up to those down, then paths between two rooms that exist. The idea of levels made of cycles, each of which
//! offers two ways, is Joris Dormans's, from the game Unexplored.

use crate::arena::{Arena, SEALED};
use crate::graph::Components;
use crate::pack::params::Cyclic;
use crate::plan::Plan;
use crate::rng::{Rng, Streams};
use crate::stages::accrete::fill_core;
use crate::stages::corridors::{connect, connect_by_road};
use crate::stages::gates::{self, LockCounts};
use crate::stages::kind_rules::KindRules;
use crate::stages::niches;
use crate::stages::plots::{self, FREE, TAKEN};
use crate::stages::survey::LayoutRejected;

/// The side from which rock between plots is wide, in cells.
const WIDE_FROM: usize = 64;
/// Of narrower floors, the share of a plot's cells in per cent, and by how much its least side is smaller.
const SMALL: (usize, i32) = (75, 2);
/// Narrower floors need no cycle.
const NARROW: usize = 32;
/// The most plots, which leaves room ids for niches.
const MAX_PLOTS: usize = 200;

pub(crate) const RULES: KindRules = KindRules { ..KindRules::BUILT };

/// The first cycles of a floor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Family {
    /// Two ways to the exit: a short one and another.
    TwoWays,
    /// A wide ring past a place far from both stairs.
    Ring,
    /// Two cycles that meet in one room half way.
    Eight,
}

pub(crate) fn lay_out(arena: &mut Arena, plan: &Plan<'_>, streams: &Streams<'_>) -> Result<(), LayoutRejected> {
    let cyclic = arena.params.cyclic;
    let rng = &mut streams.open("plots");
    let families = [Family::TwoWays, Family::Ring, Family::Eight];
    let weights = [("two_ways", cyclic.two_ways), ("ring", cyclic.ring), ("eight", cyclic.eight)];
    let family = families[streams.draw(rng, "family", weights)];
    cut(arena, plan, rng);
    let plot_of = |arena: &Arena, cell| arena.plots.iter().position(|plot| plot.holds(cell));
    let ends = (plot_of(arena, plan.arrival), plot_of(arena, plan.departure));
    let (Some(first), Some(last)) = ends else { return Err(LayoutRejected("stairs between two plots")) };
    // The exit hangs on a plot beside it, so that one door closes it.
    arena.marks[last] = TAKEN;
    let Some(before_exit) = choose_before(arena, (first, last), rng) else {
        return Err(LayoutRejected("no way to the exit"));
    };

    let rng = &mut streams.open("cycles");
    build(arena, first, plan, rng)?;
    lay_cycles(arena, plan, family, (first, before_exit), rng)?;
    let wanted = (arena.plots.len() * cyclic.full as usize / 1_000).min(MAX_PLOTS);
    let mut ears = 0;
    for _ in 0..arena.plots.len() {
        if arena.rooms.len() >= wanted {
            break;
        }
        ears += usize::from(lay_ear(arena, plan, rng));
    }
    streams.note("ears", ears);
    if arena.connections.len() < arena.rooms.len() && arena.width.min(arena.height) >= NARROW {
        return Err(LayoutRejected("a cycle is not closed"));
    }
    let open = arena.rooms.len();
    let exit = build(arena, last, plan, rng)?;
    if !connect_beside(arena, exit, last, 1_000, rng)
        || Components::of_connections(arena.rooms.len(), &arena.connections).count > 1
    {
        return Err(LayoutRejected("a room without a corridor"));
    }
    niches::dig(arena, plan, open, LockCounts::for_cells(arena, plan), &mut streams.open("niches"))?;
    hide_chord(arena, open, &mut streams.open("chord"));
    Ok(())
}

/// Cells of rock between plots, and the reach of a plot's neighbours.
fn gap(arena: &Arena) -> i32 {
    let Cyclic { gap, .. } = arena.params.cyclic;
    (if arena.width.min(arena.height) < WIDE_FROM { 3 } else { gap }) as i32
}

/// Cuts the floor into plots, smaller ones on small floors.
fn cut(arena: &mut Arena, plan: &Plan<'_>, rng: &mut Rng) {
    let cyclic = arena.params.cyclic;
    let cells = arena.width * arena.height;
    let spread = rng.range(100 - cyclic.spread as i32, 100 + cyclic.spread as i32) as usize;
    // A small floor needs smaller plots, or it would have too few for a cycle.
    let (share, less) = if arena.width.min(arena.height) < WIDE_FROM { SMALL } else { (100, 0) };
    let cells_of_a_plot = arena.scaled(cyclic.cells as usize * spread / 100 * share / 100);
    let count = (cells / cells_of_a_plot.max(1)).clamp(6, MAX_PLOTS);
    let least = cyclic.plot_least as i32 - less;
    plots::cut(arena, count, (gap(arena), least), [plan.arrival, plan.departure], rng);
}

/// Joins two rooms by a road.
fn join_rooms(arena: &mut Arena, ends: (usize, usize), doors: u32, rng: &mut Rng) -> bool {
    let Cyclic { road_least, road_most, .. } = arena.params.cyclic;
    let width = rng.range(road_least as i32, road_most as i32) as u32;
    let width = if arena.width.min(arena.height) < WIDE_FROM { width.min(2) } else { width };
    connect_by_road(arena, ends, (doors, width), rng)
}

/// Joins a room with one on a plot beside its own.
fn connect_beside(arena: &mut Arena, room: usize, plot: usize, doors: u32, rng: &mut Rng) -> bool {
    plots::neighbours(arena, plot)
        .any(|other| plots::room_on(arena, other).is_some_and(|there| join_rooms(arena, (room, there), doors, rng)))
}

/// A plot beside the exit's to which a way leads from the first.
fn choose_before(arena: &mut Arena, (first, last): (usize, usize), rng: &mut Rng) -> Option<usize> {
    let (count, start) = (arena.plots.len(), rng.index(arena.plots.len()));
    (0..count).map(|i| (start + i) % count).find(|&plot| {
        let is_beside = plot != first && plots::neighbours(arena, last).holds(plot);
        is_beside && plots::route(arena, (first, plot), rng)
    })
}

/// Lays the first cycles between the plot of the stairs up, which has its room, and the plot before the exit.
fn lay_cycles(
    arena: &mut Arena,
    plan: &Plan<'_>,
    family: Family,
    (first, last): (usize, usize),
    rng: &mut Rng,
) -> Result<(), LayoutRejected> {
    // The free plot that is farthest from both, of a few.
    let apart = |arena: &Arena, plot: usize| {
        let middle = arena.plots[plot].middle();
        let steps = |other: usize| {
            let (x, y) = arena.plots[other].middle();
            x.abs_diff(middle.0) + y.abs_diff(middle.1)
        };
        steps(first).min(steps(last))
    };
    let drawn = (0..arena.params.cyclic.compared).map(|_| rng.index(arena.plots.len()));
    let free = drawn.filter(|&plot| arena.marks[plot] == FREE && plot != last);
    let far = free.max_by_key(|&plot| apart(arena, plot)).unwrap_or(last);
    let is_reached = far != last && plots::route(arena, (first, far), rng);
    let ways: &[(usize, usize)] = match family {
        Family::Ring if is_reached => &[(first, far), (far, last), (last, first)],
        Family::Eight if is_reached => &[(first, far), (far, first), (far, last), (last, far)],
        _ => &[(first, last), (last, first)],
    };
    ways.iter().try_for_each(|&ends| lay_way(arena, plan, ends, rng))
}

/// Builds rooms along a shortest way over free plots, from one that has a room.
fn lay_way(arena: &mut Arena, plan: &Plan<'_>, ends: (usize, usize), rng: &mut Rng) -> Result<(), LayoutRejected> {
    // Two rooms of a cycle that lie side by side are joined by their door already.
    let joined =
        plots::room_on(arena, ends.0).zip(plots::room_on(arena, ends.1)).is_some_and(|(a, b)| arena.are_joined(a, b));
    if joined {
        return Ok(());
    }
    if !plots::route(arena, ends, rng) {
        // The way back may be closed; ears make other cycles.
        let is_built = plots::room_on(arena, ends.1).is_some();
        return if is_built { Ok(()) } else { Err(LayoutRejected("no way between two plots")) };
    }
    join_path(arena, plan, ends.0, rng)
}

/// Joins the rooms along the arena's `tile_path`, from a plot that has a room.
fn join_path(arena: &mut Arena, plan: &Plan<'_>, first: usize, rng: &mut Rng) -> Result<(), LayoutRejected> {
    let mut before = first;
    for i in 0..arena.tile_path.len() {
        let here = arena.tile_path[i] as usize;
        join(arena, plan, (before, here), rng)?;
        before = here;
    }
    Ok(())
}

/// Joins the room of a plot with that of the next, which is built if it has none. Where rock is too narrow for the
/// corridor, a new room is joined with another beside it.
fn join(
    arena: &mut Arena,
    plan: &Plan<'_>,
    (before, here): (usize, usize),
    rng: &mut Rng,
) -> Result<(), LayoutRejected> {
    let from = plots::room_on(arena, before).ok_or(LayoutRejected("a way from nowhere"))?;
    let doors = arena.params.cyclic.door_chance;
    if let Some(to) = plots::room_on(arena, here) {
        // A cycle that is not closed here is closed by an ear.
        let _ = join_rooms(arena, (from, to), doors, rng);
        return Ok(());
    }
    let to = build(arena, here, plan, rng)?;
    if join_rooms(arena, (from, to), doors, rng) || connect_beside(arena, to, here, doors, rng) {
        Ok(())
    } else {
        Err(LayoutRejected("a room without a corridor"))
    }
}

/// Builds a path of rooms over free plots from one room to another.
fn lay_ear(arena: &mut Arena, plan: &Plan<'_>, rng: &mut Rng) -> bool {
    for _ in 0..arena.params.cyclic.tries {
        let start = rng.index(arena.plots.len());
        if plots::room_on(arena, start).is_none() {
            continue;
        }
        arena.tile_path.clear();
        let end = walk_free(arena, start, rng);
        for i in 0..arena.tile_path.len() {
            arena.marks[arena.tile_path[i] as usize] = FREE;
        }
        let Some(end) = end else { continue };
        arena.tile_path.push(end as u32);
        return join_path(arena, plan, start, rng).is_ok();
    }
    false
}

/// Walks over free plots at random, each at most once, until it is next to another room's than the start's. Returns that
/// plot; the walk is the arena's `tile_path`.
fn walk_free(arena: &mut Arena, start: usize, rng: &mut Rng) -> Option<usize> {
    let mut here = start;
    loop {
        let beside = plots::neighbours(arena, here);
        let is_end = |&there: &usize| here != start && there != start && plots::room_on(arena, there).is_some();
        if let Some(end) = rng.choose(beside.filter(is_end), |_| 1) {
            return Some(end);
        }
        here = rng.choose(beside.filter(|&there| arena.marks[there] == FREE), |_| 1)?;
        arena.marks[here] = TAKEN;
        arena.tile_path.push(here as u32);
    }
}

/// Builds a room on a plot, around the stairs if they lie on it.
fn build(arena: &mut Arena, plot: usize, plan: &Plan<'_>, rng: &mut Rng) -> Result<usize, LayoutRejected> {
    let cyclic = arena.params.cyclic;
    let form = cyclic.forms.draw(rng);
    let around = [plan.arrival, plan.departure].into_iter().find(|&cell| arena.plots[plot].holds(cell));
    let fill = (cyclic.fill_least as i32, cyclic.fill_most as i32);
    let room = plots::build(arena, plot, (form, fill), around, rng).ok_or(LayoutRejected("no room on a plot"))?;
    if form.has_core() {
        fill_core(arena, plan, room, rng);
    }
    Ok(room)
}

/// Adds a secret connection between two neighbouring rooms of the first `rooms` that are far apart otherwise.
fn hide_chord(arena: &mut Arena, rooms: usize, rng: &mut Rng) {
    let (start, count) = (rng.index(arena.plots.len()), arena.plots.len());
    for i in 0..count {
        let plot = (start + i) % count;
        let Some(here) = plots::room_on(arena, plot) else { continue };
        let beside = plots::neighbours(arena, plot).filter(|&other| other > plot);
        let Some(there) = rng.choose(beside, |_| 1).and_then(|other| plots::room_on(arena, other)) else { continue };
        let open = arena.rooms[here].zone != SEALED && arena.rooms[there].zone != SEALED && here.max(there) < rooms;
        arena.graph.rebuild(arena.rooms.len(), &arena.connections);
        if open && !arena.graph.within_doors(here, there, 2, &arena.connections) && connect(arena, here, there, 0, rng)
        {
            gates::make_secret(arena, arena.connections.len() - 1);
            return;
        }
    }
}
