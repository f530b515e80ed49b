//! What the rooms look like inside: pillars, water, grass, rubble. Nothing here ever cuts a way: a cell is made
//! impassable only while its passable neighbours stay joined around it.

use crate::arena::Arena;
use crate::floor::{RoomRole, Terrain};
use crate::rng::Rng;

/// Rooms of fewer cells stay bare.
const LEAST_AREA: u32 = 20;
/// Rooms of fewer cells hold no lake and no row of pillars.
const LEAST_AREA_OF_LAKE: u32 = 48;

/// Dresses every room.
pub(crate) fn dress(arena: &mut Arena, rng: &mut Rng) {
    for room in 0..arena.rooms.len() {
        let center = arena.rooms[room].center;
        let chamber = &arena.rooms[room];
        let bare = chamber.area < LEAST_AREA || matches!(chamber.role, RoomRole::Shop | RoomRole::Shrine);
        let roomy = chamber.area >= LEAST_AREA_OF_LAKE;
        if bare {
            continue;
        }
        let was_taken = arena.is_taken(center);
        arena.take(center);
        match rng.below(100) {
            0..12 if roomy => lake(arena, room, rng),
            12..22 if roomy => pillars(arena, room),
            22..42 => patch(arena, room, Terrain::Grass, rng),
            42..54 => patch(arena, room, Terrain::Rubble, rng),
            54..58 => patch(arena, room, Terrain::ShallowWater, rng),
            _ => {}
        }
        if !was_taken {
            arena.release(center);
        }
    }
}

/// A pond: deep in the middle, shallow at its shore.
fn lake(arena: &mut Arena, room: usize, rng: &mut Rng) {
    let blob = Blob::within(arena, room, rng);
    let deep = match rng.below(10) {
        0..7 => Terrain::DeepWater,
        7..9 => Terrain::Chasm,
        _ => Terrain::Lava,
    };
    if deep == Terrain::DeepWater {
        blob.each(arena, |arena, at| lay(arena, room, at, Terrain::ShallowWater));
    }
    blob.shrunk().each(arena, |arena, at| {
        if stays_joined(arena, at) {
            lay(arena, room, at, deep);
        }
    });
}

/// Two rows of pillars along the room.
fn pillars(arena: &mut Arena, room: usize) {
    let chamber = arena.rooms[room];
    let (left, right) = (usize::from(chamber.min.x) + 2, usize::from(chamber.max.x).saturating_sub(2));
    let (top, bottom) = (usize::from(chamber.min.y) + 1, usize::from(chamber.max.y).saturating_sub(1));
    if right < left + 3 || bottom < top + 2 {
        return;
    }
    let gap = 3 + (right - left) % 2;
    for y in [top, bottom] {
        for x in (left..=right).step_by(gap) {
            let at = arena.at(x, y);
            if stays_joined(arena, at) {
                lay(arena, room, at, Terrain::Pillar);
            }
        }
    }
}

/// Ground cover, in one piece and broad, so that it reads as a patch and costs few runs.
fn patch(arena: &mut Arena, room: usize, cover: Terrain, rng: &mut Rng) {
    Blob::within(arena, room, rng).each(arena, |arena, at| lay(arena, room, at, cover));
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
        let reach = (rng.range(width / 5, width / 3).max(2), rng.range(height / 5, height / 3).max(1));
        let x = i32::from(chamber.min.x) + rng.range(width / 4, 3 * width / 4);
        let y = i32::from(chamber.min.y) + rng.range(height / 4, 3 * height / 4);
        Self { x, y, reach }
    }

    /// The same, a cell less on every side.
    fn shrunk(self) -> Self {
        Self { reach: ((self.reach.0 - 1).max(1), (self.reach.1 - 1).max(0)), ..self }
    }

    /// Every cell of it inside the border, row by row.
    fn each(self, arena: &mut Arena, mut change: impl FnMut(&mut Arena, usize)) {
        let (a, b) = (2 * self.reach.0 + 1, 2 * self.reach.1 + 1);
        for dy in -self.reach.1..=self.reach.1 {
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
