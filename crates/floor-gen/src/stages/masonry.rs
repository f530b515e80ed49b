//! The pieces of a castle: blocks of rooms, curtain walls with towers, passages and a gatehouse, yards, a moat.

use crate::arena::{Arena, Doorway, MAX_ROOMS, Plot, RoomDraft, Side};
use crate::floor::{Point, Terrain};
use crate::graph::Components;
use crate::rng::Rng;
use crate::shape::{Form, Shape};
use crate::stages::accrete::{doorway, fits, is_flanked, join, place};
use crate::stages::corridors::connect_to_nearest;
use crate::stages::loops::cast_ray;
use crate::stages::survey::LayoutRejected;

/// The most rooms of a castle, which leaves room ids for stairs and vaults.
const MOST_ROOMS: usize = MAX_ROOMS - 20;
/// Least side of a room of a block, in cells.
const LEAST_ROOM: i32 = 3;
/// Least length of a passage in a wall, in cells.
const LEAST_PASSAGE: i32 = 4;
/// Smaller yards stay rock.
const LEAST_YARD: u32 = 14;
/// Width of a gatehouse's guard rooms, in cells.
const GUARD_ROOM: i32 = 3;
/// Cuts tried for each part of a block.
const CUTS: usize = 4;
/// Places tried for a gatehouse.
const GATE_TRIES: i32 = 12;
/// The longest corridor of a door through rock, in cells.
const REACH: usize = 9;
/// Nearest rooms that a room without a door is joined to.
const NEAREST: usize = 8;

/// While rooms are laid, `RoomDraft::zone` says within which walls a room lies: 0 is outside of all. A bit marks yards,
/// and another the way through a gatehouse.
const YARD: u8 = 64;
const GATE: u8 = 128;

/// What a door costs, besides chance (1,000), where others can take its place: into a yard, and through a wall that has
/// a gate.
const COST_INTO_YARD: u32 = 500;
const COST_THROUGH_WALL: u32 = 2_500;
const COST_OF_A_CELL: u32 = 60;

/// The measures of one castle, in cells.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Masonry {
    /// Rooms to build.
    pub(crate) rooms: usize,
    /// Cells of a room of a block.
    pub(crate) room: i32,
    /// Diameter and form of the towers.
    pub(crate) tower: i32,
    pub(crate) form: Form,
    /// Cells of the wall from tower to tower.
    pub(crate) spacing: i32,
    /// Width of the passages in the walls and of corridors; 0 for walls without passages.
    pub(crate) passage: i32,
    /// Thickness of the stone on both sides of a passage.
    pub(crate) stone: i32,
    /// The cells of the stairs, which no wall of a block takes.
    pub(crate) stairs: [Point; 2],
}

impl Masonry {
    /// Thickness of the curtain walls.
    pub(crate) const fn thick(&self) -> i32 {
        self.passage + 2 * self.stone
    }

    /// Whether the stairs that lie in the plot lie in one of its parts.
    fn stairs_stay(&self, plot: Plot, parts: &[Plot]) -> bool {
        self.stairs.iter().all(|&at| !plot.holds(at) || parts.iter().any(|part| part.holds(at)))
    }
}

/// The part of a plot that lies `along` one of its sides and so far `across` from it: start and length of both.
pub(crate) const fn strip(plot: Plot, side: Side, along: (i32, i32), across: (i32, i32)) -> Plot {
    let (from_left, from_top) = (plot.x + along.0, plot.y + along.0);
    match side {
        Side::North => Plot { x: from_left, y: plot.y + across.0, width: along.1, height: across.1 },
        Side::South => {
            Plot { x: from_left, y: plot.y + plot.height - across.0 - across.1, width: along.1, height: across.1 }
        }
        Side::West => Plot { x: plot.x + across.0, y: from_top, width: across.1, height: along.1 },
        Side::East => {
            Plot { x: plot.x + plot.width - across.0 - across.1, y: from_top, width: across.1, height: along.1 }
        }
    }
}

/// The length of a plot along a side.
pub(crate) const fn length(plot: Plot, side: Side) -> i32 {
    if side.is_level() { plot.height } else { plot.width }
}

/// Whether the plot lies inside the border and on no claimed cell.
pub(crate) fn is_free(arena: &Arena, plot: Plot) -> bool {
    let (right, bottom) = (plot.x + plot.width, plot.y + plot.height);
    let inside = plot.x >= 1 && plot.y >= 1 && right < arena.width as i32 && bottom < arena.height as i32;
    let (left, right) = (plot.x as usize, right as usize);
    inside && (plot.y..bottom).all(|y| arena.claimed.next_set(y as usize, left).is_none_or(|x| x >= right))
}

/// Keeps later pieces off the plot.
pub(crate) fn claim(arena: &mut Arena, plot: Plot) {
    let (left, right) = (plot.x.max(0), (plot.x + plot.width).min(arena.width as i32));
    for y in plot.y.max(0)..(plot.y + plot.height).min(arena.height as i32) {
        if left < right {
            arena.claimed.insert_run(y as usize, left as usize, right as usize);
        }
    }
}

/// Carves the plot as a room, if it is free.
pub(crate) fn carve(arena: &mut Arena, plot: Plot, ward: u8) -> Option<usize> {
    if arena.rooms.len() >= MOST_ROOMS || plot.width < 1 || plot.height < 1 || !is_free(arena, plot) {
        return None;
    }
    let room = arena.rooms.len();
    let (x, y, width, height) = (plot.x as usize, plot.y as usize, plot.width as usize, plot.height as usize);
    for y in y..y + height {
        let at = arena.at(x, y);
        arena.terrain[at..at + width].fill(Terrain::Floor);
        arena.region[at..at + width].fill(room as u8 + 1);
    }
    claim(arena, plot.inset(-1));
    let min = Point { x: x as u16, y: y as u16 };
    let max = Point { x: (x + width - 1) as u16, y: (y + height - 1) as u16 };
    let center = arena.at(x + width / 2, y + height / 2);
    arena.rooms.push(RoomDraft { zone: ward, ..RoomDraft::new(min, max, center, (width * height) as u32) });
    Some(room)
}

/// Builds a block of rooms side by side on a free plot. Large blocks have corridors.
pub(crate) fn build_block(arena: &mut Arena, plot: Plot, masonry: &Masonry, ward: u8, rng: &mut Rng) {
    arena.plots.clear();
    arena.plots.push(plot);
    while let Some(plot) = arena.plots.pop() {
        let area = plot.width * plot.height;
        let is_large = area > masonry.room * rng.range(60, 150) / 100;
        let deep = masonry.room.isqrt();
        let has_corridor = area > 4 * masonry.room && plot.width.min(plot.height) >= 2 * deep;
        let corridor = if has_corridor { masonry.passage.max(1) } else { 0 };
        let mut cuts = (0..CUTS).filter(|_| is_large).filter_map(|_| cut(plot, corridor, rng));
        if let Some([first, between, second]) = cuts.find(|parts| masonry.stairs_stay(plot, parts)) {
            arena.plots.extend([first, second]);
            let _ = carve(arena, between, ward);
        } else {
            let _ = carve(arena, plot, ward);
        }
    }
}

/// Cuts a plot in two: along its longer side by a corridor of that width, or across it by a wall. The part between has
/// no cells if it is a wall.
fn cut(plot: Plot, corridor: i32, rng: &mut Rng) -> Option<[Plot; 3]> {
    let (longer, shorter) =
        if plot.width >= plot.height { (Side::West, Side::North) } else { (Side::North, Side::West) };
    // `longer` is the side that a wall is parallel to.
    let has_corridor = corridor > 0 && length(plot, longer) >= 2 * LEAST_ROOM + corridor + 2;
    let (side, gap, between) = if has_corridor { (shorter, corridor + 2, corridor) } else { (longer, 1, 0) };
    let deep = length(plot, if side == longer { shorter } else { longer });
    let (least, most) = ((deep * 35 / 100).max(LEAST_ROOM), (deep * 65 / 100).min(deep - gap - LEAST_ROOM));
    if most < LEAST_ROOM {
        return None;
    }
    let first = rng.range(least.min(most), most);
    let along = (0, length(plot, side));
    let second = first + gap;
    Some([
        strip(plot, side, along, (0, first)),
        strip(plot, side, along, (first + 1, between)),
        strip(plot, side, along, (second, deep - second)),
    ])
}

/// Builds a curtain wall along the inside of a plot, with towers, passages in the wall and a gatehouse on one side.
/// Returns the plot within it.
pub(crate) fn build_curtain(
    arena: &mut Arena,
    face: Plot,
    masonry: &Masonry,
    ward: u8,
    gate: Side,
    rng: &mut Rng,
) -> Plot {
    let thick = masonry.thick();
    let inside = face.inset(thick);
    // Stairs in the wall get a tower of their own.
    for at in masonry.stairs.into_iter().filter(|&at| face.holds(at) && !inside.holds(at)) {
        build_tower(arena, (at.x.into(), at.y.into()), masonry, ward, rng);
    }
    build_gatehouse(arena, face, masonry, ward, gate, rng);
    for side in Side::ALL {
        let far = length(face, side) - 1;
        let spans = (far / masonry.spacing).max(1);
        for i in 0..spans {
            // A tower at the first corner, then some between.
            let along = if i == 0 { thick / 2 } else { far * i / spans + rng.range(-2, 2) };
            let center = strip(face, side, (along, 1), (thick / 2, 1));
            build_tower(arena, (center.x, center.y), masonry, ward, rng);
        }
    }
    for side in Side::ALL {
        build_passages(arena, face, masonry, ward, side);
    }
    for side in Side::ALL {
        claim(arena, strip(face, side, (0, length(face, side)), (0, thick)));
    }
    inside
}

/// Builds a tower around a cell, if nothing is in its way.
pub(crate) fn build_tower(arena: &mut Arena, (x, y): (i32, i32), masonry: &Masonry, ward: u8, rng: &mut Rng) {
    let shape = Shape::draw(masonry.form, masonry.tower, masonry.tower, rng);
    let corner = |at: i32, taken: i32, side: usize| (at - taken / 2).min(side as i32 - 1 - taken).max(1);
    let (x, y) = (corner(x, shape.width, arena.width), corner(y, shape.height, arena.height));
    if arena.rooms.len() < MOST_ROOMS && fits(arena, &shape, x, y) {
        let tower = place(arena, &shape, x as usize, y as usize);
        arena.rooms[tower].zone = ward;
    }
}

/// Builds a way through the wall between two guard rooms.
fn build_gatehouse(arena: &mut Arena, face: Plot, masonry: &Masonry, ward: u8, side: Side, rng: &mut Rng) {
    let (far, breadth) = (length(face, side), rng.range(2, 3));
    let taken = breadth + 2 * (GUARD_ROOM + 1);
    for _ in 0..GATE_TRIES {
        let along = rng.range(far / 5, far * 4 / 5 - taken);
        // The guard rooms reach one cell into the yard.
        let across = (1, masonry.thick() - 1);
        if along < 1 || !is_free(arena, strip(face, side, (along, taken), across)) {
            continue;
        }
        let way = strip(face, side, (along + GUARD_ROOM + 1, breadth), (1, masonry.thick() - 2));
        let _ = carve(arena, way, ward | GATE);
        for along in [along, along + GUARD_ROOM + breadth + 2] {
            let _ = carve(arena, strip(face, side, (along, GUARD_ROOM), across), ward);
        }
        return;
    }
}

/// Carves passages in the wall on that side, between what stands in it.
fn build_passages(arena: &mut Arena, face: Plot, masonry: &Masonry, ward: u8, side: Side) {
    let across = (masonry.stone, masonry.passage);
    let last = length(face, side) - 1;
    let mut start = 1;
    for along in 1..=last {
        if along < last && masonry.passage > 0 && is_free(arena, strip(face, side, (along, 1), across)) {
            continue;
        }
        if along - start >= LEAST_PASSAGE {
            let _ = carve(arena, strip(face, side, (start, along - start), across), ward);
        }
        start = along + 1;
    }
}

/// Makes yards of the free cells of a plot: each connected part is one. `columns` gives the first column of a row and
/// the one after its last.
pub(crate) fn open_yards(arena: &mut Arena, plot: Plot, ward: u8, columns: impl Fn(i32) -> (i32, i32)) {
    let Arena { runs, claimed, terrain, region, rooms, scratch, marks, width, height, .. } = arena;
    let (width, height) = (*width, *height);
    runs.label((width, height), |y, x| {
        if !(plot.y..plot.y + plot.height).contains(&(y as i32)) {
            return None;
        }
        let (first, end) = columns(y as i32);
        let end = end.min(plot.x + plot.width) as usize;
        let from = claimed.next_unset(y, x.max(first.max(plot.x) as usize)).filter(|&from| from < end)?;
        Some((from, claimed.next_set(y, from).unwrap_or(end).min(end)))
    });
    // The room of each component, by its root.
    marks.clear();
    marks.resize(runs.len(), 0);
    scratch.reset(width, height);
    let mut longest = [0; MAX_ROOMS + 1];
    for run in 0..runs.len() {
        let root = runs.root(run);
        if runs.cells(root) < LEAST_YARD || (marks[root] == 0 && rooms.len() >= MOST_ROOMS) {
            continue;
        }
        let (y, from, to) = runs.place(run);
        let (min, max) = (Point { x: from as u16, y: y as u16 }, Point { x: (to - 1) as u16, y: y as u16 });
        if marks[root] == 0 {
            rooms.push(RoomDraft { zone: ward | YARD, ..RoomDraft::new(min, max, 0, runs.cells(root)) });
            marks[root] = rooms.len() as u8;
        }
        let room = &mut rooms[usize::from(marks[root]) - 1];
        room.min = Point { x: room.min.x.min(min.x), y: room.min.y };
        room.max = Point { x: room.max.x.max(max.x), y: max.y };
        let longest = &mut longest[usize::from(marks[root])];
        if to - from > *longest {
            *longest = to - from;
            room.center = y * width + usize::midpoint(from, to);
        }
        terrain[y * width + from..y * width + to].fill(Terrain::Floor);
        region[y * width + from..y * width + to].fill(marks[root]);
        scratch.insert_run(y, from, to);
    }
    claimed.insert_around(scratch, height);
}

/// Whether the room is a yard.
pub(crate) const fn is_yard(draft: &RoomDraft) -> bool {
    draft.zone & YARD != 0
}

/// Floods the rock of a plot that touches nothing but yards. Corridors there become bridges. `columns` gives the first
/// column of a row and the one after its last, and the same of the ground within the moat.
pub(crate) fn dig_moat(arena: &mut Arena, plot: Plot, deep: Terrain, columns: impl Fn(i32) -> [(i32, i32); 2] + Clone) {
    let rows = plot.y.max(1)..(plot.y + plot.height).min(arena.height as i32 - 1);
    let last = arena.width as i32 - 1;
    let cells = rows.flat_map(|y| {
        let [(first, end), (inner, inner_end)] = columns(y);
        (first.max(1)..inner.min(end)).chain(inner_end.max(first)..end.min(last)).map(move |x| (x as usize, y as usize))
    });
    for (x, y) in cells.clone() {
        let at = arena.at(x, y);
        let touches = arena.ring(at).into_iter().any(|there| {
            arena.terrain[there].is_door() || arena.room_at(there).is_some_and(|room| !is_yard(&arena.rooms[room]))
        });
        if arena.terrain[at] == Terrain::Wall && !touches {
            arena.terrain[at] = deep;
        }
    }
    for (x, y) in cells {
        let at = arena.at(x, y);
        let is_over = arena.ring(at).into_iter().any(|there| arena.terrain[there] == deep);
        if arena.terrain[at] == Terrain::Floor && arena.region[at] == 0 && is_over {
            arena.terrain[at] = Terrain::Bridge;
        }
    }
}

/// Frees the rock that pieces kept for themselves, except beside open cells.
pub(crate) fn release_rock(arena: &mut Arena) {
    let Arena { claimed, terrain, scratch, width, height, .. } = arena;
    let (width, height) = (*width, *height);
    scratch.reset(width, height);
    for (y, row) in terrain.chunks_exact(width).enumerate() {
        for (cells, word) in row.chunks(64).zip(scratch.row_mut(y)) {
            *word = cells.iter().rev().fold(0, |word, &cell| word << 1 | u64::from(cell != Terrain::Wall));
        }
    }
    claimed.reset(width, height);
    claimed.insert_around(scratch, height);
}

/// Joins all rooms by a tree of doors: through gatehouses rather than walls, and from room to room rather than through
/// yards.
pub(crate) fn join_all(arena: &mut Arena, rng: &mut Rng) -> Result<(), LayoutRejected> {
    list_doorways(arena, rng);
    let mut components = Components::singletons(arena.rooms.len());
    for i in 0..arena.doorways.len() {
        let Doorway { gate, from, to, side, .. } = arena.doorways[i];
        let (room, gate) = (usize::from(from), gate as usize);
        let is_wall = arena.terrain[gate] == Terrain::Wall && is_flanked(arena, gate, side);
        if components.connected(room, to.into()) || !is_wall {
            continue;
        }
        if let Some(hit) = cast_ray(arena, room, gate, side, REACH)
            && components.join(room, hit.room)
        {
            join(arena, (room, hit.room), gate, side, hit.corridor, Terrain::Door);
        }
    }
    for room in 0..arena.rooms.len() {
        while !components.connected(room, 0) {
            let there = join_to_nearest(arena, room, &mut components, rng);
            components.join(room, there.ok_or(LayoutRejected("a room without a door"))?);
        }
    }
    Ok(())
}

/// Digs a corridor to one of the nearest rooms that the room is not joined to.
fn join_to_nearest(arena: &mut Arena, room: usize, components: &mut Components, rng: &mut Rng) -> Option<usize> {
    let center = arena.rooms[room].center;
    connect_to_nearest(arena, room, (center, NEAREST), |_, there| !components.connected(room, there), rng)
}

/// Lists doorways that face another room, the cheapest first.
fn list_doorways(arena: &mut Arena, rng: &mut Rng) {
    arena.doorways.clear();
    for room in 0..arena.rooms.len() {
        for side in Side::ALL {
            let draft = &arena.rooms[room];
            let cells = if side.is_level() { draft.height() } else { draft.width() };
            for _ in 0..(2 + cells / 14).min(5) {
                let Some(gate) = doorway(arena, room, side, rng) else { continue };
                let Some(hit) = cast_ray(arena, room, gate, side, REACH) else { continue };
                let cost = cost(arena, (room, hit.room), hit.corridor, rng);
                arena.doorways.push(Doorway { cost, gate: gate as u32, from: room as u8, to: hit.room as u8, side });
            }
        }
    }
    arena.doorways.sort_unstable_by_key(|doorway| (doorway.cost, doorway.gate));
}

fn cost(arena: &Arena, (from, to): (usize, usize), corridor: usize, rng: &mut Rng) -> u32 {
    let (a, b) = (arena.rooms[from].zone, arena.rooms[to].zone);
    let gate = (a | b) & GATE != 0;
    let into_yard = (a ^ b) & YARD != 0 && !gate;
    let through_wall = (a ^ b) & !(YARD | GATE) != 0 && !gate;
    rng.below(1_000)
        + corridor as u32 * COST_OF_A_CELL
        + if into_yard { COST_INTO_YARD } else { 0 }
        + if through_wall { COST_THROUGH_WALL } else { 0 }
}
