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
/// The most avenues.
const MOST_AVENUES: usize = 8;
/// The width of the narrowest and of the widest avenue, in cells.
const LEAST_WIDTH: i32 = 2;
const MOST_WIDTH: i32 = 8;
/// The least length of an avenue, in steps.
const LEAST_LENGTH: usize = 5;

/// The course of an avenue.
#[derive(Debug, Clone, Copy)]
enum Course {
    Straight,
    /// Turns once, at its end.
    Bent,
    /// Turns half way, and back.
    Offset,
    /// Turns more and more.
    Curved,
    /// Curves to one side and back.
    Winding,
}

impl Course {
    fn draw(arena: &Arena, rng: &mut Rng) -> Self {
        let event = arena.params.event;
        let weights = [event.straight, event.bent, event.offset, event.curved, event.winding];
        [Self::Straight, Self::Bent, Self::Offset, Self::Curved, Self::Winding][rng.weighted(&weights)]
    }

    /// Cells beside its straight line after `t` of `length` steps, `aside` at the end.
    fn offset(self, t: i32, length: i32, aside: i32) -> i32 {
        let (t, length, aside) = (i64::from(t), i64::from(length.max(1)), i64::from(aside));
        let offset = match self {
            Self::Straight => 0,
            Self::Bent => aside * i64::from(t == length),
            Self::Offset => aside * i64::from(2 * t >= length),
            Self::Curved => aside * t * t / (length * length),
            Self::Winding => aside * t * t * (3 * length - 2 * t) / (length * length * length),
        };
        offset as i32
    }
}

/// An avenue that is carved, but not claimed.
#[derive(Debug, Clone, Copy)]
struct Avenue {
    room: usize,
    /// Its last step, and the cells that are open there.
    end: usize,
    tip: Rect,
    heading: Side,
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
        if laid == wanted.min(MOST_AVENUES) || arena.rooms.len() + 1 >= MAX_ROOMS {
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
fn lay(arena: &mut Arena, plan: &Plan<'_>, court: &Court, (from, side): (usize, Side), rng: &mut Rng) -> Option<Avenue> {
    let event = arena.params.event;
    let gate = doorway(arena, from, side, rng)?;
    if arena.claimed.contains(arena.column(gate), arena.row(gate)) {
        return None;
    }
    let share = rng.range(event.avenue_least as i32, event.avenue_most as i32);
    let width = (shorter_side(arena) * share / 1_000).clamp(LEAST_WIDTH, MOST_WIDTH);
    // A gate needs a straight wall.
    let is_gated = court.is_square() && rng.chance(event.gate_chance);
    let start = if is_gated { gate.wrapping_add_signed(arena.step(side)) } else { gate };
    list_steps(arena, plan, (start, side, width), rng);
    if arena.cell_list.len() < LEAST_LENGTH {
        return None;
    }
    let room = carve(arena, side, width);
    if is_gated {
        join(arena, (from, room), gate, side, 0, Terrain::Door);
    } else {
        arena.connections.push(ConnectionDraft::open(from as u8, room as u8, None));
    }
    let [.., before, end] = arena.cell_list[..] else { return None };
    let (before, end) = (before as usize, end as usize);
    let turned = Side::ALL.into_iter().find(|&side| before.wrapping_add_signed(arena.step(side)) == end);
    Some(Avenue { room, end, tip: brush(arena, end, side, width), heading: turned.unwrap_or(side) })
}

/// Lists the steps of an avenue until it ends or meets something.
fn list_steps(arena: &mut Arena, plan: &Plan<'_>, (start, side, width): (usize, Side, i32), rng: &mut Rng) {
    let event = arena.params.event;
    let (x, y) = (arena.column(start), arena.row(start));
    let free = match side {
        Side::North => y,
        Side::South => arena.height - y,
        Side::West => x,
        Side::East => arena.width - x,
    };
    let length = free as i32 * rng.range(event.reach_least as i32, event.reach_most as i32) / 100;
    let course = Course::draw(arena, rng);
    let (line, breadth) = if side.is_level() { (y, arena.height) } else { (x, arena.width) };
    let aside = rng.range(1, breadth as i32 - 2) - line as i32;
    let aside = if matches!(course, Course::Bent) { aside } else { aside.clamp(-length, length) };
    let (onward, across) = (arena.step(side), if side.is_level() { arena.width as isize } else { 1 });
    arena.cell_list.clear();
    let mut at = start;
    let mut beside = 0;
    for t in 0..=length {
        let goal = course.offset(t, length, aside);
        loop {
            let brush = brush(arena, at, side, width);
            if arena.region[at] != 0 || !brush.is_free(arena) || brush.covers_stairs(plan, CLEARANCE) {
                return;
            }
            arena.cell_list.push(at as u32);
            if beside == goal {
                break;
            }
            let turn = (goal - beside).signum();
            beside += turn;
            at = at.wrapping_add_signed(across * turn as isize);
        }
        at = at.wrapping_add_signed(onward);
    }
}

/// The cells that an avenue opens at one of its steps.
fn brush(arena: &Arena, at: usize, side: Side, width: i32) -> Rect {
    let (x, y) = (arena.column(at) as i32, arena.row(at) as i32);
    let (half, ahead) = ((width - 1) / 2, width - 1);
    let (x, y) = match side {
        Side::North => (x - half, y - ahead),
        Side::South => (x - half, y),
        Side::West => (x - ahead, y - half),
        Side::East => (x, y - half),
    };
    Rect { x, y, width, height: width }
}

/// Carves the listed steps as the next room.
fn carve(arena: &mut Arena, side: Side, width: i32) -> usize {
    let room = arena.rooms.len();
    let mut draft = RoomDraft::without_cells(RoomRole::Passage);
    draft.center = arena.cell_list[arena.cell_list.len() / 2] as usize;
    for i in 0..arena.cell_list.len() {
        let Rect { x, y, .. } = brush(arena, arena.cell_list[i] as usize, side, width);
        for row in y..y + width {
            let first = arena.at(x as usize, row as usize);
            for at in first..first + width as usize {
                if arena.region[at] == 0 {
                    (arena.terrain[at], arena.region[at]) = (Terrain::Floor, room as u8 + 1);
                    draft.add_cell(arena.point(at));
                }
            }
        }
    }
    arena.rooms.push(draft);
    room
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
fn build_hall(arena: &mut Arena, params: &RoomParams, Avenue { room, end, heading, .. }: Avenue, rng: &mut Rng) {
    let line = if heading.is_level() { arena.row(end) } else { arena.column(end) };
    let Some(gate) = doorway_on(arena, room, heading, line) else { return };
    let near = RoomParams { corridor_chance: 0, ..*params };
    let hall = (0..TRIES_OF_END).find_map(|_| {
        let shape = accrete::draw_room(arena, params, rng);
        accrete::attach_at(arena, &near, (room, gate), heading, &shape, rng)
    });
    arena.room_list.extend(hall.map(|hall| hall as u8));
}
