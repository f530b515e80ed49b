//! The avenues of an event: wide ways that lead from its court outwards, straight, bent or curved, to squares and halls.

use crate::arena::{Arena, ConnectionDraft, MAX_ROOMS, RoomDraft, Side};
use crate::floor::{RoomRole, Terrain};
use crate::kinds::court::{self, CLEARANCE, Court, Rect, shorter_side};
use crate::plan::Plan;
use crate::rng::Rng;
use crate::stages::accrete::{self, RoomParams, doorway, doorway_on, join};

/// Tries for each avenue, and for the hall at its end.
const TRIES: usize = 6;
const TRIES_OF_END: usize = 3;
/// The most avenues that a pack may set.
const MOST_AVENUES: usize = 8;
/// The width of the narrowest and of the widest avenue, in cells.
const LEAST_WIDTH: i32 = 2;
const MOST_WIDTH: i32 = 8;
/// The least length of an avenue, in steps.
const LEAST_LENGTH: usize = 5;

/// How an avenue turns.
#[derive(Debug, Clone, Copy)]
enum Turn {
    Straight,
    /// Once, at its end.
    Bent,
    /// Half way, and back.
    Offset,
    /// More and more.
    Curved,
    /// To one side and back.
    Winding,
}

/// The course of an avenue: so many steps onward, and at the end so many aside.
#[derive(Debug, Clone, Copy)]
struct Course {
    turn: Turn,
    length: i32,
    aside: i32,
}

impl Course {
    /// A course from that cell of the floor.
    fn draw(arena: &Arena, start: usize, side: Side, rng: &mut Rng) -> Self {
        let event = arena.params.event;
        let (x, y) = (arena.column(start), arena.row(start));
        let (free, line, breadth) = match side {
            Side::North => (y, x, arena.width),
            Side::South => (arena.height - y, x, arena.width),
            Side::West => (x, y, arena.height),
            Side::East => (arena.width - x, y, arena.height),
        };
        let length = free as i32 * rng.range(event.length_least as i32, event.length_most as i32) / 100;
        let weights = [event.straight, event.bent, event.offset, event.curved, event.winding];
        let turn = [Turn::Straight, Turn::Bent, Turn::Offset, Turn::Curved, Turn::Winding][rng.weighted(&weights)];
        let aside = rng.range(1, breadth as i32 - 2) - line as i32;
        Self { turn, length, aside: if matches!(turn, Turn::Bent) { aside } else { aside.clamp(-length, length) } }
    }

    /// The steps aside after `t` steps onward.
    fn aside_after(self, t: i32) -> i32 {
        let (t, length, aside) = (i64::from(t), i64::from(self.length.max(1)), i64::from(self.aside));
        let steps = match self.turn {
            Turn::Straight => 0,
            Turn::Bent => aside * i64::from(t == length),
            Turn::Offset => aside * i64::from(2 * t >= length),
            Turn::Curved => aside * t * t / (length * length),
            Turn::Winding => aside * t * t * (3 * length - 2 * t) / (length * length * length),
        };
        steps as i32
    }
}

/// What carves an avenue, step by step.
#[derive(Debug, Clone, Copy)]
struct Brush {
    side: Side,
    width: i32,
}

impl Brush {
    fn draw(arena: &Arena, side: Side, rng: &mut Rng) -> Self {
        let event = arena.params.event;
        let share = rng.range(event.avenue_least as i32, event.avenue_most as i32);
        Self { side, width: (shorter_side(arena) * share / 1_000).clamp(LEAST_WIDTH, MOST_WIDTH) }
    }

    /// The cells that it opens at a step: that cell, and others beside it and onward.
    fn cells(self, arena: &Arena, at: usize) -> Rect {
        let behind = at.wrapping_add_signed(arena.step(self.side.opposite()));
        let (x, y) = (arena.column(behind) as i32, arena.row(behind) as i32);
        let line = if self.side.is_level() { y } else { x };
        Rect { x, y, width: 1, height: 1 }.beside((self.side, line), self.width, self.width)
    }

    /// Lists the steps of an avenue in `cell_list`, until it ends or meets something.
    fn list_steps(self, arena: &mut Arena, plan: &Plan<'_>, start: usize, rng: &mut Rng) {
        let course = Course::draw(arena, start, self.side, rng);
        let (onward, across) = (arena.step(self.side), if self.side.is_level() { arena.width as isize } else { 1 });
        arena.cell_list.clear();
        let (mut at, mut aside) = (start, 0);
        for t in 0..=course.length {
            loop {
                let cells = self.cells(arena, at);
                if arena.region[at] != 0 || !cells.is_free(arena) || cells.covers_stairs(plan, CLEARANCE) {
                    return;
                }
                arena.cell_list.push(at as u32);
                let turn = (course.aside_after(t) - aside).signum();
                if turn == 0 {
                    break;
                }
                aside += turn;
                at = at.wrapping_add_signed(across * turn as isize);
            }
            at = at.wrapping_add_signed(onward);
        }
    }

    /// Carves the listed steps as the next room.
    fn carve(self, arena: &mut Arena) -> usize {
        let room = arena.rooms.len();
        let mut draft = RoomDraft::without_cells(RoomRole::Passage);
        draft.center = arena.cell_list[arena.cell_list.len() / 2] as usize;
        for i in 0..arena.cell_list.len() {
            let Rect { x, y, .. } = self.cells(arena, arena.cell_list[i] as usize);
            for (x, y) in (y..y + self.width).flat_map(|y| (x..x + self.width).map(move |x| (x, y))) {
                let at = arena.at(x as usize, y as usize);
                if arena.region[at] == 0 {
                    (arena.terrain[at], arena.region[at]) = (Terrain::Floor, room as u8 + 1);
                    draft.add_cell(x as u16, y as u16);
                }
            }
        }
        arena.rooms.push(draft);
        room
    }
}

/// An avenue that is carved, but not claimed.
#[derive(Debug, Clone, Copy)]
struct Avenue {
    room: usize,
    /// The cells of its last step.
    tip: Rect,
    /// The side that it ends at, and the column or row of its end.
    heading: (Side, i32),
}

/// Lays the avenues of a court, and lists them and what they lead to in `room_list`.
pub(crate) fn lay_out(
    arena: &mut Arena,
    plan: &Plan<'_>,
    params: &RoomParams,
    (room, court): (usize, &Court),
    rng: &mut Rng,
) {
    let event = arena.params.event;
    let wanted = rng.range(event.avenues_least as i32, event.avenues_most as i32) as usize;
    let (first, mut laid) = (rng.index(4), 0);
    let mut open_ends = [None; MOST_AVENUES];
    for tried in 0..TRIES * wanted {
        if laid == wanted || arena.rooms.len() + 1 >= MAX_ROOMS {
            break;
        }
        let side = Side::ALL[(first + tried) % 4];
        if let Some(avenue) = lay(arena, plan, court, (room, side), rng) {
            arena.room_list.push(avenue.room as u8);
            if !build_square(arena, plan, court, avenue, rng) {
                open_ends[laid] = Some(avenue);
            }
            court::claim(arena, avenue.room);
            laid += 1;
        }
    }
    court::claim(arena, room);
    open_ends.into_iter().flatten().for_each(|avenue| build_hall(arena, params, avenue, rng));
}

/// Lays one avenue from that side of the court, if there is space.
fn lay(
    arena: &mut Arena,
    plan: &Plan<'_>,
    court: &Court,
    (from, side): (usize, Side),
    rng: &mut Rng,
) -> Option<Avenue> {
    let gate = doorway(arena, from, side, rng)?;
    if arena.claimed.contains(arena.column(gate), arena.row(gate)) {
        return None;
    }
    // A gate needs a straight wall.
    let is_gated = court.has_straight_sides() && rng.chance(arena.params.event.gate_chance);
    let start = if is_gated { gate.wrapping_add_signed(arena.step(side)) } else { gate };
    let brush = Brush::draw(arena, side, rng);
    brush.list_steps(arena, plan, start, rng);
    let [.., before, end] = arena.cell_list[..] else { return None };
    if arena.cell_list.len() < LEAST_LENGTH {
        return None;
    }
    let room = brush.carve(arena);
    if is_gated {
        join(arena, (from, room), gate, side, 0, Terrain::Door);
    } else {
        arena.connections.push(ConnectionDraft::open(from as u8, room as u8, None));
    }
    let (before, end) = (before as usize, end as usize);
    let last = Side::ALL.into_iter().find(|&last| before.wrapping_add_signed(arena.step(last)) == end);
    let last = last.unwrap_or(side);
    let line = if last.is_level() { arena.row(end) } else { arena.column(end) };
    Some(Avenue { room, tip: brush.cells(arena, end), heading: (last, line as i32) })
}

/// Builds a square at the end of an avenue; false if there is no space or none is drawn.
fn build_square(arena: &mut Arena, plan: &Plan<'_>, court: &Court, avenue: Avenue, rng: &mut Rng) -> bool {
    let square = Court::square(arena, &plan.theme().ground, avenue.tip, avenue.heading, rng);
    let bounds = square.bounds;
    let has_space = !bounds.touches(court.bounds) && !bounds.covers_stairs(plan, CLEARANCE) && bounds.is_free(arena);
    let is_built = has_space && rng.chance(arena.params.event.square_chance);
    if is_built {
        let room = square.carve(arena, RoomRole::Combat);
        court::claim(arena, room);
        arena.connections.push(ConnectionDraft::open(avenue.room as u8, room as u8, None));
        arena.room_list.push(room as u8);
    }
    is_built
}

/// Builds a hall at the end of an avenue, if there is space.
fn build_hall(arena: &mut Arena, params: &RoomParams, avenue: Avenue, rng: &mut Rng) {
    let (side, line) = avenue.heading;
    let Some(gate) = doorway_on(arena, avenue.room, side, line as usize) else { return };
    let near = RoomParams { corridor_chance: 0, ..*params };
    let hall = (0..TRIES_OF_END).find_map(|_| {
        let shape = accrete::draw_room(arena, params, rng);
        accrete::attach_at(arena, &near, (avenue.room, gate), side, &shape, rng)
    });
    arena.room_list.extend(hall.map(|hall| hall as u8));
}
