//! KEEP: a fortress of halls side by side behind thick walls, by binary space partition.

use crate::arena::{Arena, MAX_ROOMS, Plot, SEALED, Side};
use crate::floor::Terrain;
use crate::graph::Components;
use crate::plan::Plan;
use crate::rng::{Rng, Streams};
use crate::shape::{Form, MAX_SHAPE, Shape};
use crate::stages::accrete::{doorway_on, join, place};
use crate::stages::gates::{self, LockCounts};
use crate::stages::kind_rules::KindRules;
use crate::stages::loops::cast_ray;
use crate::stages::stairs;
use crate::stages::survey::LayoutRejected;

/// The most halls.
const MAX_HALLS: usize = 200;

pub(crate) const RULES: KindRules = KindRules::BUILT;

pub(crate) fn lay_out(arena: &mut Arena, plan: &Plan<'_>, streams: &Streams<'_>) -> Result<(), LayoutRejected> {
    let wall = wall_thickness(arena);
    split_ground(arena, wall, &mut streams.open("split"));
    build_halls(arena, &mut streams.open("halls"));
    list_candidates(arena, wall, &mut streams.open("doors"));
    let rng = &mut streams.open("ways");
    let mut components = Components::singletons(arena.rooms.len());
    open_doors(arena, wall, rng, |_, a, b| components.join(a, b));
    if arena.rooms.len() < 2 || Components::of_connections(arena.rooms.len(), &arena.connections).count > 1 {
        return Err(LayoutRejected("a hall without a door"));
    }
    let ends = stairs::own(arena, plan, &mut streams.open("stairs"), |_| true)?;
    gates::place_locks(arena, ends, LockCounts::for_rooms(arena, plan), &mut streams.open("locks"))?;
    // Some walls between halls of one zone get a door too.
    let mut left = arena.rooms.len() / arena.params.keep.halls_per_door as usize;
    open_doors(arena, wall, rng, |arena, a, b| {
        let (here, there) = (arena.rooms[a].zone, arena.rooms[b].zone);
        let wanted = left > 0 && here == there && here != SEALED;
        left -= usize::from(wanted);
        wanted
    });
    Ok(())
}

/// Thinner on small floors, in cells.
fn wall_thickness(arena: &Arena) -> i32 {
    let keep = arena.params.keep;
    (if arena.width.min(arena.height) < 40 { keep.thin_wall } else { keep.wall }) as i32
}

/// Splits the largest plot until there are enough.
fn split_ground(arena: &mut Arena, wall: i32, rng: &mut Rng) {
    let wanted = (arena.width * arena.height / arena.params.keep.cells as usize).clamp(4, MAX_HALLS);
    let split = (arena.params.keep.split_least as i32, arena.params.keep.split_most as i32);
    let whole = Plot { x: 1, y: 1, width: arena.width as i32 - 2, height: arena.height as i32 - 2 };
    arena.plots.clear();
    arena.plots.push(whole);
    while arena.plots.len() < wanted {
        // First the plots that are too large for a hall.
        let size = |plot: &Plot| (plot.width > MAX_SHAPE || plot.height > MAX_SHAPE, plot.width * plot.height);
        let Some(largest) = (0..arena.plots.len()).max_by_key(|&i| size(&arena.plots[i])) else { return };
        let Some((a, b)) = halve(arena.plots[largest], wall, split, rng) else { return };
        arena.plots[largest] = a;
        arena.plots.push(b);
    }
    // Splits the plots that are still too large for a hall.
    let mut i = 0;
    while i < arena.plots.len() && arena.plots.len() < MAX_ROOMS {
        let plot = arena.plots[i];
        if plot.width <= MAX_SHAPE && plot.height <= MAX_SHAPE {
            i += 1;
        } else if let Some((a, b)) = halve(plot, wall, split, rng) {
            arena.plots[i] = a;
            arena.plots.push(b);
        } else {
            return;
        }
    }
}

/// Splits a plot across its longer side, near the middle; `None` if a half would be too small for a hall.
fn halve(plot: Plot, wall: i32, split: (i32, i32), rng: &mut Rng) -> Option<(Plot, Plot)> {
    // Halls are wide rather than high: a row of equal cells is a run on the wire.
    let cut_columns = plot.width > 2 * plot.height;
    let side = if cut_columns { plot.width } else { plot.height };
    let least = 3;
    if side < 2 * least + wall {
        return None;
    }
    let (from, to) = ((side * split.0 / 100).max(least), (side * split.1 / 100 - wall).min(side - wall - least));
    let first = rng.range(from, to.max(from)).clamp(least, side - wall - least);
    let second = side - wall - first;
    Some(if cut_columns {
        (Plot { width: first, ..plot }, Plot { x: plot.x + first + wall, width: second, ..plot })
    } else {
        (Plot { height: first, ..plot }, Plot { y: plot.y + first + wall, height: second, ..plot })
    })
}

/// Builds a hall on every plot; those at the corners of the keep are octagons.
fn build_halls(arena: &mut Arena, rng: &mut Rng) {
    for i in 0..arena.plots.len() {
        let plot = arena.plots[i];
        let at_side = plot.x == 1 || plot.x + plot.width == arena.width as i32 - 1;
        let at_end = plot.y == 1 || plot.y + plot.height == arena.height as i32 - 1;
        let form = if at_side && at_end { Form::Octagon } else { Form::Hall };
        let shape = Shape::draw(form, plot.width, plot.height, rng);
        place(arena, &shape, plot.x as usize, plot.y as usize);
    }
}

/// Lists the pairs of halls that share a wall, in random order but with large halls first.
fn list_candidates(arena: &mut Arena, wall: i32, rng: &mut Rng) {
    arena.candidates.clear();
    let Arena { plots, candidates, .. } = arena;
    for (i, a) in plots.iter().enumerate() {
        for (j, b) in plots.iter().enumerate().skip(i + 1) {
            if shared_wall(a, b, wall).is_some() {
                let large = (a.width * a.height).max(b.width * b.height) as u32;
                candidates.push((rng.below(1_000) + 40_000 / large.max(1), i as u8, j as u8));
            }
        }
    }
    candidates.sort_unstable();
}

/// The side of `a` on which `b` lies behind one wall, and the rows or columns that they share.
fn shared_wall(a: &Plot, b: &Plot, wall: i32) -> Option<(Side, i32, i32)> {
    let rows = (a.y.max(b.y), (a.y + a.height).min(b.y + b.height));
    let columns = (a.x.max(b.x), (a.x + a.width).min(b.x + b.width));
    match () {
        () if rows.0 < rows.1 && b.x == a.x + a.width + wall => Some((Side::East, rows.0, rows.1)),
        () if rows.0 < rows.1 && a.x == b.x + b.width + wall => Some((Side::West, rows.0, rows.1)),
        () if columns.0 < columns.1 && b.y == a.y + a.height + wall => Some((Side::South, columns.0, columns.1)),
        () if columns.0 < columns.1 && a.y == b.y + b.height + wall => Some((Side::North, columns.0, columns.1)),
        () => None,
    }
}

/// Builds a door in each candidate wall that is `wanted`, and removes it from the candidates.
fn open_doors(arena: &mut Arena, wall: i32, rng: &mut Rng, mut wanted: impl FnMut(&Arena, usize, usize) -> bool) {
    let mut kept = 0;
    for i in 0..arena.candidates.len() {
        let (weight, a, b) = arena.candidates[i];
        let (from, to) = (usize::from(a), usize::from(b));
        let hit = shared_wall(&arena.plots[from], &arena.plots[to], wall).and_then(|(side, first, end)| {
            let start = rng.range(0, end - first - 1);
            (0..end - first).find_map(|i| {
                let line = (first + (start + i) % (end - first)) as usize;
                let hit = cast_ray(arena, from, doorway_on(arena, from, side, line)?, side, wall as usize + 8)?;
                (hit.room == to).then_some((side, hit))
            })
        });
        match hit {
            Some((side, hit)) if wanted(arena, from, to) => {
                join(arena, (from, to), hit.gate, side, hit.corridor, Terrain::Door);
            }
            _ => {
                arena.candidates[kept] = (weight, a, b);
                kept += 1;
            }
        }
    }
    arena.candidates.truncate(kept);
}
