//! STORY: a walk of scenes from the arrival to the departure. A grammar writes the scenes: acts with a rise, a key and
//! a rest, then the climax. A gate closes each act, and its key lies in that act. Side scenes and shortcuts join rooms
//! of one act, so that no gate is bypassed.
//!
//! The split into a mission, which is a sequence, and the space that it is mapped to is Joris Dormans's ("Adventures in
//! level design", 2010).

use core::iter::once;

use crate::arena::{Arena, Scene};
use crate::floor::{Point, RoomRole};
use crate::pack::content::{Beat, StoryPart};
use crate::pack::params::Story;
use crate::plan::Plan;
use crate::rng::{Rng, Streams};
use crate::stages::accrete::RoomParams;
use crate::stages::corridors::{connect, connect_by_road};
use crate::stages::gates::{self, LockCounts};
use crate::stages::kind_rules::KindRules;
use crate::stages::niches;
use crate::stages::plots::{self, FREE, TAKEN};
use crate::stages::survey::LayoutRejected;

/// Scenes of a walk that does not lead by a hub, if it can be lengthened: one of each part.
const LEAST_SCENES: usize = 6;
/// The most acts that lead from a hub to dead ends.
const SPOKES: i32 = 4;
/// Rooms that a side scene is tried to be joined to.
const HOSTS: usize = 4;

pub(crate) const RULES: KindRules = KindRules { fixed_roles: true, ..KindRules::BUILT };

/// How the walk leads over the plots.
#[derive(Debug, Clone, Copy)]
struct Family {
    by: Way,
    /// Share of the plots on the walk at the least and at the most, in per cent.
    walk: (i32, i32),
    /// Side scenes and shortcuts, in per cent of what the pack says.
    sides: u32,
    shortcuts: u32,
}

/// What the walk passes on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Direct,
    /// Any plot.
    Somewhere,
    /// The plot farthest from both ends.
    FarPlot,
    /// A hub, from which each act leads and to which the climber returns.
    Hub,
}

/// In the order of the pack's weights.
const FAMILIES: [Family; 5] = [
    Family { by: Way::Somewhere, walk: (60, 85), sides: 60, shortcuts: 100 },
    Family { by: Way::Direct, walk: (0, 30), sides: 130, shortcuts: 70 },
    Family { by: Way::FarPlot, walk: (45, 70), sides: 60, shortcuts: 80 },
    Family { by: Way::Direct, walk: (35, 50), sides: 160, shortcuts: 200 },
    Family { by: Way::Hub, walk: (0, 0), sides: 80, shortcuts: 100 },
];

pub(crate) fn lay_out(arena: &mut Arena, plan: &Plan<'_>, streams: &Streams<'_>) -> Result<(), LayoutRejected> {
    let story = arena.params.story;
    let rng = &mut streams.open("plots");
    let count = RoomParams::draw(arena, rng).rooms;
    plots::cut(arena, count, (gap(arena), story.plot_least as i32), [plan.arrival, plan.departure], rng);
    let rng = &mut streams.open("walk");
    let weights = [
        ("winding", story.winding),
        ("road", story.road),
        ("round", story.round),
        ("braid", story.braid),
        ("hub", story.hub),
    ];
    let family = &FAMILIES[streams.draw(rng, "family", weights)];
    lay_walk(arena, plan, family, rng)?;
    begin_acts(arena, rng);
    give_parts(arena, rng);
    let exit = arena.scenes.len() - 1;
    streams.note("beats", exit + 1);
    let rng = &mut streams.open("scenes");
    build_walk(arena, plan, rng)?;
    join_walk(arena, rng)?;
    build_sides(arena, plan, story.side_chance * family.sides / 100, rng)?;
    let hosts = arena.rooms.len();
    niches::dig_beside(arena, hosts, LockCounts::for_cells(arena, plan), &mut streams.open("niches"));
    gates::trace_path(arena, 0, exit)?;
    add_shortcuts(arena, story.shortcut_chance * family.shortcuts / 100, &mut streams.open("shortcuts"));
    Ok(())
}

const fn gap(arena: &Arena) -> i32 {
    arena.params.story.gap as i32
}

/// Lists the scenes of the walk, from the arrival's plot to the departure's.
fn lay_walk(arena: &mut Arena, plan: &Plan<'_>, family: &Family, rng: &mut Rng) -> Result<(), LayoutRejected> {
    let plot_of = |cell: Point| arena.plots.iter().position(|plot| plot.holds(cell));
    let ends = match (plot_of(plan.arrival), plot_of(plan.departure)) {
        (Some(from), Some(to)) if from != to => (from, to),
        _ => return Err(LayoutRejected("both stairs on one plot")),
    };
    if !walk_by(arena, ends, family.by, rng) && !walk_by(arena, ends, Way::Direct, rng) {
        return Err(LayoutRejected("no walk from the arrival to the departure"));
    }
    if !has_spokes(arena) {
        let share = rng.range(family.walk.0, family.walk.1) as usize;
        lengthen(arena, (arena.plots.len() * share / 100).max(LEAST_SCENES), rng);
        for (scene, after) in arena.scenes.iter_mut().skip(1).zip(0..) {
            scene.after = after;
        }
    }
    Ok(())
}

/// Lays a short walk by way of what the family passes. False if there is none.
fn walk_by(arena: &mut Arena, (from, to): (usize, usize), by: Way, rng: &mut Rng) -> bool {
    arena.marks.fill(FREE);
    arena.scenes.clear();
    add_scene(arena, from);
    // The climax is the largest place beside the departure.
    let beside = plots::neighbours(arena, to).filter(|&plot| plot != from);
    let climax = beside.max_by_key(|&plot| arena.plots[plot].area()).unwrap_or(to);
    (arena.marks[to], arena.marks[climax]) = (TAKEN, TAKEN);
    if let Some(waypoint) = choose_waypoint(arena, by, (from, to), rng) {
        walk_on(arena, waypoint, rng);
    }
    let hub = arena.scenes.len() - 1;
    if climax != to && !walk_on(arena, climax, rng) {
        arena.marks[climax] = FREE;
    }
    let arrives = walk_on(arena, to, rng);
    if by == Way::Hub && arrives && hub > 0 {
        add_spokes(arena, hub, rng);
    }
    arrives
}

fn add_scene(arena: &mut Arena, plot: usize) {
    arena.marks[plot] = TAKEN;
    arena.scenes.push(Scene { plot: plot as u8, after: 0, begins_act: false, part: StoryPart::Rise });
}

/// Leads the walk on to a plot, if free plots lead there.
fn walk_on(arena: &mut Arena, to: usize, rng: &mut Rng) -> bool {
    let last = usize::from(arena.scenes[arena.scenes.len() - 1].plot);
    let reached = plots::route(arena, (last, to), rng);
    for i in 0..arena.tile_path.len() {
        add_scene(arena, arena.tile_path[i] as usize);
    }
    reached
}

/// The free plots beside a plot.
fn free_beside(arena: &Arena, plot: usize) -> impl Iterator<Item = usize> + Clone + '_ {
    plots::neighbours(arena, plot).filter(|&there| arena.marks[there] == FREE)
}

/// A free plot that the walk passes.
fn choose_waypoint(arena: &Arena, by: Way, ends: (usize, usize), rng: &mut Rng) -> Option<usize> {
    let free = (0..arena.plots.len()).filter(|&plot| arena.marks[plot] == FREE);
    let apart = |a: usize, b: usize| {
        let (a, b) = (arena.plots[a].middle(), arena.plots[b].middle());
        a.0.abs_diff(b.0) + a.1.abs_diff(b.1)
    };
    match by {
        Way::Direct => None,
        Way::Somewhere => rng.choose(free, |_| 1),
        Way::FarPlot => free.max_by_key(|&plot| apart(plot, ends.0).min(apart(plot, ends.1))),
        Way::Hub => free.max_by_key(|&plot| (free_beside(arena, plot).count(), rng.next())),
    }
}

/// Adds acts that lead from the hub to dead ends, before the scenes that follow the hub.
fn add_spokes(arena: &mut Arena, hub: usize, rng: &mut Rng) {
    let onward = arena.scenes.len() - hub - 1;
    for _ in 0..rng.range(1, SPOKES) {
        let mut plot = usize::from(arena.scenes[hub].plot);
        for place in 0..act_length(arena, rng) {
            let Some(to) = rng.choose(free_beside(arena, plot), |_| 1) else { break };
            plot = to;
            add_scene(arena, plot);
            if let Some(scene) = arena.scenes.last_mut() {
                scene.begins_act = place == 0;
            }
        }
    }
    let after_hub = &mut arena.scenes[hub + 1..];
    after_hub.rotate_left(onward);
    let spokes = after_hub.len() - onward;
    after_hub[0].begins_act |= spokes > 0;
    after_hub[spokes].begins_act |= spokes > 0;
    for (i, scene) in arena.scenes.iter_mut().enumerate().skip(1) {
        scene.after = if scene.begins_act { hub as u8 } else { i as u8 - 1 };
    }
}

/// Whether acts begin at a hub.
fn has_spokes(arena: &Arena) -> bool {
    arena.scenes.iter().any(|scene| scene.begins_act)
}

/// How many scenes an act has.
fn act_length(arena: &Arena, rng: &mut Rng) -> usize {
    rng.range(arena.params.story.act_least as i32, arena.params.story.act_most as i32) as usize
}

/// Lengthens the walk: one or two free plots come between two scenes. The climax stays beside the departure.
fn lengthen(arena: &mut Arena, wanted: usize, rng: &mut Rng) {
    for _ in 0..4 * arena.plots.len() {
        if arena.scenes.len() >= wanted {
            return;
        }
        let before = rng.index((arena.scenes.len() - 2).max(1));
        let between = (arena.scenes[before].plot.into(), arena.scenes[before + 1].plot.into());
        let Some((first, second)) = detour(arena, between, rng) else { continue };
        let (added, count) = ([first, second], 1 + usize::from(first != second));
        for &plot in added[..count].iter().rev() {
            add_scene(arena, plot);
            arena.scenes[before + 1..].rotate_right(1);
        }
    }
}

/// Two free plots, or twice the same, that lead from one plot to its neighbour.
fn detour(arena: &Arena, (from, to): (usize, usize), rng: &mut Rng) -> Option<(usize, usize)> {
    let faces_end = |plot: usize| plots::neighbours(arena, to).holds(plot);
    let first = rng.choose(free_beside(arena, from), |_| 1)?;
    if faces_end(first) {
        return Some((first, first));
    }
    let second = rng.choose(free_beside(arena, first).filter(|&plot| faces_end(plot)), |_| 1)?;
    Some((first, second))
}

/// Says which scenes begin an act: each spoke or else one in a few scenes, the climax and the departure. If there are
/// too many, the first ones go.
fn begin_acts(arena: &mut Arena, rng: &mut Rng) {
    let story = arena.params.story;
    let departure = arena.scenes.len() - 1;
    if !has_spokes(arena) {
        let mut at = 1 + act_length(arena, rng);
        while at + (story.act_least as usize) < departure {
            arena.scenes[at].begins_act = true;
            at += act_length(arena, rng);
        }
    }
    for scene in arena.scenes.iter_mut().skip((departure - 1).max(2)) {
        scene.begins_act = true;
    }
    let most = (arena.scenes.len() / story.scenes_per_gate as usize).min(story.most_gates as usize);
    let gates = arena.scenes.iter_mut().rev().filter(|scene| scene.begins_act);
    gates.skip(most).for_each(|scene| scene.begins_act = false);
}

/// Gives each scene its part. An act has its key in its second half, and mostly a rest after it.
fn give_parts(arena: &mut Arena, rng: &mut Rng) {
    let (rest_chance, scenes) = (arena.params.story.rest_chance, &mut arena.scenes[..]);
    let departure = scenes.len() - 1;
    scenes[0].part = StoryPart::Arrival;
    scenes[departure].part = StoryPart::Departure;
    let middle = if departure >= 3 { departure - 1 } else { departure };
    if middle < departure {
        scenes[middle].part = StoryPart::Climax;
    }
    for act in scenes[1..middle].chunk_by_mut(|_, next| !next.begins_act) {
        let (count, mut last) = (act.len(), act.len() - 1);
        if count >= 3 && rng.chance(rest_chance) {
            act[last].part = StoryPart::Rest;
            last -= 1;
        }
        act[rng.range(count as i32 / 2, last as i32) as usize].part = StoryPart::Key;
    }
}

/// Builds the scenes of the walk.
fn build_walk(arena: &mut Arena, plan: &Plan<'_>, rng: &mut Rng) -> Result<(), LayoutRejected> {
    let mut last = None;
    for i in 0..arena.scenes.len() {
        let Scene { plot, part, .. } = arena.scenes[i];
        let around = match part {
            StoryPart::Arrival => Some(plan.arrival),
            StoryPart::Departure => Some(plan.departure),
            _ => None,
        };
        let beat = draw_beat(&plan.content.beats, part, last, rng);
        last = Some(beat);
        build(arena, plot.into(), beat, around, rng).ok_or(LayoutRejected("no room for a scene"))?;
    }
    Ok(())
}

/// Joins each scene to the one that it is entered from, or else to another one of its act. A gate leads to an act from
/// the act before.
fn join_walk(arena: &mut Arena, rng: &mut Rng) -> Result<(), LayoutRejected> {
    let mut act = 0;
    for i in 1..arena.scenes.len() {
        let Scene { after, begins_act, .. } = arena.scenes[i];
        let Story { door_chance, road_least, road_most, .. } = arena.params.story;
        let road = (door_chance, rng.range(road_least as i32, road_most as i32) as u32);
        let mut hosts = once(after.into()).chain((act..i).rev());
        if !hosts.any(|host| connect_by_road(arena, (host, i), road, rng)) {
            return Err(LayoutRejected("no corridor between two scenes"));
        }
        if begins_act {
            gates::lock(arena, i - 1);
            let key = (act..i).find(|&scene| arena.scenes[scene].part == StoryPart::Key).unwrap_or(i - 1);
            arena.key_rooms[arena.required_locks] = Some(key as u8);
            arena.required_locks += 1;
            act = i;
        }
        arena.rooms[i].zone = arena.required_locks as u8;
    }
    Ok(())
}

/// A beat for a part of the story, if possible another one than the last.
fn draw_beat<'p>(beats: &'p [Beat], part: StoryPart, last: Option<&Beat>, rng: &mut Rng) -> &'p Beat {
    let mut fitting = beats.iter().filter(|beat| beat.part == part);
    let others = fitting.clone().filter(|&beat| last.is_none_or(|last| !core::ptr::eq(last, beat)));
    // The reader checks that each part has a beat.
    rng.choose(others, |beat| beat.weight).or_else(|| fitting.next()).unwrap_or(&beats[0])
}

/// Builds a scene on a plot, if there is space for it.
fn build(arena: &mut Arena, plot: usize, beat: &Beat, around: Option<Point>, rng: &mut Rng) -> Option<usize> {
    let room = plots::build(arena, plot, (beat.form, beat.fill), around, rng)?;
    arena.rooms[room].role = beat.role;
    Some(room)
}

/// Builds scenes beside the walk on the plots that it left free, so often as `chance` says, then until the floor is full
/// enough. Some follow another side scene.
fn build_sides(arena: &mut Arena, plan: &Plan<'_>, chance: u32, rng: &mut Rng) -> Result<(), LayoutRejected> {
    let Arena { room_list, marks, .. } = arena;
    room_list.clear();
    room_list.extend((0..marks.len()).filter(|&plot| marks[plot] == FREE).map(|plot| plot as u8));
    rng.shuffle(room_list);
    let full = arena.plots.len() * arena.params.story.full as usize / 1_000;
    for (chance, wanted) in [(chance, usize::MAX), (1_000, full)] {
        for i in 0..arena.room_list.len() {
            let plot = usize::from(arena.room_list[i]);
            if arena.rooms.len() < wanted && arena.marks[plot] == FREE && rng.chance(chance) {
                build_side(arena, plan, plot, rng)?;
            }
        }
    }
    Ok(())
}

/// Builds a side scene on a plot, if there is space for it and a room beside it.
fn build_side(arena: &mut Arena, plan: &Plan<'_>, plot: usize, rng: &mut Rng) -> Result<(), LayoutRejected> {
    if host_of(arena, plot, rng).is_none() {
        return Ok(());
    }
    let beat = draw_beat(&plan.content.beats, StoryPart::Side, None, rng);
    let Some(room) = build(arena, plot, beat, None, rng) else { return Ok(()) };
    let door_chance = arena.params.story.door_chance;
    let joined = (0..HOSTS).find_map(|_| {
        let host = host_of(arena, plot, rng)?;
        connect(arena, host, room, door_chance, rng).then_some(host)
    });
    let host = joined.ok_or(LayoutRejected("no corridor to a side scene"))?;
    arena.rooms[room].zone = arena.rooms[host].zone;
    Ok(())
}

/// A room beside a plot, but not the departure's.
fn host_of(arena: &Arena, plot: usize, rng: &mut Rng) -> Option<usize> {
    let rooms = plots::neighbours(arena, plot).filter_map(|there| plots::room_on(arena, there));
    rng.choose(rooms.filter(|&room| arena.rooms[room].role != RoomRole::Exit), |_| 1)
}

/// Joins rooms of one act that lie beside each other, so often as `chance` says, and at least two rooms if it can.
fn add_shortcuts(arena: &mut Arena, chance: u32, rng: &mut Rng) {
    let before = arena.connections.len();
    join_neighbours(arena, arena.params.story.detour - 1, usize::MAX, chance, rng);
    if arena.connections.len() == before {
        join_neighbours(arena, 1, 1, 1_000, rng);
    }
}

/// Joins up to `most` pairs of rooms that are more than so many doors apart.
fn join_neighbours(arena: &mut Arena, doors: u32, most: usize, chance: u32, rng: &mut Rng) {
    let (count, mut made) = (arena.plots.len(), 0);
    let first = rng.index(count);
    arena.graph.rebuild(arena.rooms.len(), &arena.connections);
    for one in (first..count).chain(0..first) {
        for other in plots::neighbours(arena, one).take_while(|&other| other < one) {
            if made < most && rng.chance(chance) && add_shortcut(arena, (one, other), doors, rng) {
                made += 1;
                arena.graph.rebuild(arena.rooms.len(), &arena.connections);
            }
        }
    }
}

/// Joins the rooms on two plots, if they are of one act and more than so many doors apart.
fn add_shortcut(arena: &mut Arena, (one, other): (usize, usize), doors: u32, rng: &mut Rng) -> bool {
    let rooms = (plots::room_on(arena, one), plots::room_on(arena, other));
    let (Some(a), Some(b)) = rooms else { return false };
    let Arena { graph, rooms, connections, .. } = arena;
    rooms[a].zone == rooms[b].zone
        && !graph.within_doors(a, b, doors, connections)
        && connect(arena, a, b, arena.params.story.door_chance, rng)
}
