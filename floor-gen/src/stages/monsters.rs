//! Monsters in packs, as strong as the difficulty curve asks at their room.

use crate::arena::Arena;
use crate::curve;
use crate::floor::{RoomRole, Spawn};
use crate::rng::Rng;
use crate::spec::FloorSpec;
use crate::stages::kind_rules::KindRules;
use crate::stages::spots;
use crate::theme::{Roster, Theme};

/// A monster of a pack.
#[derive(Debug, Clone, Copy)]
struct PackMember {
    archetype: &'static str,
    /// Its share of the pack's strength, in thousandths of a full room's.
    cost: u32,
    /// Levels above the floor's.
    above: u16,
}

const fn member(archetype: &'static str, cost: u32, above: u16) -> PackMember {
    PackMember { archetype, cost, above }
}

/// The packs of a theme: a leader, and followers while strength is left.
const fn packs(roster: &Roster) -> [(PackMember, PackMember); 5] {
    let (brute, skirmisher) = (member(roster.brute, 600, 2), member(roster.skirmisher, 250, 0));
    let (archer, caster, swarm) =
        (member(roster.archer, 350, 0), member(roster.caster, 450, 1), member(roster.swarm, 150, 0));
    [(brute, skirmisher), (caster, skirmisher), (archer, skirmisher), (skirmisher, skirmisher), (swarm, swarm)]
}

/// The most monsters in one pack.
const MAX_IN_A_PACK: usize = 6;
/// Steps from the leader within which a pack stands.
const PACK_REACH: u32 = 4;
/// A large room holds a second pack.
const CELLS_PER_PACK: u32 = 320;
const MAX_PACKS: u32 = 2;
/// Cells of a room that holds a full pack.
const FULL_ROOM: u32 = 60;

/// Places a pack in every room that may hold one. Entry rooms, shrines and shops have none.
pub(crate) fn place_monsters(arena: &mut Arena, spec: &FloorSpec, rules: &KindRules, rng: &mut Rng) {
    let max_depth = arena.max_depth();
    let floor_level = curve::level_of_floor(spec.number());
    let roster = Theme::of_number(spec.number()).roster();
    for room in 0..arena.rooms.len() {
        if arena.rooms[room].set_piece {
            continue;
        }
        let progress = arena.rooms[room].depth * curve::FULL_PROGRESS / max_depth;
        let level = (floor_level * (900 + progress / 4) / 1_000).max(1) as u16;
        let share = match arena.rooms[room].role {
            RoomRole::Combat => 1_000,
            RoomRole::Key => 800,
            RoomRole::Treasure => 500,
            RoomRole::Passage => 300,
            RoomRole::Exit => {
                let Some(share) = rules.exit_pack else { continue };
                share
            }
            RoomRole::Boss => {
                spawn_boss(arena, room, &roster, level, rng);
                continue;
            }
            _ => continue,
        };
        // A room larger than full holds up to a third more.
        let filled_area = arena.rooms[room].area.min(FULL_ROOM * 4 / 3);
        let strength = curve::intensity(progress) * share / 1_000 * filled_area / FULL_ROOM;
        for _ in 0..1 + (arena.rooms[room].area / CELLS_PER_PACK).min(MAX_PACKS - 1) {
            let (leader, follower) = rng.pick(&packs(&roster));
            spawn_pack(arena, room, strength, level, (leader, follower), rng);
        }
    }
}

/// Places a pack of that strength in a room.
fn spawn_pack(
    arena: &mut Arena,
    room: usize,
    strength: u32,
    level: u16,
    (leader, follower): (PackMember, PackMember),
    rng: &mut Rng,
) {
    let mut left = strength;
    let mut head = None;
    for i in 0..MAX_IN_A_PACK {
        // Too little strength for a leader places a single follower.
        let leads = i == 0 && left >= leader.cost;
        let member = if leads { leader } else { follower };
        if left < member.cost / 2 {
            return;
        }
        left = left.saturating_sub(member.cost);
        let near = |at| head.is_none_or(|head| spots::distance(arena, head, at) <= PACK_REACH);
        let Some(at) = spots::open_where(arena, room, rng, near) else { continue };
        head = head.or(Some(at));
        spawn(arena, at, member.archetype, level + member.above);
    }
}

/// Places the boss at the center of its arena, and two guards.
fn spawn_boss(arena: &mut Arena, room: usize, roster: &Roster, level: u16, rng: &mut Rng) {
    if let Some(at) = spots::center_or_open(arena, room, rng) {
        spawn(arena, at, roster.boss, level + level / 2 + 3);
    }
    for guard in [roster.caster, roster.brute] {
        if let Some(at) = spots::open(arena, room, rng) {
            spawn(arena, at, guard, level + 1);
        }
    }
}

fn spawn(arena: &mut Arena, at: usize, archetype: &'static str, level: u16) {
    arena.reserve(at);
    arena.spawns.push(Spawn { at: arena.point(at), archetype, level });
}
