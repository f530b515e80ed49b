//! CAVERN: a cave of chambers joined by winding necks. Only the niches in its walls have doors.

use crate::arena::{Arena, RoomDraft, Side};
use crate::floor::{Point, Terrain};
use crate::graph::Components;
use crate::plan::Plan;
use crate::rng::{Rng, Streams};
use crate::stages::gates::LockCounts;
use crate::stages::kind_rules::KindRules;
use crate::stages::scenery::stays_joined;
use crate::stages::survey::LayoutRejected;
use crate::stages::{niches, territory};

/// The most tiles along a side: 196 chambers in all, which leaves room ids for niches.
const MAX_TILES: usize = 14;
/// Rock that is kept around the stairs down, in cells from them.
const ROCK: (i32, i32) = (8, 7);
/// Every so many cells, as many as the other number are a ford of the river.
const FORD: (usize, usize) = (17, 2);

/// Half the width and height of chambers as a share of half their tile's, least and greatest, in per cent.
type Reaches = [(i32, i32); 4];
const MIXED: Reaches = [(70, 100), (40, 68), (40, 68), (18, 36)];
const SMALL: Reaches = [(18, 36), (18, 36), (24, 44), (40, 60)];

pub(crate) const RULES: KindRules = KindRules { is_built: false, ..KindRules::BUILT };

/// What a cave is like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Family {
    /// Chambers of all sizes.
    Chambers,
    /// One great chamber among small ones.
    Great,
    /// A river through chambers of all sizes.
    River,
    /// Small chambers and many necks.
    Tunnels,
}

pub(crate) fn lay_out(arena: &mut Arena, plan: &Plan<'_>, streams: &Streams<'_>) -> Result<(), LayoutRejected> {
    let size = (arena.width, arena.height);
    let numbers = arena.params.cavern;
    arena.cave.reset(arena.width, arena.height);
    let rng = &mut streams.open("chambers");
    let weights = [
        ("chambers", numbers.chambers),
        ("great", numbers.great),
        ("river", numbers.river),
        ("tunnels", numbers.tunnels),
    ];
    let families = [Family::Chambers, Family::Great, Family::River, Family::Tunnels];
    let family = families[streams.draw(rng, "family", weights)];
    let tiles = tiles_over(arena, family, rng);
    sketch_chambers(arena, plan, tiles, family, rng);
    match family {
        Family::Great => sketch_great_chamber(arena, rng),
        Family::River => sketch_river(arena, rng),
        Family::Chambers | Family::Tunnels => {}
    }
    // The exit is a niche, so that it can be locked.
    arena.cave.keep_rock(size, (plan.departure.x.into(), plan.departure.y.into()), ROCK);
    sketch_necks(arena, tiles, family, &mut streams.open("necks"));
    arena.cave.generate(size, &numbers, &mut streams.open("cave"));
    arena.cave.remove_small_rocks(size, numbers.least_rock);
    let Arena { cave, terrain, claimed, .. } = arena;
    cave.carve_largest(size, terrain, claimed);
    assign_cells(arena);
    let chambers = arena.rooms.len();
    niches::dig(arena, plan, chambers, LockCounts::for_cells(arena, plan), &mut streams.open("niches"))?;
    if family == Family::River {
        flood_river(arena, plan);
    }
    Ok(())
}

/// Columns and rows of a coarse grid with a chamber in each tile: at least two tiles along the floor's longer side.
fn tiles_over(arena: &Arena, family: Family, rng: &mut Rng) -> (usize, usize) {
    let numbers = arena.params.cavern;
    let spread = numbers.spread as i32;
    let drawn = rng.range(100 - spread, 100 + spread) as usize * if family == Family::Tunnels { 85 } else { 100 };
    // Tiles of small floors are smaller, but not in proportion: chambers need space.
    let floor = (arena.width * arena.height).isqrt().min(Arena::PLAIN_SIDE);
    let scale = drawn * (2 * floor + Arena::PLAIN_SIDE) / (3 * Arena::PLAIN_SIDE);
    let along = |side: usize, tile: u32| {
        let tile = tile as usize * scale;
        ((side * 10_000 + tile / 2) / tile).clamp(1, MAX_TILES)
    };
    let (columns, rows) = (along(arena.width, numbers.tile_width), along(arena.height, numbers.tile_height));
    match (columns * rows < 3, arena.width >= arena.height) {
        (true, true) => (columns.max(2), rows),
        (true, false) => (columns, rows.max(2)),
        (false, _) => (columns, rows),
    }
}

/// Sketches a chamber in each tile: some large ones that reach into neighbouring tiles, some small ones, most between.
/// The stairs up lie in the middle of one.
fn sketch_chambers(arena: &mut Arena, plan: &Plan<'_>, (columns, rows): (usize, usize), family: Family, rng: &mut Rng) {
    let (width, height) = ((arena.width - 2) / columns, (arena.height - 2) / rows);
    let tile_of = |at: Point| {
        let (column, row) = (usize::from(at.x - 1) / width, usize::from(at.y - 1) / height);
        row.min(rows - 1) * columns + column.min(columns - 1)
    };
    let arrival = tile_of(plan.arrival);
    let reaches = if matches!(family, Family::Great | Family::Tunnels) { SMALL } else { MIXED };
    for tile in 0..columns * rows {
        let (left, top) = (1 + tile % columns * width, 1 + tile / columns * height);
        // A neck is two cells wide, so the last column and row of a tile stay free.
        let along = |side: usize, rng: &mut Rng| side / 5 + rng.index((side - side / 5 * 2).max(1));
        let drawn = (left + along(width, rng), top + along(height, rng));
        let (x, y) = if tile == arrival { (plan.arrival.x.into(), plan.arrival.y.into()) } else { drawn };
        let (x, y) = (x.min(arena.width - 3), y.min(arena.height - 3));
        let (least, most) = reaches[rng.index(4)];
        let reach = |side: usize, rng: &mut Rng| (side as i32 * rng.range(least, most) / 200).max(2);
        let (rx, ry) = (reach(width, rng), reach(height, rng));
        sketch_lobes(arena, (x as i32, y as i32), (rx, ry), 2, rng);
        let place = Point { x: x as u16, y: y as u16 };
        let center = arena.at(x, y);
        arena.region[center] = arena.rooms.len() as u8 + 1;
        arena.rooms.push(RoomDraft::new(place, place, center, 0));
    }
}

/// Sketches an ellipse and some around it, so that no chamber is an ellipse.
fn sketch_lobes(arena: &mut Arena, (x, y): (i32, i32), (rx, ry): (i32, i32), lobes: usize, rng: &mut Rng) {
    let size = (arena.width, arena.height);
    arena.cave.sketch(size, (x, y), (rx, ry));
    for _ in 0..lobes {
        let (dx, dy) = (rng.range(-rx, rx), rng.range(-ry, ry));
        arena.cave.sketch(size, (x + dx, y + dy), (rx * 2 / 3, ry * 2 / 3));
    }
}

/// Sketches a chamber over a large part of the floor.
fn sketch_great_chamber(arena: &mut Arena, rng: &mut Rng) {
    let along = |side: usize, rng: &mut Rng| {
        let side = side as i32;
        (rng.range(side / 4, 3 * side / 4), (side * rng.range(15, 25) / 100).max(3))
    };
    let ((x, rx), (y, ry)) = (along(arena.width, rng), along(arena.height, rng));
    sketch_lobes(arena, (x, y), (rx, ry), 4, rng);
    // Columns of rock.
    for _ in 0..rng.range(0, 6) {
        let at = (x + rng.range(-rx, rx), y + rng.range(-ry, ry));
        arena.cave.keep_rock((arena.width, arena.height), at, (rng.range(2, 4), rng.range(2, 4)));
    }
}

/// Sketches the bed of a river across the floor and lists its middle in `tile_path`.
fn sketch_river(arena: &mut Arena, rng: &mut Rng) {
    let is_level = rng.chance(500);
    let (far, across) = if is_level { (arena.width, arena.height) } else { (arena.height, arena.width) };
    let size = (arena.width, arena.height);
    // It swings: its bend changes from time to time, its slope by the bend, its place by the slope. All in sixteenths of
    // a cell.
    let (shore, mut place) = (across as i32 * 16 / 5, 16 * rng.range(across as i32 / 5, across as i32 * 4 / 5));
    let (mut slope, mut bend) = (rng.range(-12, 12), 0);
    arena.tile_path.clear();
    for along in 2..far - 3 {
        if rng.chance(120) {
            bend = rng.range(-2, 2);
        }
        // Near a side of the floor it turns back.
        let back = i32::from(place < shore) - i32::from(place > 16 * across as i32 - shore);
        slope = (slope + bend + 2 * back).clamp(-14, 14);
        place = (place + slope).clamp(16 * 3, 16 * (across as i32 - 4));
        let at = place / 16;
        let (x, y) = if is_level { (along, at as usize) } else { (at as usize, along) };
        arena.tile_path.push(arena.at(x, y) as u32);
        arena.cave.sketch(size, (x as i32, y as i32), (rng.range(3, 6), rng.range(3, 6)));
        arena.cave.cut_neck((x, y), (x, y), rng);
    }
}

/// Joins neighbouring chambers by a spanning tree of necks, and some pairs besides.
fn sketch_necks(arena: &mut Arena, tiles: (usize, usize), family: Family, rng: &mut Rng) {
    let Arena { candidates, rooms, .. } = arena;
    candidates.clear();
    for tile in 0..tiles.0 * tiles.1 {
        for side in [Side::East, Side::South] {
            candidates.extend(side.neighbour(tile, tiles).map(|there| (0, tile as u8, there as u8)));
        }
    }
    rng.shuffle(candidates);
    let numbers = arena.params.cavern;
    let spare = if family == Family::Tunnels { numbers.spare_tunnels } else { numbers.spare_necks };
    let mut components = Components::singletons(rooms.len());
    for i in 0..arena.candidates.len() {
        let (_, a, b) = arena.candidates[i];
        if components.join(a.into(), b.into()) || rng.chance(spare) {
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
        rooms[usize::from(region[at]) - 1].add_cell((at % *width) as u16, (at / *width) as u16);
    }
}

/// Floods the middle of the river where that cuts no path, with fords in between.
fn flood_river(arena: &mut Arena, plan: &Plan<'_>) {
    let deep = plan.theme().ground.deep;
    let ford = if deep == Terrain::DeepWater { Terrain::ShallowWater } else { Terrain::Bridge };
    let arrival = arena.at(plan.arrival.x.into(), plan.arrival.y.into());
    for i in 0..arena.tile_path.len() {
        let middle = arena.tile_path[i] as usize;
        for at in arena.ring(middle).into_iter().chain([middle]) {
            let is_dry = arena.room_at(at).is_none_or(|room| arena.rooms[room].center == at) || at == arrival;
            if arena.terrain[at] != Terrain::Floor || is_dry {
                continue;
            }
            let sinks = i % FORD.0 >= FORD.1 && stays_joined(arena, at);
            arena.terrain[at] = if sinks { deep } else { ford };
        }
    }
    // A bridge leads over something.
    for i in 0..arena.tile_path.len() {
        let middle = arena.tile_path[i] as usize;
        for at in arena.ring(middle).into_iter().chain([middle]) {
            let is_over = |at: usize| arena.ring(at).into_iter().any(|there| arena.terrain[there] == deep);
            if arena.terrain[at] == Terrain::Bridge && !is_over(at) {
                arena.terrain[at] = Terrain::Floor;
            }
        }
    }
}
