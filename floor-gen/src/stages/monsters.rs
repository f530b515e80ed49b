//! Monsters, in packs that keep together, as strong as the curve asks where they stand.

use crate::arena::Arena;
use crate::curve;
use crate::floor::{RoomRole, Spawn};
use crate::rng::Rng;
use crate::spec::{FloorSpec, Kind};
use crate::stages::spots;
use crate::theme::{Folk, Theme};

/// A monster as a pack counts it.
#[derive(Debug, Clone, Copy)]
struct Recruit {
    archetype: &'static str,
    /// How much of a pack's strength it uses up, in thousandths of a full room's.
    cost: u32,
    /// Levels above the floor's.
    above: u16,
}

const fn recruit(archetype: &'static str, cost: u32, above: u16) -> Recruit {
    Recruit { archetype, cost, above }
}

/// Packs of a people: who leads, and who comes along while strength is left.
const fn packs(folk: &Folk) -> [(Recruit, Recruit); 5] {
    let (brute, skirmisher) = (recruit(folk.brute, 600, 2), recruit(folk.skirmisher, 250, 0));
    let (archer, caster, swarm) =
        (recruit(folk.archer, 350, 0), recruit(folk.caster, 450, 1), recruit(folk.swarm, 150, 0));
    [(brute, skirmisher), (caster, skirmisher), (archer, skirmisher), (skirmisher, skirmisher), (swarm, swarm)]
}

/// The most monsters in one pack.
const MOST_IN_A_PACK: usize = 6;
/// Steps from the leader within which a pack stands.
const PACK_REACH: u32 = 4;
/// A great hall holds a second pack, but no more.
const CELLS_PER_PACK: u32 = 320;
const MOST_PACKS: u32 = 2;
/// Cells of a room that holds a full pack.
const FULL_ROOM: u32 = 60;

/// Peoples every room that may hold a pack. The entry room, shrines and shops are left in peace.
pub(crate) fn settle(arena: &mut Arena, spec: &FloorSpec, rng: &mut Rng) {
    let deepest = arena.deepest();
    let floor_level = curve::level_of_floor(spec.number());
    let folk = Theme::of_number(spec.number()).folk();
    for room in 0..arena.rooms.len() {
        if arena.rooms[room].set_piece {
            continue;
        }
        let progress = arena.rooms[room].depth * curve::WALK / deepest;
        let level = (floor_level * (900 + progress / 4) / 1_000).max(1) as u16;
        let share = match arena.rooms[room].role {
            RoomRole::Combat => 1_000,
            RoomRole::Key => 800,
            RoomRole::Treasure => 500,
            RoomRole::Passage => 300,
            // Behind a boss there is peace.
            RoomRole::Exit if spec.kind() != Kind::Boss => 700,
            RoomRole::Boss => {
                enthrone(arena, room, &folk, level, rng);
                continue;
            }
            _ => continue,
        };
        // A room somewhat larger than full holds somewhat more.
        let room_for = arena.rooms[room].area.min(FULL_ROOM * 4 / 3);
        let strength = curve::intensity(progress) * share / 1_000 * room_for / FULL_ROOM;
        for _ in 0..1 + (arena.rooms[room].area / CELLS_PER_PACK).min(MOST_PACKS - 1) {
            let (leader, follower) = rng.pick(&packs(&folk));
            pack(arena, room, strength, level, (leader, follower), rng);
        }
    }
}

/// Puts a pack that uses up that strength into the room.
fn pack(
    arena: &mut Arena,
    room: usize,
    strength: u32,
    level: u16,
    (leader, follower): (Recruit, Recruit),
    rng: &mut Rng,
) {
    let mut left = strength;
    let mut head = None;
    for i in 0..MOST_IN_A_PACK {
        // A rest is too short for a leader: then somebody strays about alone.
        let leads = i == 0 && left >= leader.cost;
        let recruit = if leads { leader } else { follower };
        if left < recruit.cost / 2 {
            return;
        }
        left = left.saturating_sub(recruit.cost);
        let near = |at| head.is_none_or(|head| spots::distance(arena, head, at) <= PACK_REACH);
        let Some(at) = spots::open_where(arena, room, rng, near) else { continue };
        head = head.or(Some(at));
        spawn(arena, at, recruit.archetype, level + recruit.above);
    }
}

/// The boss in the middle of the arena, two of its people beside it.
fn enthrone(arena: &mut Arena, room: usize, folk: &Folk, level: u16, rng: &mut Rng) {
    let center = arena.rooms[room].center;
    let throne = if arena.is_taken(center) { spots::open(arena, room, rng) } else { Some(center) };
    if let Some(at) = throne {
        spawn(arena, at, folk.boss, level + level / 2 + 3);
    }
    for guard in [folk.caster, folk.brute] {
        if let Some(at) = spots::open(arena, room, rng) {
            spawn(arena, at, guard, level + 1);
        }
    }
}

fn spawn(arena: &mut Arena, at: usize, archetype: &'static str, level: u16) {
    arena.take(at);
    arena.spawns.push(Spawn { at: arena.point(at), archetype, level });
}
