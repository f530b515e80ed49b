//! Monsters, in packs that keep together, as strong as the curve asks where they stand.

use crate::arena::Arena;
use crate::curve;
use crate::floor::{RoomRole, Spawn};
use crate::rng::Rng;
use crate::stages::spots;

/// What a monster does in its pack.
#[derive(Debug, Clone, Copy)]
struct Recruit {
    archetype: &'static str,
    /// How much of a pack's strength it uses up, in thousandths of a full room's.
    cost: u32,
}

/// Packs: who leads, and who comes along while strength is left.
const PACKS: [(Recruit, Recruit); 5] = [
    (Recruit { archetype: "ogre", cost: 600 }, Recruit { archetype: "goblin", cost: 250 }),
    (Recruit { archetype: "shaman", cost: 450 }, Recruit { archetype: "goblin", cost: 250 }),
    (Recruit { archetype: "archer", cost: 350 }, Recruit { archetype: "archer", cost: 350 }),
    (Recruit { archetype: "wolf", cost: 250 }, Recruit { archetype: "wolf", cost: 250 }),
    (Recruit { archetype: "rat", cost: 150 }, Recruit { archetype: "rat", cost: 150 }),
];

/// The most monsters in one room.
const MOST_IN_A_ROOM: usize = 6;
/// Steps from the leader within which a pack stands.
const PACK_REACH: u32 = 4;

/// Peoples every room that may hold a pack. The entry room is left in peace.
pub(crate) fn settle(arena: &mut Arena, number: u32, rng: &mut Rng) {
    let deepest = arena.rooms.iter().map(|room| room.depth).max().unwrap_or(1).max(1);
    for room in 0..arena.rooms.len() {
        let progress = arena.rooms[room].depth * curve::WALK / deepest;
        let share = match arena.rooms[room].role {
            RoomRole::Combat => 1_000,
            RoomRole::Exit | RoomRole::Key => 700,
            RoomRole::Treasure => 500,
            _ => continue,
        };
        let strength = curve::intensity(progress) * share / 1_000;
        // A small room holds a small pack.
        let strength = strength * arena.rooms[room].area.min(80) / 60;
        let level = curve::level_of_floor(number) * (900 + progress / 4) / 1_000;
        pack(arena, room, strength, level.max(1) as u16, rng);
    }
}

/// Puts a pack that uses up that strength into the room.
fn pack(arena: &mut Arena, room: usize, strength: u32, level: u16, rng: &mut Rng) {
    let (leader, follower) = rng.pick(&PACKS);
    let mut left = strength;
    let mut head = None;
    for i in 0..MOST_IN_A_ROOM {
        let recruit = if i == 0 { leader } else { follower };
        if left < recruit.cost / 2 {
            return;
        }
        left = left.saturating_sub(recruit.cost);
        let near = |at| head.is_none_or(|head| spots::distance(arena, head, at) <= PACK_REACH);
        let Some(at) = spots::open_where(arena, room, rng, near) else { continue };
        head = head.or(Some(at));
        arena.take(at);
        let level = level + u16::from(i == 0);
        arena.spawns.push(Spawn { at: arena.point(at), archetype: recruit.archetype, level });
    }
}
