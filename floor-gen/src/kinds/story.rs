//! STORY: one path of rooms, each a beat of the story, in a fixed order of roles. A gate closes each act, and its key
//! lies in that act.

use crate::arena::Arena;
use crate::floor::RoomRole;
use crate::pack::content::Beat;
use crate::plan::Plan;
use crate::rng::{Rng, Streams};
use crate::shape::Form;
use crate::stages::corridors::connect;
use crate::stages::gates::{self, LockCounts};
use crate::stages::kind_rules::KindRules;
use crate::stages::niches;
use crate::stages::survey::LayoutRejected;
use crate::stages::tiles::Tiles;

const fn beat(role: RoomRole, fill: (i32, i32), form: Form) -> Beat {
    Beat { role, fill, form, ends_act: false }
}

/// The first beat, and the last two. The pack says those between.
const ARRIVAL: Beat = beat(RoomRole::Entry, (350, 500), Form::Octagon);
const CLIMAX: Beat = Beat { ends_act: true, ..beat(RoomRole::Boss, (900, 1_000), Form::Rotunda) };
const DEPARTURE: Beat = beat(RoomRole::Exit, (300, 450), Form::Hall);

pub(crate) const RULES: KindRules = KindRules { fixed_roles: true, ..KindRules::BUILT };

pub(crate) fn lay_out(arena: &mut Arena, plan: &Plan<'_>, streams: &Streams<'_>) -> Result<(), LayoutRejected> {
    let (story, acts) = (arena.params.story, &*plan.content.beats);
    let most = story.most_beats as usize;
    let mut tiles = Tiles::over(arena, (story.tile_width as usize, story.tile_height as usize));
    while tiles.count() > most + 1 && tiles.columns.max(tiles.rows) > 2 {
        let (columns, rows) =
            if tiles.columns >= tiles.rows { (tiles.columns - 1, tiles.rows) } else { (tiles.columns, tiles.rows - 1) };
        tiles = Tiles::over(arena, (arena.width / columns, arena.height / rows));
    }
    let rng = &mut streams.open("scenes");
    let beats = tiles.count().min(most);
    order_tiles(arena, &tiles, rng);
    for i in 0..beats {
        let tile = arena.cell_list[i] as usize;
        let Beat { form, fill, .. } = beat_at(acts, i, beats);
        tiles.build(arena, tile, form, fill, rng);
    }
    for i in 1..beats {
        if !connect(arena, i - 1, i, story.door_chance, rng) {
            return Err(LayoutRejected("no corridor between two beats"));
        }
    }
    let (entry, exit) = (0, beats - 1);
    for i in 0..beats {
        arena.rooms[i].role = beat_at(acts, i, beats).role;
    }
    gates::trace_path(arena, entry, exit)?;
    lock_acts(arena, acts, beats);
    gates::assign_zones(arena, entry);
    streams.note("beats", beats);
    niches::dig_beside(arena, beats, LockCounts::for_cells(arena, plan), &mut streams.open("niches"));
    Ok(())
}

/// The `i`-th of `count` beats.
fn beat_at(acts: &[Beat], i: usize, count: usize) -> Beat {
    match i {
        0 => ARRIVAL,
        _ if i + 1 == count => DEPARTURE,
        _ if i + 2 == count && count > 4 => CLIMAX,
        _ => acts[(i - 1) % acts.len()],
    }
}

/// Lists all tiles along a winding path, by rows or by columns, from a random corner.
fn order_tiles(arena: &mut Arena, tiles: &Tiles, rng: &mut Rng) {
    let by_rows = tiles.columns >= tiles.rows;
    let (lines, along) = if by_rows { (tiles.rows, tiles.columns) } else { (tiles.columns, tiles.rows) };
    let (flip_lines, flip_along) = (rng.chance(500), rng.chance(500));
    arena.cell_list.clear();
    for line in 0..lines {
        for step in 0..along {
            let step = if line.is_multiple_of(2) == flip_along { step } else { along - 1 - step };
            let line = if flip_lines { lines - 1 - line } else { line };
            let (column, row) = if by_rows { (step, line) } else { (line, step) };
            arena.cell_list.push((row * tiles.columns + column) as u32);
        }
    }
}

/// Locks the connection after each act's last beat. The key lies in the act's key beat, or in the beat before the gate
/// if the act has none.
fn lock_acts(arena: &mut Arena, acts: &[Beat], beats: usize) {
    let mut first = 0;
    for i in 0..beats - 1 {
        let closes = beat_at(acts, i, beats).ends_act || (beats <= 4 && i + 2 == beats);
        if closes && i > 0 && arena.locks.len() < arena.params.story.most_gates as usize && gates::lock(arena, i) {
            let key = (first..=i).find(|&beat| arena.rooms[beat].role == RoomRole::Key).unwrap_or(i);
            if let Some(room) = arena.key_rooms.last_mut() {
                *room = Some(key as u8);
            }
            arena.required_locks += 1;
            first = i + 1;
        }
    }
}
