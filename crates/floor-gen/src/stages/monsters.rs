//! Monsters in packs, as strong as the difficulty curve asks at their room.

use crate::arena::{Arena, ConnectionDraft};
use crate::curve;
use crate::floor::{Behaviour, RoomRole, Spawn};
use crate::pack::content::{NameId, Part};
use crate::pack::params::Monsters;
use crate::plan::Plan;
use crate::rng::Rng;
use crate::stages::spots;

/// A monster of a pack.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PackMember {
    pub(crate) archetype: NameId,
    /// Its share of the pack's strength, in thousandths of a full room's.
    cost: u32,
    /// Levels above the room's.
    pub(crate) above: u16,
}

/// A monster of that part.
fn member(plan: &Plan<'_>, numbers: &Monsters, part: Part, rng: &mut Rng) -> PackMember {
    let (cost, above) = match part {
        Part::Brute => (numbers.brute_cost, numbers.brute_above),
        Part::Skirmisher => (numbers.skirmisher_cost, numbers.skirmisher_above),
        Part::Archer => (numbers.archer_cost, numbers.archer_above),
        Part::Caster => (numbers.caster_cost, numbers.caster_above),
        Part::Swarm => (numbers.swarm_cost, numbers.swarm_above),
        // A pack with a boss takes a full room.
        Part::Boss => (curve::FULL_PROGRESS, numbers.boss_above),
    };
    PackMember { archetype: plan.choose(plan.theme().monsters(part), rng), cost, above: above as u16 }
}

/// A leader, and followers while strength is left.
pub(crate) fn draw_pack(plan: &Plan<'_>, numbers: &Monsters, rng: &mut Rng) -> (PackMember, PackMember) {
    let packs = &plan.content.packs;
    let mut left = rng.below(packs.iter().map(|pack| pack.weight).sum());
    let drawn = packs.iter().find(|pack| {
        let is_drawn = left < pack.weight;
        left = left.saturating_sub(pack.weight);
        is_drawn
    });
    let (leader, follower) = drawn.map_or((Part::Swarm, Part::Swarm), |pack| (pack.leader, pack.follower));
    let leader = member(plan, numbers, leader, rng);
    (leader, member(plan, numbers, follower, rng))
}

/// The level of monsters where a walk has made that progress.
pub(crate) fn level_at(numbers: &Monsters, floor_level: u32, progress: u32) -> u16 {
    let above_entry = progress * numbers.level_rise / curve::FULL_PROGRESS;
    (floor_level * (numbers.level_at_entry + above_entry) / 1_000).max(1) as u16
}

/// No monster of an entry room stands nearer to the stairs, in steps without obstacles.
const QUIET: u32 = 20;

/// Places a pack in every room that may hold one. Shrines and shops have none, and entry rooms only where they are so
/// large that one can come in without being seen.
pub(crate) fn place_monsters(arena: &mut Arena, plan: &Plan<'_>, rng: &mut Rng) {
    let max_depth = arena.max_depth();
    let floor_level = plan.level();
    let (numbers, curve) = (arena.params.monsters, arena.params.curve);
    for room in 0..arena.rooms.len() {
        if arena.rooms[room].set_piece {
            continue;
        }
        let progress = arena.rooms[room].depth * curve::FULL_PROGRESS / max_depth;
        let level = level_at(&numbers, floor_level, progress);
        let share = match arena.rooms[room].role {
            RoomRole::Combat => numbers.combat,
            RoomRole::Key => numbers.key,
            RoomRole::Treasure => numbers.treasure,
            RoomRole::Passage => numbers.passage,
            RoomRole::Exit => numbers.exit,
            RoomRole::Entry if arena.rooms[room].area >= numbers.cells_per_pack => numbers.combat,
            RoomRole::Boss => {
                spawn_boss(arena, plan, room, level, rng);
                continue;
            }
            _ => continue,
        };
        if share == 0 {
            continue;
        }
        // A room larger than full holds up to a third more.
        let filled_area = arena.rooms[room].area.min(numbers.full_room * 4 / 3);
        let strength = curve.intensity(progress) * share / 1_000 * filled_area / numbers.full_room;
        let post = post(arena, room);
        for _ in 0..1 + (arena.rooms[room].area / numbers.cells_per_pack).min(numbers.packs_most - 1) {
            let pack = draw_pack(plan, &numbers, rng);
            let behaviour = match post {
                Some(_) => Behaviour::Guards,
                None if rng.weighted(&[numbers.sleeps, numbers.wanders]) == 0 => Behaviour::Sleeps,
                None => Behaviour::Wanders,
            };
            spawn_pack(arena, Place { room, post }, strength, level, (pack, behaviour), rng);
        }
    }
}

/// Where a pack stands.
#[derive(Debug, Clone, Copy)]
struct Place {
    room: usize,
    /// What it guards: its leader stands near that cell.
    post: Option<usize>,
}

/// What monsters of a room guard: its key, the lock that leads out of it, or the stairs down.
fn post(arena: &Arena, room: usize) -> Option<usize> {
    let key = arena.items.iter().find_map(|item| {
        let at = arena.at(item.at.x.into(), item.at.y.into());
        (item.opens_lock > 0 && arena.room_at(at) == Some(room)).then_some(at)
    });
    let gate = || {
        let locked = |draft: &&ConnectionDraft| {
            let other = if usize::from(draft.from) == room { draft.to } else { draft.from };
            draft.lock > 0 && draft.touches(room as u8) && arena.rooms[usize::from(other)].zone > arena.rooms[room].zone
        };
        arena.connections.iter().find(locked).and_then(|draft| draft.gate).map(|gate| gate as usize)
    };
    let stairs = || (arena.rooms[room].role == RoomRole::Exit).then_some(arena.exit);
    key.or_else(gate).or_else(stairs)
}

/// Places a pack of that strength in a room. Two monsters or more are a group.
fn spawn_pack(
    arena: &mut Arena,
    Place { room, post }: Place,
    strength: u32,
    level: u16,
    ((leader, follower), behaviour): ((PackMember, PackMember), Behaviour),
    rng: &mut Rng,
) {
    let first = arena.spawns.len();
    let mut left = strength;
    let mut head = post;
    let numbers = arena.params.monsters;
    for i in 0..numbers.in_a_pack {
        // Too little strength for a leader places a single follower.
        let leads = i == 0 && left >= leader.cost;
        let member = if leads { leader } else { follower };
        if left < member.cost / 2 {
            break;
        }
        left = left.saturating_sub(member.cost);
        let is_entry = arena.rooms[room].role == RoomRole::Entry;
        let is_fit = |at| {
            head.is_none_or(|head| spots::distance(arena, head, at) <= numbers.reach)
                && !(is_entry && spots::distance(arena, arena.entry, at) < QUIET)
        };
        let Some(at) = spots::open_where(arena, room, rng, is_fit) else { continue };
        head = head.or(Some(at));
        spawn(arena, at, member.archetype, level + member.above, behaviour);
    }
    group(arena, first);
}

/// Makes the monsters from the `first` on a group, if they are two or more.
pub(crate) fn group(arena: &mut Arena, first: usize) {
    group_where(arena, first, |_| true);
}

/// Makes the monsters from the `first` on that stand in a room a group, if they are two or more.
pub(crate) fn group_of_room(arena: &mut Arena, first: usize, room: usize) {
    group_where(arena, first, |mark| usize::from(mark) == room + 1);
}

fn group_where(arena: &mut Arena, first: usize, is_in: impl Fn(u8) -> bool) {
    let Arena { spawns, region, width, groups, .. } = arena;
    let is_member = |spawn: &Spawn<_>| is_in(region[usize::from(spawn.at.y) * *width + usize::from(spawn.at.x)]);
    if spawns[first..].iter().filter(|spawn| is_member(spawn)).count() < 2 || *groups == u8::MAX {
        return;
    }
    *groups += 1;
    spawns[first..].iter_mut().filter(|spawn| is_member(spawn)).for_each(|spawn| spawn.group = *groups);
}

/// Places the boss at the center of its arena, and its guards.
fn spawn_boss(arena: &mut Arena, plan: &Plan<'_>, room: usize, level: u16, rng: &mut Rng) {
    let numbers = arena.params.monsters;
    let first = arena.spawns.len();
    let boss_at = spots::center_or_open(arena, room, rng);
    if let Some(at) = boss_at {
        let boss = plan.choose(plan.theme().monsters(Part::Boss), rng);
        let level = u32::from(level) * numbers.boss_level / 1_000 + numbers.boss_above;
        spawn(arena, at, boss, level as u16, Behaviour::Guards);
    }
    for &guard in &plan.content.guards {
        let near = |at| boss_at.is_none_or(|boss| spots::distance(arena, boss, at) <= 2 * numbers.reach);
        if let Some(at) = spots::open_where(arena, room, rng, near) {
            let guard = plan.choose(plan.theme().monsters(guard), rng);
            spawn(arena, at, guard, level + numbers.guard_above as u16, Behaviour::Guards);
        }
    }
    group(arena, first);
}

pub(crate) fn spawn(arena: &mut Arena, at: usize, archetype: NameId, level: u16, behaviour: Behaviour) {
    arena.reserve(at);
    arena.spawns.push(Spawn { at: arena.point(at), archetype, level, behaviour, group: 0 });
}
