//! Finds free cells of rooms for stairs, keys, items, monsters and traps.

use crate::arena::Arena;
use crate::floor::Terrain;
use crate::rng::Rng;

/// Random cells tried before the room is searched row by row.
const RANDOM_TRIES: usize = 12;

/// Whether a thing may be placed there: open ground without another thing.
pub(crate) fn is_open(arena: &Arena, at: usize) -> bool {
    let ground = matches!(
        arena.terrain[at],
        Terrain::Floor | Terrain::Grass | Terrain::Rubble | Terrain::ShallowWater | Terrain::Bridge
    );
    ground && !arena.is_reserved(at)
}

/// An open cell of the room.
pub(crate) fn open(arena: &Arena, room: usize, rng: &mut Rng) -> Option<usize> {
    open_where(arena, room, rng, |_| true).or_else(|| cells(arena, room).find(|&at| is_open(arena, at)))
}

/// The room's center, or an open cell of it if the center is reserved.
pub(crate) fn center_or_open(arena: &Arena, room: usize, rng: &mut Rng) -> Option<usize> {
    let center = arena.rooms[room].center;
    if arena.is_reserved(center) { open(arena, room, rng) } else { Some(center) }
}

/// An open cell of the room that is also `fit`, if a few random tries find one.
pub(crate) fn open_where(arena: &Arena, room: usize, rng: &mut Rng, fit: impl Fn(usize) -> bool) -> Option<usize> {
    (0..RANDOM_TRIES).find_map(|_| Some(random_cell(arena, room, rng)?).filter(|&at| is_open(arena, at) && fit(at)))
}

/// A random cell of the room; `None` if a cell of its box was drawn that is not its own.
fn random_cell(arena: &Arena, room: usize, rng: &mut Rng) -> Option<usize> {
    let draft = &arena.rooms[room];
    let x = usize::from(draft.min.x) + rng.index(draft.width());
    let y = usize::from(draft.min.y) + rng.index(draft.height());
    let at = arena.at(x, y);
    (arena.room_at(at) == Some(room)).then_some(at)
}

/// Every cell of the room.
fn cells(arena: &Arena, room: usize) -> impl Iterator<Item = usize> + '_ {
    let draft = arena.rooms[room];
    (draft.min.y..=draft.max.y)
        .flat_map(move |y| (draft.min.x..=draft.max.x).map(move |x| arena.at(x.into(), y.into())))
        .filter(move |&at| arena.room_at(at) == Some(room))
}

/// Sorts a short list of rooms by a key, by insertion: a list in which rooms with equal keys keep their order, and which
/// allocates nothing.
pub(crate) fn sort_rooms(list: &mut [u8], key: impl Fn(usize) -> u32) {
    let key = |room: u8| key(room.into());
    for next in 1..list.len() {
        for at in (1..=next).rev() {
            if key(list[at - 1]) <= key(list[at]) {
                break;
            }
            list.swap(at - 1, at);
        }
    }
}

/// Steps without obstacles.
pub(crate) fn distance(arena: &Arena, a: usize, b: usize) -> u32 {
    (arena.column(a).abs_diff(arena.column(b)) + arena.row(a).abs_diff(arena.row(b))) as u32
}
