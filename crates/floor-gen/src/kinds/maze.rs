//! MAZE: a braided maze with rooms in it. Most of its dead ends are opened again; the others hold loot. Four families
//! differ in how the passages run.

use crate::arena::{Arena, ConnectionDraft, SEALED, Side};
use crate::floor::{RoomRole, Terrain};
use crate::plan::Plan;
use crate::rng::{Rng, Streams};
use crate::shape::{Form, Shape};
use crate::stages::accrete::place;
use crate::stages::gates::{self, LockCounts};
use crate::stages::kind_rules::KindRules;
use crate::stages::survey::LayoutRejected;
use crate::stages::{niches, territory};

/// The most rooms.
const MAX_ROOMS_OF_MAZE: usize = 120;
/// Additional spots, so that the smallest floor gets two rooms.
const MIN_SPOTS: usize = 60;

/// Floors with a shorter side have the least pitch and small rooms.
const SMALL: usize = 48;

/// Evenly spread crossings, with passages between neighbours.
#[derive(Debug, Clone, Copy)]
struct Lattice {
    columns: usize,
    rows: usize,
    /// Cells from one crossing to the next, across and down.
    pitch: (usize, usize),
    /// The cell of the first crossing.
    origin: (usize, usize),
}

/// A crossing that passages use.
const REACHED: u8 = 1;
/// A crossing inside a room.
const BUILT_ON: u8 = 2;

pub(crate) const RULES: KindRules = KindRules::BUILT;

pub(crate) fn lay_out(arena: &mut Arena, plan: &Plan<'_>, streams: &Streams<'_>) -> Result<(), LayoutRejected> {
    let rng = &mut streams.open("family");
    let family = draw_family(arena, streams, rng);
    let lattice = Lattice::over(arena, rng);
    let (entry, exit) = place_rooms(arena, plan, &lattice, family, &mut streams.open("rooms"))?;
    carve_passages(arena, &lattice, family, &mut streams.open("passages"));
    braid(arena, &lattice, &mut streams.open("braid"));
    streams.note("dead ends", arena.dead_ends.len());
    let rng = &mut streams.open("doors");
    let wanted = LockCounts::for_cells(arena, plan);
    arena.rooms[entry].role = RoomRole::Entry;
    arena.rooms[exit].role = RoomRole::Exit;
    choose_closed_rooms(arena, (entry, exit), wanted, rng);
    join_open_rooms(arena, &lattice, rng);
    join_closed_rooms(arena, &lattice, rng)?;
    niches::seal(arena, exit, wanted);
    gates::trace_path(arena, entry, exit)
}

impl Lattice {
    /// A lattice whose passages lie closer on small floors.
    fn over(arena: &Arena, rng: &mut Rng) -> Self {
        let maze = arena.params.maze;
        let most = if arena.width.min(arena.height) < SMALL { maze.pitch_least } else { maze.pitch_most };
        let pitch = rng.range(maze.pitch_least as i32, most as i32) as usize;
        let pitch = (pitch, pitch);
        let (columns, rows) = ((arena.width - 3) / pitch.0 + 1, (arena.height - 3) / pitch.1 + 1);
        let spare = (arena.width - 3 - (columns - 1) * pitch.0, arena.height - 3 - (rows - 1) * pitch.1);
        Self { columns, rows, pitch, origin: (1 + spare.0 / 2, 1 + spare.1 / 2) }
    }

    const fn count(&self) -> usize {
        self.columns * self.rows
    }

    const fn cell(&self, crossing: usize) -> (usize, usize) {
        let (column, row) = (crossing % self.columns, crossing / self.columns);
        (self.origin.0 + column * self.pitch.0, self.origin.1 + row * self.pitch.1)
    }

    /// The next crossing on that side.
    const fn neighbour(&self, crossing: usize, side: Side) -> Option<usize> {
        side.neighbour(crossing, (self.columns, self.rows))
    }
}

/// How the passages run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Family {
    /// Long and winding: recursive backtracking.
    Winding,
    /// Many short branches: a growing tree that goes on from any crossing.
    Bushy,
    /// Around the middle of the floor.
    Rings,
    /// Short passages between many rooms.
    Chambers,
}

fn draw_family(arena: &Arena, streams: &Streams<'_>, rng: &mut Rng) -> Family {
    let maze = arena.params.maze;
    let families = [Family::Winding, Family::Bushy, Family::Rings, Family::Chambers];
    let weights =
        [("winding", maze.winding), ("bushy", maze.bushy), ("rings", maze.rings), ("chambers", maze.chambers)];
    families[streams.draw(rng, "family", weights)]
}

/// Places the rooms of both stairs, then others on random blocks of the lattice. Returns the stairs' rooms.
fn place_rooms(
    arena: &mut Arena,
    plan: &Plan<'_>,
    lattice: &Lattice,
    family: Family,
    rng: &mut Rng,
) -> Result<(usize, usize), LayoutRejected> {
    let maze = arena.params.maze;
    let Arena { marks, width, height, .. } = arena;
    marks.clear();
    marks.resize(*width * *height, 0);
    let cells = *width * *height;
    let share = rng.range(100 - maze.spread as i32, 100 + maze.spread as i32) as usize;
    let cells_of_a_room = maze.cells as usize * share / if family == Family::Chambers { 170 } else { 100 };
    let wanted = (cells / arena.scaled(cells_of_a_room).max(1)).clamp(2, MAX_ROOMS_OF_MAZE);
    for cell in [plan.arrival, plan.departure] {
        let cell = (cell.x.into(), cell.y.into());
        let around = |size: usize, along: usize, at: usize, first: fn(&Lattice, usize) -> usize, rng: &mut Rng| {
            let fits = |&start: &usize| first(lattice, start) + 2 <= at && at + 2 <= first(lattice, start + size);
            let count = (0..along - size).filter(fits).count();
            (count > 0).then(|| (0..along - size).filter(fits).nth(rng.index(count))).flatten()
        };
        let built = (0..maze.spots).any(|_| {
            let (across, down) = draw_block(arena, lattice, rng);
            let left = around(across, lattice.columns, cell.0, |lattice, column| lattice.cell(column).0, rng);
            let row_of = |lattice: &Lattice, row: usize| lattice.cell(row * lattice.columns).1;
            let top = around(down, lattice.rows, cell.1, row_of, rng);
            left.zip(top).is_some_and(|corner| place_room(arena, lattice, corner, (across, down), rng))
        });
        if !built {
            return Err(LayoutRejected("no block of the maze around the stairs"));
        }
    }
    for _ in 0..wanted * maze.spots as usize + MIN_SPOTS {
        if arena.rooms.len() >= wanted {
            break;
        }
        let (across, down) = draw_block(arena, lattice, rng);
        let corner = (rng.index(lattice.columns - across), rng.index(lattice.rows - down));
        let _ = place_room(arena, lattice, corner, (across, down), rng);
    }
    Ok((0, 1))
}

/// The size of a block, in crossings. Blocks grow with the floor.
fn draw_block(arena: &Arena, lattice: &Lattice, rng: &mut Rng) -> (usize, usize) {
    let side = arena.width.min(arena.height);
    let largest = if side < SMALL { 3 } else { 4 + side / 200 };
    let along = |count: usize, rng: &mut Rng| 2 + rng.index(largest.min(count / 2) - 1);
    (along(lattice.columns, rng), along(lattice.rows, rng))
}

/// Builds a room on a block, with one cell of wall between it and the passages around it, if no other room is there.
fn place_room(
    arena: &mut Arena,
    lattice: &Lattice,
    (left, top): (usize, usize),
    (across, down): (usize, usize),
    rng: &mut Rng,
) -> bool {
    // The crossings on the edge of the room's block stay passages, those inside are built on.
    let mut rows = (top..=top + down).map(|row| row * lattice.columns + left);
    if rows.any(|first| arena.marks[first..=first + across].contains(&BUILT_ON)) {
        return false;
    }
    for row in top + 1..top + down {
        let first = row * lattice.columns + left;
        arena.marks[first + 1..first + across].fill(BUILT_ON);
    }
    let (x, y) = lattice.cell(top * lattice.columns + left);
    let (width, height) = (across * lattice.pitch.0 - 3, down * lattice.pitch.1 - 3);
    let shape = Shape::draw(Form::Hall, width as i32, height as i32, rng);
    let _ = place(arena, &shape, x + 2, y + 2);
    true
}

/// Carves passages to every crossing, as a growing tree (Buck, 2011): from the newest crossing it is recursive
/// backtracking. The lattice is connected, because rooms leave the crossings around them free.
fn carve_passages(arena: &mut Arena, lattice: &Lattice, family: Family, rng: &mut Rng) {
    let Some(start) = (0..lattice.count()).find(|&crossing| arena.marks[crossing] == 0) else { return };
    arena.marks[start] = REACHED;
    arena.cell_list.clear();
    arena.cell_list.push(start as u32);
    while !arena.cell_list.is_empty() {
        let newest = arena.cell_list.len() - 1;
        let jumps = family == Family::Bushy && rng.chance(arena.params.maze.jumps);
        let pick = if jumps { rng.index(newest + 1) } else { newest };
        let here = arena.cell_list[pick] as usize;
        let mut sides = [Side::North; 4];
        let mut count = 0;
        for side in Side::ALL {
            if lattice.neighbour(here, side).is_some_and(|there| arena.marks[there] == 0) {
                sides[count] = side;
                count += 1;
            }
        }
        if count == 0 {
            arena.cell_list.swap_remove(pick);
            continue;
        }
        let mut side = sides[rng.index(count)];
        if family == Family::Rings && rng.chance(arena.params.maze.tangential) {
            // Level passages north and south of the middle, upright ones beside it.
            let (x, y) = (2 * (here % lattice.columns), 2 * (here / lattice.columns));
            let is_level = x.abs_diff(lattice.columns) * lattice.rows < y.abs_diff(lattice.rows) * lattice.columns;
            side = sides[..count].iter().copied().find(|side| side.is_level() == is_level).unwrap_or(side);
        }
        if let Some(there) = lattice.neighbour(here, side) {
            arena.marks[there] = REACHED;
            dig_passage(arena, lattice, here, side);
            arena.cell_list.push(there as u32);
        }
    }
}

/// Carves the passage from a crossing to the next one on that side.
fn dig_passage(arena: &mut Arena, lattice: &Lattice, crossing: usize, side: Side) {
    let (x, y) = lattice.cell(crossing);
    let at = arena.at(x, y);
    let length = if side.is_level() { lattice.pitch.0 } else { lattice.pitch.1 };
    arena.terrain[at] = Terrain::Floor;
    for at in arena.beyond(at, side, length) {
        arena.terrain[at] = Terrain::Floor;
    }
}

/// Opens most dead ends, and lists the others.
fn braid(arena: &mut Arena, lattice: &Lattice, rng: &mut Rng) {
    for crossing in 0..lattice.count() {
        if arena.marks[crossing] != REACHED {
            continue;
        }
        let (x, y) = lattice.cell(crossing);
        let at = arena.at(x, y);
        let is_open = |side: Side| arena.terrain[at.wrapping_add_signed(arena.step(side))] != Terrain::Wall;
        if Side::ALL.into_iter().filter(|&side| is_open(side)).count() != 1 {
            continue;
        }
        let leads_on =
            |side: Side| lattice.neighbour(crossing, side).is_some_and(|there| arena.marks[there] == REACHED);
        let first = rng.index(4);
        let side = (0..4).map(|i| Side::ALL[(first + i) % 4]).find(|&side| !is_open(side) && leads_on(side));
        match side {
            Some(side) if rng.chance(arena.params.maze.braid) => dig_passage(arena, lattice, crossing, side),
            _ => arena.dead_ends.push(at as u32),
        }
    }
}

/// Chooses the rooms that get only one door: the exit if it is locked, and the rooms that are to be closed.
fn choose_closed_rooms(arena: &mut Arena, (entry, exit): (usize, usize), wanted: LockCounts, rng: &mut Rng) {
    let Arena { room_list, rooms, .. } = arena;
    room_list.clear();
    room_list.extend((0..rooms.len()).filter(|&room| room != entry && room != exit).map(|room| room as u8));
    rng.shuffle(room_list);
    // Half of the rooms stay open.
    room_list.truncate(wanted.beside_exit().min(room_list.len() / 2));
    if wanted.locks > 0 {
        arena.rooms[exit].zone = SEALED;
    }
    for i in 0..arena.room_list.len() {
        let room = usize::from(arena.room_list[i]);
        arena.rooms[room].zone = SEALED;
    }
}

/// Gives every open room two or three doors and connects the rooms that the passages join. A room whose neighbours took
/// all crossings gets no door, and the layout is rejected later.
fn join_open_rooms(arena: &mut Arena, lattice: &Lattice, rng: &mut Rng) {
    arena.marks.fill(0);
    arena.cell_list.clear();
    for room in 0..arena.rooms.len() {
        if arena.rooms[room].zone == SEALED {
            continue;
        }
        let mut sides = Side::ALL;
        rng.shuffle(&mut sides);
        let wanted = 2 + rng.index(2);
        let mut made = 0;
        for side in sides {
            let (gate, outside) = door_site(arena, lattice, room, side, rng);
            if made < wanted && arena.marks[outside] == 0 {
                arena.open_cell(gate, Terrain::Door);
                arena.marks[outside] = room as u8 + 1;
                arena.cell_list.push(outside as u32);
                made += 1;
            }
        }
    }
    let Arena { marks, cell_list, terrain, region, width, connections, .. } = arena;
    territory::spread(marks, cell_list, *width, |at| terrain[at] == Terrain::Floor && region[at] == 0);
    territory::join_touching(marks, cell_list, *width, connections);
}

/// Gives every closed room its door, and connects it to the nearest open room.
fn join_closed_rooms(arena: &mut Arena, lattice: &Lattice, rng: &mut Rng) -> Result<(), LayoutRejected> {
    for room in 0..arena.rooms.len() {
        if arena.rooms[room].zone != SEALED {
            continue;
        }
        let (gate, outside) = door_site(arena, lattice, room, rng.pick(&Side::ALL), rng);
        let open_room = arena.marks[outside].checked_sub(1).ok_or(LayoutRejected("a passage without an open room"))?;
        arena.open_cell(gate, Terrain::Door);
        arena.connections.push(ConnectionDraft::open(room as u8, open_room, Some(gate as u32)));
    }
    Ok(())
}

/// A cell for a door on that side of a room, and the crossing before it.
fn door_site(arena: &Arena, lattice: &Lattice, room: usize, side: Side, rng: &mut Rng) -> (usize, usize) {
    let draft = &arena.rooms[room];
    // The walls of a room lie one cell inside the passages around it.
    let column = |x: u16, out: usize| (usize::from(x) + out - lattice.origin.0) / lattice.pitch.0;
    let row = |y: u16, out: usize| (usize::from(y) + out - lattice.origin.1) / lattice.pitch.1;
    let (left, right) = (column(draft.min.x - 2, 0), column(draft.max.x, 2));
    let (top, bottom) = (row(draft.min.y - 2, 0), row(draft.max.y, 2));
    let between = |rng: &mut Rng, first: usize, last: usize| first + 1 + rng.index(last - first - 1);
    let (column, row) = match side {
        Side::North => (between(rng, left, right), top),
        Side::South => (between(rng, left, right), bottom),
        Side::West => (left, between(rng, top, bottom)),
        Side::East => (right, between(rng, top, bottom)),
    };
    let (x, y) = lattice.cell(row * lattice.columns + column);
    let outside = arena.at(x, y);
    (outside.wrapping_add_signed(arena.step(side.opposite())), outside)
}
