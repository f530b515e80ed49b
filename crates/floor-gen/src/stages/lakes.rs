//! Lakes of water, lava or a chasm that cover several rooms and the rock between them. A lake never cuts a path: the
//! cells that must stay become a ford or a bridge. Lakes on a finished map, with shallows around them, are an idea from
//! Brian Walker's game Brogue.

use crate::arena::{Arena, MAX_ROOMS, SEALED};
use crate::floor::{RoomRole, Terrain};
use crate::plan::Plan;
use crate::rng::Rng;
use crate::shape::MAX_SHAPE;
use crate::stages::blob::Blob;
use crate::stages::scenery::{grow_over, stays_joined};

/// Every so many cells of an outline are sampled to see which rooms it covers.
const SAMPLE: usize = 3;

/// Places the lakes of the floor, and returns how many fit. Runs after stairs and keys are placed, and before anything
/// else is.
pub(crate) fn place_lakes(arena: &mut Arena, plan: &Plan<'_>, rng: &mut Rng) -> usize {
    let numbers = arena.params.lakes;
    let most = numbers.amount * (arena.width * arena.height / numbers.cells as usize).max(1) as u32;
    let wanted = rng.below(most + 1_000) / 1_000;
    if wanted == 0 || arena.width.min(arena.height) < numbers.least_side as usize {
        return 0;
    }
    let deep = plan.theme().ground.deep;
    let mut left = [0u32; MAX_ROOMS + 1];
    for (room, left) in arena.rooms.iter().zip(&mut left[1..]) {
        if !stays_dry(room.role) && room.zone != SEALED && !room.set_piece {
            *left = room.area * numbers.room_share / 1_000;
        }
    }
    // Room centers stay passable.
    arena.room_list.clear();
    for room in 0..arena.rooms.len() {
        let center = arena.rooms[room].center;
        if !arena.is_reserved(center) {
            arena.reserve(center);
            arena.room_list.push(room as u8);
        }
    }
    let mut laid = 0;
    for _ in 0..wanted {
        for _ in 0..numbers.tries {
            let Some(blob) = outline(arena, &left, rng) else { continue };
            if sink(arena, &blob, deep, &mut left) {
                add_shore(arena, &blob, deep, &left);
                laid += 1;
                break;
            }
            undo(arena, &mut left);
        }
    }
    for i in 0..arena.room_list.len() {
        let center = arena.rooms[usize::from(arena.room_list[i])].center;
        arena.release(center);
    }
    laid
}

/// Rooms that a lake never takes.
const fn stays_dry(role: RoomRole) -> bool {
    matches!(role, RoomRole::Shop | RoomRole::Shrine | RoomRole::Boss | RoomRole::Vault | RoomRole::Secret)
}

/// An outline inside the floor, if a coarse sample shows that it covers two rooms or more.
fn outline(arena: &Arena, left: &[u32], rng: &mut Rng) -> Option<Blob> {
    let numbers = arena.params.lakes;
    let side = |side: usize, (least, most): (u32, u32), rng: &mut Rng| {
        rng.range(side as i32 * least as i32 / 100, side as i32 * most as i32 / 100).min(MAX_SHAPE)
    };
    let (width, height) = (
        side(arena.width, (numbers.width_least, numbers.width_most), rng),
        side(arena.height, (numbers.height_least, numbers.height_most), rng),
    );
    let x = 1 + rng.index(arena.width - 1 - width as usize);
    let y = 1 + rng.index(arena.height - 1 - height as usize);
    let mut seen = None;
    let sample = (y..y + height as usize).step_by(SAMPLE);
    let several = sample.flat_map(|y| (x..x + width as usize).step_by(SAMPLE).map(move |x| (x, y))).any(|(x, y)| {
        let room = arena.region[arena.at(x, y)];
        let floods = room > 0 && left[usize::from(room)] > 0;
        floods && *seen.get_or_insert(room) != room
    });
    several.then(|| Blob::around((x as i32 + width / 2, y as i32 + height / 2), width, height, rng))
}

/// Floods rock first, then ground from the rock inwards, so that the cells that must stay lie in the middle of the lake
/// and not along the walls. A lake without rock begins in its middle. The flooded cells are in `cell_list`. False if
/// the lake takes too few cells of rooms, or leaves too many causeways.
fn sink(arena: &mut Arena, blob: &Blob, deep: Terrain, left: &mut [u32]) -> bool {
    arena.cell_list.clear();
    blob.each(arena, |arena, at| {
        if arena.terrain[at] == Terrain::Wall && may_flood_rock(arena, at, left) {
            arena.terrain[at] = deep;
            arena.cell_list.push(at as u32);
        }
    });
    if arena.cell_list.is_empty() {
        blob.each(arena, |arena, at| {
            if arena.cell_list.is_empty() && sink_ground(arena, at, deep, left) {
                arena.cell_list.push(at as u32);
            }
        });
    }
    grow_over(arena, |arena, there| {
        arena.terrain[there] == Terrain::Floor
            && blob.covers(arena.column(there), arena.row(there))
            && sink_ground(arena, there, deep, left)
    });
    let (mut ground, mut causeways) = (0, 0);
    blob.each(arena, |arena, at| {
        let [north, east, south, west] = arena.neighbours(at).map(|there| arena.terrain[there] == deep);
        let room = arena.region[at] > 0;
        ground += u32::from(room && arena.terrain[at] == deep);
        causeways += u32::from(room && arena.terrain[at] == Terrain::Floor && ((north && south) || (east && west)));
    });
    let numbers = arena.params.lakes;
    ground >= numbers.least_ground && causeways * numbers.ground_per_causeway <= ground
}

/// Restores the cells that were flooded last.
fn undo(arena: &mut Arena, left: &mut [u32]) {
    for &at in &arena.cell_list {
        let at = at as usize;
        let room = usize::from(arena.region[at]);
        arena.terrain[at] = if room > 0 { Terrain::Floor } else { Terrain::Wall };
        if room > 0 {
            left[room] += 1;
        }
    }
}

/// Whether the rock may be flooded: it has no door and no dry room beside it.
fn may_flood_rock(arena: &Arena, at: usize, left: &[u32]) -> bool {
    arena.ring(at).into_iter().all(|there| {
        let room = usize::from(arena.region[there]);
        !arena.terrain[there].is_door() && (room == 0 || left[room] > 0)
    })
}

/// Floods a cell of a room, if no path needs it and enough of the room stays.
fn sink_ground(arena: &mut Arena, at: usize, deep: Terrain, left: &mut [u32]) -> bool {
    let room = usize::from(arena.region[at]);
    let free = room > 0 && left[room] > 0 && arena.terrain[at] == Terrain::Floor && !arena.is_reserved(at);
    if !free || !stays_joined(arena, at) {
        return false;
    }
    left[room] -= 1;
    arena.terrain[at] = deep;
    true
}

/// Adds shallows around water, and bridges over what is impassable.
fn add_shore(arena: &mut Arena, blob: &Blob, deep: Terrain, left: &[u32]) {
    let first = |least: i32| least.max(2) as usize;
    let columns = first(blob.x - 1)..((blob.x + blob.width + 1).max(0) as usize).min(arena.width - 2);
    let rows = first(blob.y - 1)..((blob.y + blob.height + 1).max(0) as usize).min(arena.height - 2);
    for (x, y) in rows.flat_map(|y| columns.clone().map(move |x| (x, y))) {
        let at = arena.at(x, y);
        if arena.terrain[at] != Terrain::Floor {
            continue;
        }
        let around = arena.ring(at).map(|there| arena.terrain[there] == deep);
        let [north, _, east, _, south, _, west, _] = around;
        let corridor = arena.region[at] == 0;
        let over = (north && south) || (east && west) || (corridor && (north || south) && (east || west));
        let wet = deep == Terrain::DeepWater;
        if over && (corridor || !wet) && !arena.is_reserved(at) {
            arena.terrain[at] = Terrain::Bridge;
        } else if wet && !corridor && left[usize::from(arena.region[at])] > 0 && around.contains(&true) {
            arena.terrain[at] = Terrain::ShallowWater;
        }
    }
}
