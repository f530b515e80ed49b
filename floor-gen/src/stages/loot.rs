//! Loot, worth more at higher risk, and a hint to each secret room.

use crate::arena::Arena;
use crate::curve;
use crate::floor::{Item, RoomRole};
use crate::rng::Rng;
use crate::spec::FloorSpec;
use crate::stages::kind_rules::KindRules;
use crate::stages::spots;

/// Archetypes of plain and of fine loot.
pub(crate) const PLAIN: [&str; 4] = ["gold", "potion", "bread", "scroll"];
pub(crate) const FINE: [&str; 4] = ["gem", "ring", "elixir", "blade"];

/// The most dead ends that hold loot.
const MAX_FILLED_DEAD_ENDS: usize = 8;

/// Places loot in rooms and dead ends, then the hints.
pub(crate) fn place_loot(arena: &mut Arena, spec: &FloorSpec, rules: &KindRules, rng: &mut Rng) {
    let max_depth = arena.max_depth();
    let level = curve::level_of_floor(spec.number());
    for room in 0..arena.rooms.len() {
        if arena.rooms[room].set_piece {
            continue;
        }
        let progress = arena.rooms[room].depth * curve::FULL_PROGRESS / max_depth;
        // How many items, and their worth in tenths of ordinary loot.
        let (count, worth) = match arena.rooms[room].role {
            RoomRole::Vault => (3, 50),
            RoomRole::Secret => (2, 40),
            RoomRole::Treasure => (2, 20),
            RoomRole::Shop => (3, 25),
            RoomRole::Shrine => (1, 15),
            RoomRole::Exit => {
                let Some(loot) = rules.exit_loot else { continue };
                loot
            }
            RoomRole::Combat if rng.chance(300) => (1, 10),
            _ => continue,
        };
        for _ in 0..count {
            let archetype = if worth >= 40 || rng.chance(worth * 10) { rng.pick(&FINE) } else { rng.pick(&PLAIN) };
            let value = (5 + level) * worth * (600 + progress + rng.below(400)) / 10_000;
            drop_item(arena, room, archetype, value, rng);
        }
    }
    for i in 0..arena.dead_ends.len().min(MAX_FILLED_DEAD_ENDS) {
        let pick = i + rng.index(arena.dead_ends.len() - i);
        arena.dead_ends.swap(i, pick);
        let at = arena.dead_ends[i] as usize;
        let archetype = rng.pick(&PLAIN);
        put(arena, at, archetype, (5 + level) * (10 + rng.below(10)) / 10);
    }
    for room in 0..arena.rooms.len() {
        if arena.rooms[room].role == RoomRole::Secret {
            hint(arena, rng);
        }
    }
}

/// Places a map to a secret room in an open room.
fn hint(arena: &mut Arena, rng: &mut Rng) {
    for _ in 0..8 {
        let room = rng.index(arena.rooms.len());
        if !matches!(arena.rooms[room].role, RoomRole::Secret | RoomRole::Vault | RoomRole::Entry)
            && !arena.rooms[room].set_piece
        {
            drop_item(arena, room, "torn_map", 0, rng);
            return;
        }
    }
}

fn drop_item(arena: &mut Arena, room: usize, archetype: &'static str, value: u32, rng: &mut Rng) {
    if let Some(at) = spots::open(arena, room, rng) {
        put(arena, at, archetype, value);
    }
}

fn put(arena: &mut Arena, at: usize, archetype: &'static str, value: u32) {
    arena.reserve(at);
    arena.items.push(Item { at: arena.point(at), archetype, value, opens_lock: 0 });
}
