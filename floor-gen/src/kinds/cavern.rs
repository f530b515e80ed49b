//! CAVERN: a cave of chambers joined by winding necks. Only the niches in its walls have doors.

use crate::arena::{Arena, RoomDraft, Side};
use crate::floor::{Point, Terrain};
use crate::graph::Components;
use crate::plan::Plan;
use crate::rng::{Rng, Streams};
use crate::stages::gates::LockCounts;
use crate::stages::kind_rules::KindRules;
use crate::stages::survey::LayoutRejected;
use crate::stages::{niches, territory};

/// The most tiles along a side: 196 chambers in all, which leaves room ids for niches.
const MAX_TILES: usize = 14;

pub(crate) const RULES: KindRules = KindRules { is_built: false, ..KindRules::BUILT };

pub(crate) fn lay_out(arena: &mut Arena, plan: &Plan<'_>, streams: &Streams<'_>) -> Result<(), LayoutRejected> {
    let size = (arena.width, arena.height);
    arena.cave.reset(arena.width, arena.height);
    let tiles = tiles_over(arena);
    sketch_chambers(arena, tiles, &mut streams.open("chambers"));
    sketch_necks(arena, tiles, &mut streams.open("necks"));
    let numbers = arena.params.cavern;
    arena.cave.generate(size, &numbers, &mut streams.open("cave"));
    arena.cave.remove_small_rocks(size, numbers.least_rock);
    let Arena { cave, terrain, claimed, .. } = arena;
    cave.carve_largest(size, terrain, claimed);
    assign_cells(arena);
    let chambers = arena.rooms.len();
    niches::dig(arena, plan, chambers, LockCounts::for_cells(arena, plan), &mut streams.open("niches"))?;
    Ok(())
}

/// Columns and rows of a coarse grid with a chamber in each tile: at least two tiles along the floor's longer side.
fn tiles_over(arena: &Arena) -> (usize, usize) {
    let tile = arena.params.cavern;
    let along = |side: usize, tile: u32| (side / tile as usize).clamp(1, MAX_TILES);
    let (columns, rows) = (along(arena.width, tile.tile_width), along(arena.height, tile.tile_height));
    match (columns * rows < 3, arena.width >= arena.height) {
        (true, true) => (columns.max(2), rows),
        (true, false) => (columns, rows.max(2)),
        (false, _) => (columns, rows),
    }
}

/// Sketches a chamber in each tile: some large ones that reach into neighbouring tiles, some small ones, most between.
fn sketch_chambers(arena: &mut Arena, (columns, rows): (usize, usize), rng: &mut Rng) {
    let size = (arena.width, arena.height);
    let (width, height) = ((arena.width - 2) / columns, (arena.height - 2) / rows);
    for tile in 0..columns * rows {
        let (left, top) = (1 + tile % columns * width, 1 + tile / columns * height);
        // A neck is two cells wide, so the last column and row of a tile stay free.
        let along = |side: usize, rng: &mut Rng| side / 5 + rng.index((side - side / 5 * 2).max(1));
        let x = (left + along(width, rng)).min(arena.width - 3);
        let y = (top + along(height, rng)).min(arena.height - 3);
        // Half the chamber's width and height as a share of half the tile's, in per cent.
        let (least, most) = [(70, 100), (40, 68), (40, 68), (18, 36)][rng.index(4)];
        let reach = |side: usize, rng: &mut Rng| (side as i32 * rng.range(least, most) / 200).max(2);
        let (rx, ry) = (reach(width, rng), reach(height, rng));
        arena.cave.sketch(size, (x as i32, y as i32), (rx, ry));
        // Two lobes, so that no chamber is an ellipse.
        for _ in 0..2 {
            let (dx, dy) = (rng.range(-rx, rx), rng.range(-ry, ry));
            arena.cave.sketch(size, (x as i32 + dx, y as i32 + dy), (rx * 2 / 3, ry * 2 / 3));
        }
        let place = Point { x: x as u16, y: y as u16 };
        let center = arena.at(x, y);
        arena.region[center] = arena.rooms.len() as u8 + 1;
        arena.rooms.push(RoomDraft::new(place, place, center, 0));
    }
}

/// Joins neighbouring chambers by a spanning tree of necks, and some pairs besides.
fn sketch_necks(arena: &mut Arena, tiles: (usize, usize), rng: &mut Rng) {
    let Arena { candidates, rooms, .. } = arena;
    candidates.clear();
    for tile in 0..tiles.0 * tiles.1 {
        for side in [Side::East, Side::South] {
            candidates.extend(side.neighbour(tile, tiles).map(|there| (0, tile as u8, there as u8)));
        }
    }
    rng.shuffle(candidates);
    let mut components = Components::singletons(rooms.len());
    for i in 0..arena.candidates.len() {
        let (_, a, b) = arena.candidates[i];
        if components.join(a.into(), b.into()) || rng.chance(arena.params.cavern.spare_necks) {
            let ends = [a, b].map(|room| arena.rooms[usize::from(room)].center);
            sketch_neck(arena, ends, rng);
        }
    }
}

/// Cuts a neck that bends at a point beside the straight line.
fn sketch_neck(arena: &mut Arena, [from, to]: [usize; 2], rng: &mut Rng) {
    let place = |at: usize| (arena.column(at), arena.row(at));
    let (from, to) = (place(from), place(to));
    let aside = (from.0.abs_diff(to.0) + from.1.abs_diff(to.1)) as i32 / arena.params.cavern.winding as i32;
    let bend = |a: usize, b: usize, most: usize, rng: &mut Rng| {
        ((a + b) as i32 / 2 + rng.range(-aside, aside)).clamp(1, most as i32 - 3) as usize
    };
    let by = (bend(from.0, to.0, arena.width, rng), bend(from.1, to.1, arena.height, rng));
    arena.cave.cut_neck(from, by, rng);
    arena.cave.cut_neck(by, to, rng);
}

/// Gives every cell of the cave to the nearest chamber center, and connects chambers that touch.
fn assign_cells(arena: &mut Arena) {
    let Arena { rooms, region, terrain, cell_list, width, connections, .. } = arena;
    cell_list.clear();
    cell_list.extend(rooms.iter().map(|room| room.center as u32));
    territory::spread(region, cell_list, *width, |at| terrain[at] == Terrain::Floor);
    territory::join_touching(region, cell_list, *width, connections);
    for &at in cell_list.iter() {
        let at = at as usize;
        let room = &mut rooms[usize::from(region[at]) - 1];
        let place = Point { x: (at % *width) as u16, y: (at / *width) as u16 };
        room.area += 1;
        room.min = Point { x: room.min.x.min(place.x), y: room.min.y.min(place.y) };
        room.max = Point { x: room.max.x.max(place.x), y: room.max.y.max(place.y) };
    }
}
