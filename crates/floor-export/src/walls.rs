//! The lines that end the view of a player: edges of walls, merged into polylines, and doors.

use floor_proto::{
    floor::Floor,
    v1::{RoomRole, Terrain},
};

/// A corner of cells, in cells from the upper left corner of the floor.
pub(crate) type Corner = (u32, u32);

/// The directions of an edge, clockwise: each is the one before it after a turn to the right.
const DIRECTIONS: [(i32, i32); 4] = [(1, 0), (0, 1), (-1, 0), (0, -1)];

/// The closed polylines around the cells for which `is_inside` holds, with a corner only where they turn; the first
/// corner is also the last. Every edge between a cell inside and one outside lies on exactly one of them.
pub(crate) fn outlines(width: u32, height: u32, is_inside: impl Fn(u32, u32) -> bool) -> Vec<Vec<Corner>> {
    let mut edges = Edges::new(width, height, is_inside);
    let mut outlines = Vec::new();
    for y in 0..=height {
        for x in 0..=width {
            while let Some(direction) = edges.first((x, y)) {
                outlines.push(edges.follow((x, y), direction));
            }
        }
    }
    outlines
}

/// The directed edges that no outline has yet. The inside is to the right of each.
struct Edges {
    width: u32,
    /// For each corner, row-major, one bit for each direction in which an edge leaves it.
    leaving: Vec<u8>,
}

impl Edges {
    fn new(width: u32, height: u32, is_inside: impl Fn(u32, u32) -> bool) -> Self {
        let mut edges = Self { width, leaving: vec![0; (width as usize + 1) * (height as usize + 1)] };
        let inside = |x: Option<u32>, y: Option<u32>| matches!((x, y), (Some(x), Some(y)) if x < width && y < height && is_inside(x, y));
        for (x, y) in (0..height).flat_map(|y| (0..width).map(move |x| (x, y))) {
            if !is_inside(x, y) {
                continue;
            }
            let beside = [
                ((x, y), (Some(x), y.checked_sub(1))),
                ((x + 1, y), (Some(x + 1), Some(y))),
                ((x + 1, y + 1), (Some(x), Some(y + 1))),
                ((x, y + 1), (x.checked_sub(1), Some(y))),
            ];
            for (direction, (start, (other_x, other_y))) in beside.into_iter().enumerate() {
                if !inside(other_x, other_y) {
                    *edges.at(start) |= 1 << direction;
                }
            }
        }
        edges
    }

    fn at(&mut self, (x, y): Corner) -> &mut u8 {
        &mut self.leaving[y as usize * (self.width as usize + 1) + x as usize]
    }

    /// The first direction in which an edge leaves the corner.
    fn first(&mut self, corner: Corner) -> Option<usize> {
        let leaving = *self.at(corner);
        (0..DIRECTIONS.len()).find(|direction| leaving >> direction & 1 == 1)
    }

    /// Takes the edges of one outline. It begins at its uppermost, then leftmost corner, which is a turn.
    fn follow(&mut self, start: Corner, mut direction: usize) -> Vec<Corner> {
        let mut corners = vec![start];
        let mut here = start;
        loop {
            *self.at(here) &= !(1 << direction);
            let (dx, dy) = DIRECTIONS[direction];
            here = (here.0.wrapping_add_signed(dx), here.1.wrapping_add_signed(dy));
            if here == start && *self.at(here) & 1 << ((direction + 1) % 4) == 0 {
                break;
            }
            // A turn to the right stays at the same cell, where two cells inside touch at a corner.
            let turns = [1, 0, 3].map(|turn| (direction + turn) % 4);
            let leaving = *self.at(here);
            let Some(next) = turns.into_iter().find(|next| leaving >> next & 1 == 1) else { break };
            if next != direction {
                corners.push(here);
                direction = next;
            }
        }
        corners.push(start);
        corners
    }
}

/// Whether a player sees over a cell. A secret door has a line of its own, as every door.
pub(crate) fn is_open(terrain: Terrain) -> bool {
    !matches!(terrain, Terrain::Wall | Terrain::Unspecified)
}

/// A door: a line across its cell, in half cells from the upper left corner of the floor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DoorLine {
    pub(crate) from: (u32, u32),
    pub(crate) to: (u32, u32),
    pub(crate) terrain: Terrain,
}

/// The doors of the floor, row-major. An ordinary door is in the middle of its cell. A secret door is flush with the wall
/// on the side from which players come, so that no niche betrays it.
pub(crate) fn doors(floor: &Floor) -> Vec<DoorLine> {
    let cells = (0..floor.height()).flat_map(|y| (0..floor.width()).map(move |x| (x, y)));
    let doors = cells.filter_map(|(x, y)| {
        let terrain = floor.terrain_at(x, y)?;
        let is_door = matches!(terrain, Terrain::Door | Terrain::LockedDoor | Terrain::SecretDoor);
        is_door.then(|| door(floor, x, y, terrain))
    });
    doors.collect()
}

fn door(floor: &Floor, x: u32, y: u32, terrain: Terrain) -> DoorLine {
    let wall = |x: u32, y: u32| floor.terrain_at(x, y).is_none_or(|terrain| !is_open(terrain));
    // Between walls to the left and the right, one passes from north to south.
    let across = wall(x.wrapping_sub(1), y) && wall(x + 1, y);
    let (before, after) =
        if across { ((x, y.wrapping_sub(1)), (x, y + 1)) } else { ((x.wrapping_sub(1), y), (x + 1, y)) };
    let public = |(x, y): (u32, u32)| !wall(x, y) && floor.role_at(x, y) != RoomRole::Secret;
    // Half cells from the upper or left edge of the cell.
    let depth = match terrain {
        Terrain::SecretDoor if public(before) => 0,
        Terrain::SecretDoor if public(after) => 2,
        _ => 1,
    };
    let (left, top) = (2 * x, 2 * y);
    let (from, to) = if across {
        ((left, top + depth), (left + 2, top + depth))
    } else {
        ((left + depth, top), (left + depth, top + 2))
    };
    DoorLine { from, to, terrain }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::fixture;

    /// The unit edges of polylines, each from its lesser corner.
    fn unit_edges(outlines: &[Vec<Corner>]) -> Vec<(Corner, Corner)> {
        let lines = outlines.iter().flat_map(|outline| outline.windows(2));
        let mut edges = lines
            .flat_map(|line| {
                let (a, b) = (line[0].min(line[1]), line[0].max(line[1]));
                assert!((a.0 == b.0) != (a.1 == b.1), "{a:?} to {b:?} is no line along the grid");
                let length = b.0 - a.0 + (b.1 - a.1);
                let step = ((b.0 - a.0) / length, (b.1 - a.1) / length);
                let at = move |n: u32| (a.0 + n * step.0, a.1 + n * step.1);
                (0..length).map(move |n| (at(n), at(n + 1)))
            })
            .collect::<Vec<_>>();
        edges.sort_unstable();
        edges
    }

    fn outlines_of(rows: &[&str]) -> Vec<Vec<Corner>> {
        let cells = rows.iter().map(|row| row.as_bytes()).collect::<Vec<_>>();
        outlines(cells[0].len() as u32, cells.len() as u32, |x, y| cells[y as usize][x as usize] == b'.')
    }

    #[test]
    fn a_room_has_one_outline_with_its_corners() {
        assert_eq!(outlines_of(&["####", "#..#", "####"]), [[(1, 1), (3, 1), (3, 2), (1, 2), (1, 1)]]);
        let with_pillar = outlines_of(&["#####", "#...#", "#.#.#", "#...#", "#####"]);
        assert_eq!(with_pillar.len(), 2);
        assert_eq!(with_pillar[1], [(2, 2), (2, 3), (3, 3), (3, 2), (2, 2)], "counter-clockwise around the pillar");
    }

    #[test]
    fn cells_that_touch_at_a_corner_have_outlines_of_their_own() {
        assert_eq!(outlines_of(&[".#", "#."]).len(), 2);
        assert_eq!(outlines_of(&["#.", ".#"]).len(), 2);
    }

    /// Compares the outlines with a search of all pairs of cells.
    #[test]
    fn outlines_cover_each_edge_once_and_turn_at_each_corner() {
        for kind in floor_gen::Kind::ALL {
            let spec = floor_gen::FloorSpec::resolve(42, 7, 48, 40, Some(kind)).unwrap();
            let floor = floor_gen::generate(&spec);
            let inside = |x: u32, y: u32| floor.terrain[(y * 48 + x) as usize] != floor_gen::Terrain::Wall;
            let outlines = outlines(48, 40, inside);
            let mut expected = Vec::new();
            for (x, y) in (0..40).flat_map(|y| (0..48).map(move |x| (x, y))) {
                if x > 0 && inside(x, y) != inside(x - 1, y) {
                    expected.push(((x, y), (x, y + 1)));
                }
                if y > 0 && inside(x, y) != inside(x, y - 1) {
                    expected.push(((x, y), (x + 1, y)));
                }
            }
            expected.sort_unstable();
            assert_eq!(unit_edges(&outlines), expected, "{kind}");
            for outline in &outlines {
                assert_eq!(outline.first(), outline.last(), "{kind}");
                let turns = outline.windows(3).all(|three| {
                    let [(a, b), (c, d), (e, f)] = three else { return false };
                    (a == c) != (c == e) && (b == d) != (d == f)
                });
                assert!(turns, "{kind}: {outline:?}");
            }
        }
    }

    #[test]
    fn doors_close_the_gap_between_their_walls() {
        let floor = fixture::floor();
        let doors = doors(&floor);
        let at = |x: u32, y: u32| {
            let is_at = |door: &&DoorLine| (door.from.0 / 2, door.from.1 / 2) == (x, y);
            let door = doors.iter().find(is_at).unwrap();
            (door.from, door.to)
        };
        assert_eq!(at(6, 2), ((13, 4), (13, 6)), "an upright door");
        assert_eq!(at(3, 5), ((6, 11), (8, 11)), "a level door");
        assert_eq!(at(19, 10), ((38, 20), (38, 22)), "a secret door, flush with the west wall");
        let kinds = doors.iter().map(|door| door.terrain).collect::<BTreeSet<_>>();
        assert_eq!(kinds, BTreeSet::from([Terrain::Door, Terrain::LockedDoor, Terrain::SecretDoor]));
    }
}
