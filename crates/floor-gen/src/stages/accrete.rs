//! Accretion: the floor grows room by room. Each new room is attached to an existing one by a door or a short corridor.
//! The idea is from Brian Walker's game Brogue.

use crate::arena::{Arena, ConnectionDraft, MAX_ROOMS, RoomDraft, Side};
use crate::floor::{Point, Terrain};
use crate::pack::params::Rooms;
use crate::plan::Plan;
use crate::rng::Rng;
use crate::shape::{Form, MAX_SHAPE, Shape};

/// The sizes and distances of rooms.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RoomParams {
    /// Rooms to grow.
    pub(crate) rooms: usize,
    /// Cells from one room to the next.
    pub(crate) pitch: i32,
    /// Smallest and largest width of a room, in cells.
    pub(crate) width: (i32, i32),
    /// Smallest and largest height of a room, in cells. Rooms are wide rather than high: cells of a terminal are twice
    /// as high as wide, and a row of equal cells is a run on the wire.
    pub(crate) height: (i32, i32),
    /// Longest corridor, in cells.
    pub(crate) corridor: i32,
    /// How often, in 1,000, a corridor leads to a new room.
    pub(crate) corridor_chance: u32,
    /// How often, in 1,000, a connection has a door and not an open arch.
    pub(crate) door_chance: u32,
}

/// Leaves room ids for vaults and other late additions.
const MAX_GROWN_ROOMS: usize = MAX_ROOMS - 19;
/// Rooms that a floor may have more than its number, to reach a quarter that has none.
const EXTRA: usize = 4;
/// Weights of what the core of a ring holds: rock, impassable ground, ground cover of either sort.
const CORES: [u32; 4] = [3, 5, 1, 1];
/// Rooms compared for one that is near such a quarter.
const COMPARED_TOWARD: usize = 5;

impl RoomParams {
    /// Settings for the arena's size, with the mean number of rooms.
    pub(crate) fn of(arena: &Arena) -> Self {
        Self::with_cells(arena, arena.params.rooms.cells)
    }

    /// The same with a number of rooms that differs from floor to floor.
    pub(crate) fn draw(arena: &Arena, rng: &mut Rng) -> Self {
        let Rooms { cells, spread, .. } = arena.params.rooms;
        Self::with_cells(arena, cells * rng.range(100 - spread as i32, 100 + spread as i32) as u32 / 100)
    }

    fn with_cells(arena: &Arena, cells_of_a_room: u32) -> Self {
        let numbers = arena.params.rooms;
        let share = |pitch: i32, percent: u32| pitch * percent as i32 / 100;
        let cells = arena.width * arena.height;
        let rooms = (cells / arena.scaled(cells_of_a_room as usize)).clamp(numbers.least as usize, MAX_GROWN_ROOMS);
        let pitch = (cells / rooms).isqrt() as i32;
        let (widest, highest) = (arena.width as i32 / 3, arena.height as i32 / 3);
        let side = |(least, most): (u32, u32), limit: i32| {
            (share(pitch, least).clamp(3, limit), share(pitch, most).clamp(4, limit).min(MAX_SHAPE))
        };
        Self {
            rooms,
            pitch: pitch.min(MAX_SHAPE),
            width: side((numbers.width_least, numbers.width_most), widest),
            height: side((numbers.height_least, numbers.height_most), highest),
            corridor: share(pitch, numbers.corridor).clamp(2, numbers.corridor_most as i32),
            corridor_chance: numbers.corridor_chance,
            door_chance: numbers.door_chance,
        }
    }
}

/// A random shape within the size limits.
pub(crate) fn draw_room(arena: &Arena, params: &RoomParams, rng: &mut Rng) -> Shape {
    let form = arena.params.rooms.forms.draw(rng);
    let width = rng.range(params.width.0, params.width.1);
    let height = rng.range(params.height.0, params.height.1);
    Shape::draw(form, width, height, rng)
}

/// The smallest room.
pub(crate) fn draw_closet(rng: &mut Rng) -> Shape {
    Shape::draw(Form::Hall, 3, 3, rng)
}

/// Grows rooms from those in `room_list` until there are enough or no room can take another. The second half of the rooms
/// leads to quarters of the floor that have none.
pub(crate) fn grow(arena: &mut Arena, params: &RoomParams, rng: &mut Rng) {
    let half = (arena.rooms.len() + params.rooms) / 2;
    while !arena.room_list.is_empty() {
        let grown = arena.rooms.len();
        let empty = if grown >= half { empty_quarter(arena) } else { None };
        if grown >= params.rooms && (empty.is_none() || grown >= params.rooms + EXTRA) {
            break;
        }
        let shape = draw_room(arena, params, rng);
        for tried in 0..arena.params.rooms.tries {
            if arena.room_list.is_empty() {
                break;
            }
            let (pick, side) = match empty.filter(|_| tried % 2 == 0) {
                Some(quarter) => side_toward(arena, quarter, rng),
                None => emptiest_side(arena, params, rng),
            };
            let parent = usize::from(arena.room_list[pick]);
            if let Some(room) = attach(arena, params, parent, side, &shape, rng) {
                arena.room_list.push(room as u8);
                break;
            }
            arena.rooms[parent].failed_attachments += 1;
            if arena.rooms[parent].failed_attachments >= arena.params.rooms.failures as u8 {
                arena.room_list.swap_remove(pick);
            }
        }
    }
}

/// The middle of a quarter of the floor in which no room has its center.
fn empty_quarter(arena: &Arena) -> Option<(usize, usize)> {
    let middle = (arena.width / 2, arena.height / 2);
    let mut held = [false; 4];
    for room in &arena.rooms {
        let (x, y) = (arena.column(room.center), arena.row(room.center));
        held[usize::from(x >= middle.0) + 2 * usize::from(y >= middle.1)] = true;
    }
    let quarter = held.iter().position(|&is_held| !is_held)?;
    Some((middle.0 / 2 + quarter % 2 * middle.0, middle.1 / 2 + quarter / 2 * middle.1))
}

/// Of a few rooms that may take a neighbour, the nearest to that place, and a side of it that faces the place.
fn side_toward(arena: &Arena, (x, y): (usize, usize), rng: &mut Rng) -> (usize, Side) {
    let off = |pick: usize| {
        let center = arena.rooms[usize::from(arena.room_list[pick])].center;
        (x as i32 - arena.column(center) as i32, y as i32 - arena.row(center) as i32)
    };
    let drawn = (0..COMPARED_TOWARD).map(|_| rng.index(arena.room_list.len()));
    let pick = drawn.min_by_key(|&pick| off(pick).0.abs() + off(pick).1.abs()).unwrap_or(0);
    let (dx, dy) = off(pick);
    let level = rng.below((dx.abs() + dy.abs()).max(1) as u32) < dx.unsigned_abs();
    let side = match (level, dx < 0, dy < 0) {
        (true, true, _) => Side::West,
        (true, false, _) => Side::East,
        (false, _, true) => Side::North,
        (false, ..) => Side::South,
    };
    (pick, side)
}

/// The emptiest of a few rooms and sides, so that the floor fills evenly.
fn emptiest_side(arena: &Arena, params: &RoomParams, rng: &mut Rng) -> (usize, Side) {
    let choices = (0..arena.params.rooms.compared).map(|_| {
        let (pick, side) = (rng.index(arena.room_list.len()), rng.pick(&Side::ALL));
        let draft = &arena.rooms[usize::from(arena.room_list[pick])];
        (claimed_beyond(arena, params, draft, side), pick, side)
    });
    choices.min_by_key(|&(built, ..)| built).map_or((0, Side::North), |(_, pick, side)| (pick, side))
}

/// How many cells of a window on that side of a room are claimed. Cells outside the floor count as claimed.
fn claimed_beyond(arena: &Arena, params: &RoomParams, draft: &RoomDraft, side: Side) -> u32 {
    let (width, height) = (params.pitch, params.pitch);
    let x = (i32::from(draft.min.x) + i32::from(draft.max.x) - width) / 2;
    let y = (i32::from(draft.min.y) + i32::from(draft.max.y) - height) / 2;
    let (x, y) = match side {
        Side::North => (x, i32::from(draft.min.y) - 1 - height),
        Side::South => (x, i32::from(draft.max.y) + 2),
        Side::West => (i32::from(draft.min.x) - 1 - width, y),
        Side::East => (i32::from(draft.max.x) + 2, y),
    };
    let left = x.clamp(0, arena.width as i32 - 1);
    let right = (x + width).clamp(left, arena.width as i32 - 1);
    let row_bits = (1u64 << (right - left)) - 1;
    let rows = (y..y + height).step_by(4);
    rows.map(|row| {
        if row < 0 || row >= arena.height as i32 {
            return width as u32;
        }
        let built = arena.claimed.window(left as usize, row as usize) & row_bits;
        built.count_ones() + (width - (right - left)) as u32
    })
    .sum()
}

/// Attaches a room of that shape to a side of room `parent`, by a door or a corridor. `None` if it does not fit.
pub(crate) fn attach(
    arena: &mut Arena,
    params: &RoomParams,
    parent: usize,
    side: Side,
    shape: &Shape,
    rng: &mut Rng,
) -> Option<usize> {
    let gate = doorway(arena, parent, side, rng)?;
    attach_at(arena, params, (parent, gate), side, shape, rng)
}

/// The same at a given doorway of the parent.
pub(crate) fn attach_at(
    arena: &mut Arena,
    params: &RoomParams,
    (parent, gate): (usize, usize),
    side: Side,
    shape: &Shape,
    rng: &mut Rng,
) -> Option<usize> {
    let site = find_site(arena, params, gate, side, shape, rng)?;
    Some(build(arena, params, parent, &site, shape, rng))
}

/// Where a room can be attached.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Site {
    /// The north-west corner of its box.
    pub(crate) x: i32,
    pub(crate) y: i32,
    gate: usize,
    side: Side,
    /// Cells between the gate and the room.
    corridor: i32,
}

/// A place for the shape beyond a doorway. `None` if it does not fit.
pub(crate) fn find_site(
    arena: &Arena,
    params: &RoomParams,
    gate: usize,
    side: Side,
    shape: &Shape,
    rng: &mut Rng,
) -> Option<Site> {
    let corridor = if rng.chance(params.corridor_chance) { rng.range(1, params.corridor) } else { 0 };
    let (x, y) = place_beyond(arena, gate, side, corridor, shape, rng)?;
    if arena.rooms.len() >= MAX_ROOMS || !fits(arena, shape, x, y) {
        return None;
    }
    let is_claimed = |at: usize| arena.claimed.contains(arena.column(at), arena.row(at));
    let is_free = !arena.beyond(gate, side, corridor as usize).any(is_claimed);
    is_free.then_some(Site { x, y, gate, side, corridor })
}

/// Builds a room there, and the connection to its parent.
pub(crate) fn build(
    arena: &mut Arena,
    params: &RoomParams,
    parent: usize,
    site: &Site,
    shape: &Shape,
    rng: &mut Rng,
) -> usize {
    let door = if rng.chance(params.door_chance) { Terrain::Door } else { Terrain::Floor };
    let room = place(arena, shape, site.x as usize, site.y as usize);
    join(arena, (parent, room), site.gate, site.side, site.corridor as usize, door);
    room
}

/// Digs a connection between two rooms: a gate next to the first, then `corridor` cells in a straight line.
pub(crate) fn join(
    arena: &mut Arena,
    (from, to): (usize, usize),
    gate: usize,
    side: Side,
    corridor: usize,
    door: Terrain,
) {
    arena.open_cell(gate, door);
    for at in arena.beyond(gate, side, corridor) {
        arena.open_cell(at, Terrain::Floor);
    }
    arena.connections.push(ConnectionDraft::open(from as u8, to as u8, Some(gate as u32)));
}

/// A random wall cell on that side of a room where a door may stand.
pub(crate) fn doorway(arena: &Arena, room: usize, side: Side, rng: &mut Rng) -> Option<usize> {
    let draft = &arena.rooms[room];
    let (first, count) = if side.is_level() { (draft.min.y, draft.height()) } else { (draft.min.x, draft.width()) };
    doorway_on(arena, room, side, usize::from(first) + rng.index(count))
}

/// The same in a given column (north and south) or row (east and west) of the room's box.
pub(crate) fn doorway_on(arena: &Arena, room: usize, side: Side, line: usize) -> Option<usize> {
    let draft = &arena.rooms[room];
    let mark = room as u8 + 1;
    let (mut at, depth) = match side {
        Side::North => (arena.at(line, draft.min.y.into()), draft.height()),
        Side::South => (arena.at(line, draft.max.y.into()), draft.height()),
        Side::West => (arena.at(draft.min.x.into(), line), draft.width()),
        Side::East => (arena.at(draft.max.x.into(), line), draft.width()),
    };
    let outward = arena.step(side);
    for _ in 0..depth {
        if arena.region[at] == mark {
            let gate = at.wrapping_add_signed(outward);
            return (arena.is_inside(gate) && arena.terrain[gate] == Terrain::Wall && is_flanked(arena, gate, side))
                .then_some(gate);
        }
        at = at.wrapping_add_signed(-outward);
    }
    None
}

/// Whether the two cells beside `at`, across the direction of `side`, are wall.
pub(crate) fn is_flanked(arena: &Arena, at: usize, side: Side) -> bool {
    let across = if side.is_level() { arena.width } else { 1 };
    arena.terrain[at - across] == Terrain::Wall && arena.terrain[at + across] == Terrain::Wall
}

/// The north-west corner of a shape that meets the connection with one of its outermost cells.
fn place_beyond(
    arena: &Arena,
    gate: usize,
    side: Side,
    corridor: i32,
    shape: &Shape,
    rng: &mut Rng,
) -> Option<(i32, i32)> {
    let edge = shape.edge(side.opposite());
    let offset = nth_bit(edge, rng.below(edge.count_ones()))?;
    let (x, y) = (arena.column(gate) as i32, arena.row(gate) as i32);
    Some(match side {
        Side::North => (x - offset, y - corridor - shape.height),
        Side::South => (x - offset, y + corridor + 1),
        Side::West => (x - corridor - shape.width, y - offset),
        Side::East => (x + corridor + 1, y - offset),
    })
}

/// The index of the `n`-th set bit.
pub(crate) fn nth_bit(mut bits: u64, n: u32) -> Option<i32> {
    for _ in 0..n {
        bits &= bits.wrapping_sub(1);
    }
    (bits != 0).then(|| bits.trailing_zeros() as i32)
}

/// Whether the shape lies inside the border and on no claimed cell.
pub(crate) fn fits(arena: &Arena, shape: &Shape, x: i32, y: i32) -> bool {
    let inside = x >= 1 && y >= 1 && x + shape.width < arena.width as i32 && y + shape.height < arena.height as i32;
    inside && shape.rows().iter().zip(y as usize..).all(|(row, y)| arena.claimed.window(x as usize, y) & row == 0)
}

/// Lays a ground over the core of a room that is a ring or a cloister, or leaves it rock. Cells of stairs stay rock.
pub(crate) fn fill_core(arena: &mut Arena, plan: &Plan<'_>, room: usize, rng: &mut Rng) {
    let of_theme = &plan.theme().ground;
    let ground = [Terrain::Wall, of_theme.deep, of_theme.cover[0], of_theme.cover[1]][rng.weighted(&CORES)];
    if ground == Terrain::Wall {
        return;
    }
    let RoomDraft { min, max, .. } = arena.rooms[room];
    let mark = room as u8 + 1;
    for y in usize::from(min.y)..=max.y.into() {
        let row = arena.at(0, y);
        let is_inside = |x: &usize| arena.region[row + x] == mark;
        let mut columns = usize::from(min.x)..usize::from(max.x) + 1;
        let (Some(first), Some(last)) = (columns.find(is_inside), columns.rfind(is_inside)) else { continue };
        for x in first..last {
            let is_stairs = [plan.arrival, plan.departure].contains(&Point { x: x as u16, y: y as u16 });
            if arena.terrain[row + x] == Terrain::Wall && !is_stairs {
                (arena.terrain[row + x], arena.region[row + x]) = (ground, mark);
                arena.rooms[room].area += 1;
            }
        }
    }
}

/// Carves a room and returns its id.
pub(crate) fn place(arena: &mut Arena, shape: &Shape, x: usize, y: usize) -> usize {
    let room = arena.rooms.len();
    let mark = room as u8 + 1;
    for (&row, y) in shape.rows().iter().zip(y..) {
        let start = arena.at(x, y);
        let mut bits = row;
        while bits != 0 {
            let from = bits.trailing_zeros() as usize;
            let run = (bits >> from).trailing_ones() as usize;
            arena.terrain[start + from..start + from + run].fill(Terrain::Floor);
            arena.region[start + from..start + from + run].fill(mark);
            bits &= !(((1u64 << run) - 1) << from);
        }
        // With what lies between two parts of a row, such as the core of a ring.
        let whole = (u64::MAX >> row.leading_zeros()) & (u64::MAX << row.trailing_zeros());
        let wide = whole | whole << 1 | whole << 2;
        for around in y - 1..=y + 1 {
            arena.claimed.insert_row(x - 1, around, wide);
        }
    }
    let (cx, cy) = shape.center();
    let center = arena.at(x + cx as usize, y + cy as usize);
    let min = Point { x: x as u16, y: y as u16 };
    let max = Point { x: (x as i32 + shape.width - 1) as u16, y: (y as i32 + shape.height - 1) as u16 };
    arena.rooms.push(RoomDraft::new(min, max, center, shape.area()));
    room
}
