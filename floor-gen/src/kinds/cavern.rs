//! CAVERN: one organic cave of chambers that lie open to each other, with few doors: only what people have dug into its
//! walls has one.

use crate::arena::{Arena, Chamber};
use crate::floor::{Point, RoomRole, Terrain};
use crate::rng::{Rng, Streams};
use crate::spec::FloorSpec;
use crate::stages::survey::Unfit;
use crate::stages::{cave, niches, territory};

/// Open cells in 16 before smoothing: more than half, so that one cave reaches everywhere.
const OPEN: u32 = 9;
/// Width and height of the tile that holds a chamber, in cells.
const TILE: (usize, usize) = (24, 20);
/// The most chambers along a side: 196 in all, which leaves marks for what is dug.
const MOST_TILES: usize = 14;
/// Caves of fewer cells, as a share of the floor's in thousandths, are not worth a climb.
const LEAST_CAVE: usize = 180;

pub(crate) fn lay_out(arena: &mut Arena, spec: &FloorSpec, streams: &Streams<'_>) -> Result<(), Unfit> {
    cave::hollow(arena, OPEN, &mut streams.open("cave"));
    let rng = &mut streams.open("chambers");
    let cells = cave::carve_largest(arena);
    if cells * 1_000 < arena.width * arena.height * LEAST_CAVE {
        return Err(Unfit("too small a cave"));
    }
    found_chambers(arena, rng);
    spread_chambers(arena);
    let chambers = arena.rooms.len();
    niches::dig(arena, chambers, niches::Wanted::for_floor(arena, spec), &mut streams.open("niches"))?;
    Ok(())
}

/// Chooses the middle of each chamber: an open cell of each tile.
fn found_chambers(arena: &mut Arena, rng: &mut Rng) {
    let (columns, rows) = ((arena.width / TILE.0).clamp(1, MOST_TILES), (arena.height / TILE.1).clamp(1, MOST_TILES));
    let (columns, rows) = if columns * rows < 3 { (columns.max(2), rows.max(2)) } else { (columns, rows) };
    for tile in 0..columns * rows {
        let (left, top) = (tile % columns * arena.width / columns, tile / columns * arena.height / rows);
        let (width, height) = (arena.width / columns, arena.height / rows);
        let glance = |rng: &mut Rng| arena.at(left + rng.index(width), top + rng.index(height));
        let open =
            (0..12).map(|_| glance(rng)).find(|&at| arena.terrain[at] == Terrain::Floor && arena.region[at] == 0);
        if let Some(center) = open {
            let place = arena.point(center);
            arena.region[center] = arena.rooms.len() as u8 + 1;
            arena.rooms.push(Chamber {
                min: place,
                max: place,
                center,
                area: 0,
                role: RoomRole::Combat,
                zone: 0,
                depth: 0,
                refusals: 0,
                set_piece: false,
            });
        }
    }
}

/// Gives every cell of the cave to the chamber whose middle is the fewest steps away, and joins chambers that touch.
fn spread_chambers(arena: &mut Arena) {
    let Arena { rooms, region, terrain, trail, width, ways, .. } = arena;
    trail.clear();
    trail.extend(rooms.iter().map(|room| room.center as u32));
    territory::spread(region, trail, *width, |at| terrain[at] == Terrain::Floor);
    territory::join_touching(region, trail, *width, ways);
    for &at in trail.iter() {
        let at = at as usize;
        let room = &mut rooms[usize::from(region[at]) - 1];
        let place = Point { x: (at % *width) as u16, y: (at / *width) as u16 };
        room.area += 1;
        room.min = Point { x: room.min.x.min(place.x), y: room.min.y.min(place.y) };
        room.max = Point { x: room.max.x.max(place.x), y: room.max.y.max(place.y) };
    }
}
