//! Plots: rectangles of varied sizes with rock between them, for kinds that plan a walk over places before they build
//! rooms on them.

use crate::arena::{Arena, MAX_ROOMS, Plot, PlotSet};
use crate::floor::Point;
use crate::rng::Rng;
use crate::shape::{Form, MAX_SHAPE, Shape};
use crate::stages::accrete::{fits, place};

/// The plot has no room.
pub(crate) const FREE: u8 = 0;
/// The plot will have one. Other marks are the room on it + 1.
pub(crate) const TAKEN: u8 = u8::MAX;

/// A cut leaves this share of a plot's side on either part, in per cent.
const LEAST_SHARE: i32 = 28;
/// Cells of a common side that make two plots neighbours.
const CONTACT: i32 = 3;
/// The longer side of a round room at most, in per cent of the other.
const ROUND: i32 = 140;
/// Positions tried for the stairs' cell in a room's shape.
const TRIES: usize = 12;

impl Plot {
    pub(crate) const fn area(&self) -> u32 {
        (self.width * self.height) as u32
    }

    /// Twice its middle.
    pub(crate) const fn middle(&self) -> (i32, i32) {
        (2 * self.x + self.width, 2 * self.y + self.height)
    }

    /// A random north-west corner for a shape, whose box then holds the cell.
    fn corner_for(&self, shape: &Shape, around: Option<Point>, rng: &mut Rng) -> (i32, i32) {
        let mut along = |start: i32, free: i32, taken: i32, cell: Option<u16>| {
            let (least, most) = cell.map_or((start, start + free), |cell| {
                let cell = i32::from(cell);
                (start.max(cell - taken + 1), cell.min(start + free))
            });
            rng.range(least, most)
        };
        let (x, y) = (around.map(|cell| cell.x), around.map(|cell| cell.y));
        (
            along(self.x, self.width - shape.width, shape.width, x),
            along(self.y, self.height - shape.height, shape.height, y),
        )
    }

    /// Whether two plots face each other across rock of that width.
    fn faces(&self, other: &Self, gap: i32) -> bool {
        let apart = |a: i32, long: i32, b: i32, other: i32| (a - b - other).max(b - a - long);
        let across = apart(self.x, self.width, other.x, other.width);
        let along = apart(self.y, self.height, other.y, other.height);
        (0..=gap).contains(&across.max(along)) && across.min(along) <= -CONTACT
    }
}

/// Cuts the floor into up to `count` free plots, and lists which of them lie beside each other. Every one of `cells` lies
/// in a plot. `least` is a plot's least side; small floors have smaller plots.
pub(crate) fn cut(arena: &mut Arena, count: usize, (gap, least): (i32, i32), cells: [Point; 2], rng: &mut Rng) {
    cut_up(arena, count, (gap, least), cells, rng);
    let Arena { plots, plots_beside, marks, .. } = arena;
    plots_beside.clear();
    plots_beside.extend(plots.iter().map(|plot| PlotSet::of(plots, |other| plot.faces(other, gap))));
    marks.clear();
    marks.resize(plots.len(), FREE);
}

fn cut_up(arena: &mut Arena, count: usize, (gap, least): (i32, i32), cells: [Point; 2], rng: &mut Rng) {
    let Arena { plots, width, height, .. } = arena;
    let whole = Plot { x: 1, y: 1, width: *width as i32 - 2, height: *height as i32 - 2 };
    let least = least.min((whole.width.max(whole.height) - gap) / 3).max(3);
    plots.clear();
    plots.push(whole);
    for _ in 0..8 * count {
        if plots.len() >= count {
            return;
        }
        let shared = plots.iter().position(|plot| cells.iter().all(|&cell| plot.holds(cell)));
        // Squares, so that no plot stays much larger than the others.
        let weight = |&index: &usize| (plots[index].area() / 64).pow(2).max(1);
        let index = shared.or_else(|| rng.choose(0..plots.len(), weight));
        let index = index.unwrap_or_default();
        if let Some((one, other)) = halves(plots[index], (gap, least), cells, rng) {
            plots[index] = one;
            plots.push(other);
        }
    }
}

/// Cuts a plot in two across its longer side, or across either if they differ little.
fn halves(plot: Plot, (gap, least): (i32, i32), cells: [Point; 2], rng: &mut Rng) -> Option<(Plot, Plot)> {
    let Plot { x, y, width, height } = plot;
    let is_level = if width.max(height) > width.min(height) * 4 / 3 { width > height } else { rng.chance(500) };
    let side = if is_level { width } else { height };
    let first = least.max(side * LEAST_SHARE / 100);
    if side < 2 * first + gap {
        return None;
    }
    let kept = rng.range(first, side - gap - first);
    let rest = side - gap - kept;
    let (one, other) = if is_level {
        (Plot { width: kept, ..plot }, Plot { x: x + kept + gap, width: rest, ..plot })
    } else {
        (Plot { height: kept, ..plot }, Plot { y: y + kept + gap, height: rest, ..plot })
    };
    let is_kept = |cell: &Point| !plot.holds(*cell) || one.holds(*cell) || other.holds(*cell);
    cells.iter().all(is_kept).then_some((one, other))
}

/// The plots beside a plot, in their order.
pub(crate) fn neighbours(arena: &Arena, plot: usize) -> PlotSet {
    arena.plots_beside[plot]
}

/// The room on a plot.
pub(crate) fn room_on(arena: &Arena, plot: usize) -> Option<usize> {
    let mark = arena.marks[plot];
    if mark == TAKEN { None } else { usize::from(mark).checked_sub(1) }
}

/// Lists a random one of the shortest walks over free plots from one plot to another, without the first, in the arena's
/// `tile_path`. False if there is none.
pub(crate) fn route(arena: &mut Arena, (from, to): (usize, usize), rng: &mut Rng) -> bool {
    let mut steps = [u8::MAX; MAX_ROOMS];
    steps[to] = 0;
    let mut queue = core::mem::take(&mut arena.tile_path);
    queue.clear();
    queue.push(to as u32);
    let mut next = 0;
    while let Some(&plot) = queue.get(next).filter(|_| steps[from] == u8::MAX) {
        next += 1;
        for there in neighbours(arena, plot as usize) {
            if steps[there] == u8::MAX && (there == from || arena.marks[there] == FREE) {
                steps[there] = steps[plot as usize] + 1;
                queue.push(there as u32);
            }
        }
    }
    queue.clear();
    let mut here = from;
    while here != to && steps[from] != u8::MAX {
        let closer = neighbours(arena, here).filter(|&there| steps[there] == steps[here] - 1);
        here = rng.choose(closer, |_| 1).unwrap_or(to);
        queue.push(here as u32);
    }
    arena.tile_path = queue;
    steps[from] != u8::MAX
}

/// Builds a room on a plot, unless corridors take it up. `fill` is its share of the plot's sides, in thousandths;
/// `around` a cell that it holds.
pub(crate) fn build(
    arena: &mut Arena,
    plot: usize,
    (form, fill): (Form, (i32, i32)),
    around: Option<Point>,
    rng: &mut Rng,
) -> Option<usize> {
    let ground = arena.plots[plot];
    let side = |most: i32, rng: &mut Rng| (most * rng.range(fill.0, fill.1) / 1_000).clamp(3, most.min(MAX_SHAPE));
    let (width, height) = (side(ground.width, rng), side(ground.height, rng));
    let rounded = |side: i32, other: i32| if form.is_round() { side.min(other * ROUND / 100).max(3) } else { side };
    let (width, height) = (rounded(width, height), rounded(height, width));
    (0..=TRIES).find_map(|tried| {
        // A hall holds every cell of its box.
        let form = if tried < TRIES { form } else { Form::Hall };
        let shape = Shape::draw(form, width, height, rng);
        let (x, y) = ground.corner_for(&shape, around, rng);
        let holds = |cell: Point| shape.rows()[(i32::from(cell.y) - y) as usize] >> (i32::from(cell.x) - x) & 1 == 1;
        if !around.is_none_or(holds) || !fits(arena, &shape, x, y) {
            return None;
        }
        let room = place(arena, &shape, x as usize, y as usize);
        arena.marks[plot] = room as u8 + 1;
        Some(room)
    })
}
