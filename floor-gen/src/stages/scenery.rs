//! What the rooms look like inside: pillars, water, grass, rubble. Nothing here ever cuts a way: a cell is made
//! impassable only while its passable neighbours stay joined around it.

use crate::arena::Arena;
use crate::floor::{RoomRole, Terrain};
use crate::rng::Rng;
use crate::spec::{FloorSpec, Kind};
use crate::theme::{Ground, Theme};

/// Rooms of fewer cells stay bare.
const LEAST_AREA: u32 = 20;
/// Rooms of fewer cells hold no lake and no row of pillars.
const LEAST_AREA_OF_LAKE: u32 = 48;
/// Half the greatest width and height of a patch or lake, in cells: each row of one costs two runs on the wire.
const MOST_REACH: (i32, i32) = (9, 4);
/// Rooms shorter than this hold no rift, in cells.
const LEAST_LENGTH_OF_RIFT: usize = 10;

/// Dresses every room as its theme and role want it.
pub(crate) fn dress(arena: &mut Arena, spec: &FloorSpec, rng: &mut Rng) {
    let ground = Theme::of_number(spec.number()).ground();
    // Nobody raises pillars in a cave.
    let built = spec.kind() != Kind::Cavern;
    for room in 0..arena.rooms.len() {
        let chamber = arena.rooms[room];
        if chamber.set_piece {
            continue;
        }
        // The center is where a walker must get to; it stays what it is.
        let was_taken = arena.is_taken(chamber.center);
        arena.take(chamber.center);
        match chamber.role {
            RoomRole::Boss => stage_a_fight(arena, room, &ground, rng),
            RoomRole::Shop | RoomRole::Shrine if built => pillars(arena, room),
            _ if chamber.area >= LEAST_AREA => dress_one(arena, room, &ground, built, rng),
            _ => {}
        }
        if !was_taken {
            arena.release(chamber.center);
        }
    }
}

/// One thing that a climber remembers the room by, or nothing.
fn dress_one(arena: &mut Arena, room: usize, ground: &Ground, built: bool, rng: &mut Rng) {
    let roomy = arena.rooms[room].area >= LEAST_AREA_OF_LAKE;
    match rng.below(100) {
        0..10 if roomy => lake(arena, room, ground.deep, rng),
        10..16 if roomy => rift(arena, room, ground.deep, rng),
        16..26 if roomy && built => pillars(arena, room),
        26..46 => patch(arena, room, ground.cover[0], rng),
        46..56 => patch(arena, room, ground.cover[1], rng),
        _ => {}
    }
}

/// A pond or a pit. Water is shallow at its shore.
fn lake(arena: &mut Arena, room: usize, deep: Terrain, rng: &mut Rng) {
    let blob = Blob::within(arena, room, rng);
    if deep == Terrain::DeepWater {
        blob.each(arena, |arena, at| lay(arena, room, at, Terrain::ShallowWater));
    }
    blob.shrunk().each(arena, |arena, at| sink(arena, room, at, deep));
}

/// A band across the room's short side, with a bridge over it.
fn rift(arena: &mut Arena, room: usize, deep: Terrain, rng: &mut Rng) {
    let chamber = arena.rooms[room];
    let lies_broad = chamber.width() >= chamber.height();
    let (along, across) =
        if lies_broad { (chamber.width(), chamber.height()) } else { (chamber.height(), chamber.width()) };
    if along < LEAST_LENGTH_OF_RIFT || across < 5 {
        return;
    }
    let breadth = 2 + rng.index(2);
    let start = along / 3 + rng.index(along / 3);
    let bridge = across / 4 + rng.index(across / 2);
    let cell = |along: usize, across: usize| {
        let (x, y) = if lies_broad { (along, across) } else { (across, along) };
        (usize::from(chamber.min.x) + x, usize::from(chamber.min.y) + y)
    };
    // The bridge first: what is sunk beside it may then part the room.
    for i in start..start + breadth {
        let (x, y) = cell(i, bridge);
        lay(arena, room, arena.at(x, y), Terrain::Bridge);
    }
    for j in 0..across {
        for i in start..start + breadth {
            let (x, y) = cell(i, j);
            sink(arena, room, arena.at(x, y), deep);
        }
    }
    // A bridge over nothing is ground.
    for i in start..start + breadth {
        let (x, y) = cell(i, bridge);
        let at = arena.at(x, y);
        let over = arena.neighbours(at).into_iter().any(|there| arena.terrain[there] == deep);
        if arena.terrain[at] == Terrain::Bridge && !over {
            arena.terrain[at] = Terrain::Floor;
        }
    }
}

/// Two rows of pillars along the room, evenly from both ends.
fn pillars(arena: &mut Arena, room: usize) {
    let chamber = arena.rooms[room];
    let (width, height) = (chamber.width(), chamber.height());
    if width < 7 || height < 5 {
        return;
    }
    let gap = if (width - 5) % 4 == 0 { 4 } else { 3 };
    for offset in (2..width / 2).step_by(gap) {
        for x in [offset, width - 1 - offset] {
            for y in [1, height - 2] {
                raise(arena, room, usize::from(chamber.min.x) + x, usize::from(chamber.min.y) + y);
            }
        }
    }
}

/// What makes a fight with a boss more than an exchange of blows: cover to hide behind, or ground to be driven into.
fn stage_a_fight(arena: &mut Arena, room: usize, ground: &Ground, rng: &mut Rng) {
    let chamber = arena.rooms[room];
    let (width, height) = (chamber.width(), chamber.height());
    let quarter = (width / 4, height / 4);
    let pools = width.min(height) >= 9 && rng.chance(500);
    for x in [quarter.0, width - 1 - quarter.0] {
        for y in [quarter.1, height - 1 - quarter.1] {
            let (x, y) = (usize::from(chamber.min.x) + x, usize::from(chamber.min.y) + y);
            if pools {
                let reach = ((quarter.0 / 2).max(1) as i32, (quarter.1 / 2).max(1) as i32);
                Blob { x: x as i32, y: y as i32, reach }.each(arena, |arena, at| sink(arena, room, at, ground.deep));
            } else {
                let size = if width.min(height) >= 12 { 2 } else { 1 };
                for i in 0..size * size {
                    raise(arena, room, x + i % size, y + i / size);
                }
            }
        }
    }
}

/// Ground cover, in one piece and broad, so that it reads as a patch and costs few runs.
fn patch(arena: &mut Arena, room: usize, cover: Terrain, rng: &mut Rng) {
    Blob::within(arena, room, rng).each(arena, |arena, at| lay(arena, room, at, cover));
}

/// A pillar, if it stands free of the walls and cuts nothing.
fn raise(arena: &mut Arena, room: usize, x: usize, y: usize) {
    let at = arena.at(x, y);
    let free = arena.neighbours(at).into_iter().all(|there| arena.region[there] == arena.region[at]);
    if free && stays_joined(arena, at) {
        lay(arena, room, at, Terrain::Pillar);
    }
}

/// Makes a cell impassable, if that cuts nothing.
fn sink(arena: &mut Arena, room: usize, at: usize, deep: Terrain) {
    if stays_joined(arena, at) {
        lay(arena, room, at, deep);
    }
}

/// Changes bare ground of the room, and leaves all else.
fn lay(arena: &mut Arena, room: usize, at: usize, terrain: Terrain) {
    let ground = matches!(arena.terrain[at], Terrain::Floor | Terrain::ShallowWater);
    if ground && arena.room_at(at) == Some(room) && !arena.is_taken(at) {
        arena.terrain[at] = terrain;
    }
}

/// Whether the passable cells beside `at` stay joined, through the eight cells around it, when `at` is no longer
/// passable: then no walk is cut, whatever the rest of the floor looks like. (The test for a simple point of digital
/// topology: Kong and Rosenfeld, "Digital topology: introduction and survey", 1989.)
pub(crate) fn stays_joined(arena: &Arena, at: usize) -> bool {
    let w = arena.width;
    // Clockwise from the north; even places are the four neighbours.
    let ring = [at - w, at - w + 1, at + 1, at + w + 1, at + w, at + w - 1, at - 1, at - w - 1];
    let mut open = 0u32;
    for (i, there) in ring.into_iter().enumerate() {
        open |= u32::from(may_be_walked(arena.terrain[there])) << i;
    }
    one_arc(open)
}

/// Passable, or so once a key is held or a search made.
const fn may_be_walked(terrain: Terrain) -> bool {
    terrain.passable() || matches!(terrain, Terrain::LockedDoor | Terrain::SecretDoor)
}

/// Whether all open neighbours (even bits) lie in one arc of open cells around the ring of eight.
const fn one_arc(open: u32) -> bool {
    // An arc that holds a neighbour begins where the cell before it is shut. A lone corner is no arc: nobody walks
    // diagonally. Count arcs by the neighbours whose arc, followed back, begins with them or with the corner before.
    let mut arcs = 0;
    let mut neighbours = 0;
    let mut i = 0;
    while i < 8 {
        if open >> i & 1 == 1 {
            neighbours += 1;
            let corner = open >> ((i + 7) % 8) & 1 == 1;
            let before = open >> ((i + 6) % 8) & 1 == 1;
            if !(corner && before) {
                arcs += 1;
            }
        }
        i += 2;
    }
    neighbours > 0 && arcs <= 1
}

/// An ellipse of cells.
#[derive(Debug, Clone, Copy)]
struct Blob {
    x: i32,
    y: i32,
    /// Half its width and height, in cells.
    reach: (i32, i32),
}

impl Blob {
    /// One that fits about half of the room, somewhere in it.
    fn within(arena: &Arena, room: usize, rng: &mut Rng) -> Self {
        let chamber = &arena.rooms[room];
        let (width, height) = (chamber.width() as i32, chamber.height() as i32);
        let reach = (
            rng.range(width / 5, width / 3).clamp(2, MOST_REACH.0),
            rng.range(height / 5, height / 3).clamp(1, MOST_REACH.1),
        );
        let x = i32::from(chamber.min.x) + rng.range(width / 4, 3 * width / 4);
        let y = i32::from(chamber.min.y) + rng.range(height / 4, 3 * height / 4);
        Self { x, y, reach }
    }

    /// The same, a cell less on every side.
    fn shrunk(self) -> Self {
        Self { reach: ((self.reach.0 - 1).max(1), (self.reach.1 - 1).max(0)), ..self }
    }

    /// Every cell of it inside the border: the middle row, then the rows above and below it by turns. In this order a
    /// blob that sinks stays one blob, since each cell has all its passable neighbours on one side.
    fn each(self, arena: &mut Arena, mut change: impl FnMut(&mut Arena, usize)) {
        let (a, b) = (2 * self.reach.0 + 1, 2 * self.reach.1 + 1);
        let outward = (1..=self.reach.1).flat_map(|dy| [dy, -dy]);
        for dy in core::iter::once(0).chain(outward) {
            for dx in -self.reach.0..=self.reach.0 {
                let inside = (2 * dx * b).pow(2) + (2 * dy * a).pow(2) <= (a * b).pow(2);
                let (x, y) = (self.x + dx, self.y + dy);
                let (w, h) = (arena.width as i32, arena.height as i32);
                if inside && (1..w - 1).contains(&x) && (1..h - 1).contains(&y) {
                    let at = arena.at(x as usize, y as usize);
                    change(arena, at);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_arc_is_one_when_its_neighbours_meet_around_the_ring() {
        for open in 0..256u32 {
            // Walk the ring of eight: which neighbours hang together through open cells in between?
            let mut group: [usize; 8] = core::array::from_fn(|i| i);
            for _ in 0..8 {
                for i in 0..8 {
                    let next = (i + 1) % 8;
                    if open >> i & 1 == 1 && open >> next & 1 == 1 {
                        let least = group[i].min(group[next]);
                        (group[i], group[next]) = (least, least);
                    }
                }
            }
            let mut groups: alloc::vec::Vec<usize> =
                (0..8).step_by(2).filter(|i| open >> i & 1 == 1).map(|i| group[i]).collect();
            groups.sort_unstable();
            groups.dedup();
            assert_eq!(one_arc(open), groups.len() == 1, "{open:08b}");
        }
    }
}
