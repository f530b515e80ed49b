//! Loot, worth more at higher risk, and a hint to each secret room.

use crate::arena::Arena;
use crate::curve;
use crate::floor::{Item, RoomRole};
use crate::pack::content::NameId;
use crate::plan::Plan;
use crate::rng::Rng;
use crate::stages::spots;

/// Places loot in rooms and dead ends, then the hints.
pub(crate) fn place_loot(arena: &mut Arena, plan: &Plan<'_>, rng: &mut Rng) {
    let max_depth = arena.max_depth();
    let level = plan.level();
    let numbers = arena.params.items;
    for room in 0..arena.rooms.len() {
        if arena.rooms[room].set_piece {
            continue;
        }
        let progress = arena.rooms[room].depth * curve::FULL_PROGRESS / max_depth;
        // How many items, and their worth in tenths of ordinary loot.
        let (count, worth) = match arena.rooms[room].role {
            RoomRole::Vault => (numbers.vault, numbers.vault_worth),
            RoomRole::Secret => (numbers.secret, numbers.secret_worth),
            RoomRole::Treasure => (numbers.treasure, numbers.treasure_worth),
            RoomRole::Shop => (numbers.shop, numbers.shop_worth),
            RoomRole::Shrine => (numbers.shrine, numbers.shrine_worth),
            RoomRole::Exit => (numbers.exit, numbers.exit_worth),
            RoomRole::Combat if rng.chance(numbers.combat_chance) => (numbers.combat, numbers.combat_worth),
            _ => continue,
        };
        for _ in 0..count {
            let is_fine = worth >= numbers.fine_worth || rng.chance(worth * 10);
            let archetype = plan.choose(if is_fine { &plan.content.fine } else { &plan.content.plain }, rng);
            let share = numbers.value_least + progress + rng.below(numbers.value_spread);
            let value = u64::from(numbers.base + level) * u64::from(worth) * u64::from(share) / 10_000;
            drop_item(arena, room, archetype, u32::try_from(value).unwrap_or(u32::MAX), rng);
        }
    }
    for i in 0..arena.dead_ends.len().min(numbers.dead_ends as usize) {
        let pick = i + rng.index(arena.dead_ends.len() - i);
        arena.dead_ends.swap(i, pick);
        let at = arena.dead_ends[i] as usize;
        let archetype = plan.choose(&plan.content.plain, rng);
        put(arena, at, archetype, (numbers.base + level) * (10 + rng.below(10)) / 10);
    }
    for room in 0..arena.rooms.len() {
        if arena.rooms[room].role == RoomRole::Secret {
            hint(arena, plan, rng);
        }
    }
}

/// Places a map to a secret room in an open room.
fn hint(arena: &mut Arena, plan: &Plan<'_>, rng: &mut Rng) {
    for _ in 0..8 {
        let room = rng.index(arena.rooms.len());
        if !matches!(arena.rooms[room].role, RoomRole::Secret | RoomRole::Vault | RoomRole::Entry)
            && !arena.rooms[room].set_piece
        {
            drop_item(arena, room, plan.content.hint, 0, rng);
            return;
        }
    }
}

fn drop_item(arena: &mut Arena, room: usize, archetype: NameId, value: u32, rng: &mut Rng) {
    if let Some(at) = spots::open(arena, room, rng) {
        put(arena, at, archetype, value);
    }
}

fn put(arena: &mut Arena, at: usize, archetype: NameId, value: u32) {
    arena.reserve(at);
    arena.items.push(Item { at: arena.point(at), archetype, value, opens_lock: 0 });
}
