//! Names the floor, its landmark and its special rooms, from sentences and parts of the pack that fit what is there.

use alloc::string::String;
use alloc::vec::Vec;

use crate::arena::{Arena, MAX_ROOMS, RoomDraft};
use crate::floor::{Behaviour, Names, Point, RoomRole, Terrain, Text};
use crate::pack::content::NameId;
use crate::pack::grammar::{Fact, Grammar, MAX_PLACES, Phrase, Place, Section, When};
use crate::plan::Plan;
use crate::rng::{Rng, Streams};

/// The lists of sentences, by their index.
const FLOOR: usize = 0;
const HOOK: usize = 1;
const LANDMARK: usize = 2;
const ROOM: usize = 3;
/// Rooms that have names beside the landmark, the first ones first.
const NAMED: [RoomRole; 6] =
    [RoomRole::Boss, RoomRole::Vault, RoomRole::Shrine, RoomRole::Shop, RoomRole::Treasure, RoomRole::Secret];
/// The most rooms with a name: each takes about 70 bytes on the wire.
const MOST_ROOMS: usize = 5;
/// Sentences tried for one text.
const TRIES: usize = 8;
/// About so many cells of a floor, and so many in a row or column of a room, are looked at for what the ground is.
const SAMPLES: usize = 350;
const ROOM_SAMPLES: usize = 5;

/// What is named: a room, or the floor by its landmark.
#[derive(Clone, Copy)]
struct Subject {
    /// A bit by its number.
    role: u32,
    set: Option<NameId>,
    facts: u64,
}

/// The parts that the places of sentences got, by their lists.
type Kept<'p> = [Option<(usize, &'p Phrase)>; 3 * MAX_PLACES];

struct Namer<'p> {
    grammar: &'p Grammar,
    rng: Rng,
    theme: usize,
    kind: u32,
    /// Its last bit is for what asks for nothing.
    has: u128,
    /// Reused by all draws: the sections that fit.
    found: Vec<&'p Section>,
}

/// Names the floor. Its hook and its landmark say the same of it as its name, so they share their parts.
pub(crate) fn name<'p>(arena: &Arena, plan: &Plan<'p>, streams: &Streams<'_>) -> Names<'p> {
    let grammar = &plan.content.grammar;
    let mut namer = Namer {
        grammar,
        rng: streams.open("names"),
        theme: plan.theme,
        kind: 1 << plan.spec.kind() as u32,
        has: 1 << 127 | archetypes(arena, grammar),
        found: Vec::with_capacity(64),
    };
    let reached = reached(arena);
    let facts = floor_facts(arena, plan, &reached);
    let all = arena.rooms.iter().map(|room: &RoomDraft| room.area).sum();
    let subject = |room: usize| {
        let draft = &arena.rooms[room];
        let facts = facts | room_facts(arena, room, all, reached[room]);
        Subject { role: 1 << draft.role as u32, set: draft.set, facts }
    };
    let landmark = usize::from(arena.landmark.unwrap_or_default());
    let about = subject(landmark);
    let mut kept = Kept::default();
    let floor = namer.say(FLOOR, &about, &mut kept).unwrap_or_default();
    let mut rooms: Vec<(u8, Text<'p>)> = Vec::with_capacity(MOST_ROOMS);
    if arena.landmark.is_some() {
        let own = namer.say(LANDMARK, &about, &mut kept).filter(|text| text.text != floor.text);
        // A landmark is not called what its whole floor is called.
        let own = own.or_else(|| namer.say(LANDMARK, &about, &mut Kept::default()));
        rooms.extend(own.map(|text| (landmark as u8, text)));
    }
    let hook = namer.say(HOOK, &about, &mut kept).unwrap_or_default();
    for role in NAMED {
        for room in (0..arena.rooms.len()).filter(|&room| arena.rooms[room].role == role) {
            if rooms.len() == MOST_ROOMS || arena.landmark == Some(room as u8) {
                continue;
            }
            let about = subject(room);
            let is_new =
                |text: &Text<'_>| text.text != floor.text && rooms.iter().all(|(_, other)| other.text != text.text);
            let text = (0..TRIES).find_map(|_| namer.say(ROOM, &about, &mut Kept::default()).filter(is_new));
            if let Some(text) = text {
                rooms.insert(rooms.partition_point(|(other, _)| usize::from(*other) < room), (room as u8, text));
            }
        }
    }
    Names { floor, hook, rooms }
}

impl<'p> Namer<'p> {
    /// A sentence of the list, with its parts, which `kept` gets; of lists that it has, those parts again.
    fn say(&mut self, list: usize, about: &Subject, kept: &mut Kept<'p>) -> Option<Text<'p>> {
        for _ in 0..TRIES {
            let sentence = self.draw(list, about)?;
            let mut parts = *kept;
            let all =
                sentence.places.iter().all(|place| part(&mut parts, place, |list| self.draw(list, about)).is_some());
            if all && !echoes(sentence, &mut parts) {
                *kept = parts;
                return Some(text(sentence, kept));
            }
        }
        let sentence = self.grammar.sure(list)?;
        let grammar = self.grammar;
        let all = sentence.places.iter().all(|place| part(kept, place, |list| grammar.sure(list)).is_some());
        all.then(|| text(sentence, kept))
    }

    /// A text of the list that fits: one for the subject's set, else for its role, else any.
    fn draw(&mut self, list: usize, about: &Subject) -> Option<&'p Phrase> {
        let list = &self.grammar.lists[list];
        if let Some(set) = about.set {
            let first = list.by_set.partition_point(|(other, _)| *other < set);
            let sections = list.by_set[first..].iter().take_while(|(other, _)| *other == set);
            let text = self.pick(sections.map(|(_, i)| &list.sections[usize::from(*i)]), about);
            if text.is_some() {
                return text;
            }
        }
        self.pick(list.by_theme[self.theme].iter().map(|i| &list.sections[usize::from(*i)]), about)
    }

    /// A text of the sections of the highest rank that fit.
    fn pick(&mut self, sections: impl Iterator<Item = &'p Section>, about: &Subject) -> Option<&'p Phrase> {
        let (theme, kind, has, facts) = (1 << self.theme, self.kind, self.has, about.facts);
        let holds = |when: &When| {
            ((facts ^ when.with) & (when.with | when.without) == 0)
                & (when.kind & kind != 0)
                & (when.role & about.role != 0)
                & (when.theme & theme != 0)
                & (when.has & has != 0)
        };
        self.found.clear();
        let (mut rank, mut total) = (0, 0);
        for section in sections {
            // Higher ranks come first.
            if total > 0 && section.when.rank() < rank {
                break;
            }
            if holds(&section.when) {
                (rank, total) = (section.when.rank(), total + section.weight());
                self.found.push(section);
            }
        }
        if total == 0 {
            return None;
        }
        let mut left = self.rng.below(total);
        for section in &self.found {
            match left.checked_sub(section.weight()) {
                Some(less) => left = less,
                None => return section.texts.get((left / section.when.weight()) as usize),
            }
        }
        None
    }
}

/// The part for a place, from its list: the one that is kept, or one that is drawn and kept from then on.
fn part<'p>(kept: &mut Kept<'p>, place: &Place, draw: impl FnOnce(usize) -> Option<&'p Phrase>) -> Option<&'p Phrase> {
    let slot = kept.iter_mut().find(|slot| slot.is_none_or(|(list, _)| list == place.list))?;
    if slot.is_none() {
        *slot = Some((place.list, draw(place.list)?));
    }
    slot.map(|(_, part)| part)
}

/// Whether two parts of the sentence begin a word with the same letters: no graveyard of the gravedigger.
fn echoes<'p>(sentence: &Phrase, kept: &mut Kept<'p>) -> bool {
    let mut parts = [None; MAX_PLACES];
    for (slot, place) in parts.iter_mut().zip(&sentence.places) {
        *slot = part(kept, place, |_| None);
    }
    let mut parts = parts.iter().flatten();
    while let Some(part) = parts.next() {
        let others = parts.clone().filter(|other| other.id != part.id);
        if others.flat_map(|other| &other.starts).any(|start| part.starts.contains(start)) {
            return true;
        }
    }
    false
}

/// The sentence with the parts in its places.
fn text<'p>(sentence: &'p Phrase, kept: &mut Kept<'p>) -> Text<'p> {
    let mut ids = Vec::with_capacity(sentence.places.len());
    let parts: usize =
        sentence.places.iter().filter_map(|place| part(kept, place, |_| None)).map(|p| p.text.len()).sum();
    let mut text = String::with_capacity(sentence.text.len() + parts + sentence.places.len() * "An 's".len());
    let mut from = 0;
    for place in &sentence.places {
        text.push_str(&sentence.text[from..place.start]);
        if let Some(part) = part(kept, place, |_| None) {
            fill(&mut text, place, part);
            ids.push(&*part.id);
        }
        from = place.end;
    }
    text.push_str(&sentence.text[from..]);
    Text { text, id: &sentence.id, parts: ids }
}

/// Writes a part as its place wants it.
fn fill(text: &mut String, place: &Place, part: &Phrase) {
    if let Some(article) = place.article {
        text.push(article);
        text.push_str(if begins_with_a_vowel(&part.text) { "n " } else { " " });
    }
    text.push_str(if place.is_title { &part.title } else { &part.text });
    if place.is_possessive {
        // The twins' hall, but the abbess's.
        text.push_str(if part.text.ends_with('s') && !part.text.ends_with("ss") { "'" } else { "'s" });
    }
}

/// Whether a word takes `an`, by its sound.
fn begins_with_a_vowel(word: &str) -> bool {
    let begins = |starts: &[&str]| {
        starts.iter().any(|start| word.get(..start.len()).is_some_and(|found| found.eq_ignore_ascii_case(start)))
    };
    begins(&["hour", "honest", "heir"])
        || begins(&["a", "e", "i", "o", "u"]) && !begins(&["one", "once", "uni", "use", "eu"])
}

/// Which of the archetypes that the pack asks for are on the floor.
fn archetypes(arena: &Arena, grammar: &Grammar) -> u128 {
    // By the bit, counted from 1.
    let mut seen = [false; 128];
    let ids = arena.spawns.iter().map(|spawn| spawn.archetype).chain(arena.items.iter().map(|item| item.archetype));
    let ids = ids.chain(arena.traps.iter().map(|trap| trap.archetype));
    let ids = ids.chain(arena.furniture.iter().map(|piece| piece.archetype));
    ids.for_each(|id| seen[usize::from(grammar.asked_bits.get(usize::from(id.0)).map_or(0, |bit| bit & 127))] = true);
    seen[1..].iter().rev().fold(0, |bits, seen| bits << 1 | u128::from(*seen))
}

/// Rooms that are reached from the stairs up without a key, if one searches.
fn reached(arena: &Arena) -> [bool; MAX_ROOMS + 1] {
    let mut reached = [false; MAX_ROOMS + 1];
    reached[arena.room_at(arena.entry).unwrap_or_default()] = true;
    let mut is_changed = true;
    while is_changed {
        is_changed = false;
        for connection in arena.connections.iter().filter(|connection| connection.lock == 0) {
            let (a, b) = (usize::from(connection.from), usize::from(connection.to));
            if reached[a] != reached[b] {
                (reached[a], reached[b], is_changed) = (true, true, true);
            }
        }
    }
    reached
}

/// The sum of the bits of what is so.
fn bits<const N: usize>(facts: [(Fact, bool); N]) -> u64 {
    facts.into_iter().fold(0, |bits, (fact, holds)| bits | u64::from(holds) << fact as u32)
}

/// Where a cell is, in thirds of the floor: north, east, south, west.
fn side(arena: &Arena, at: Point, [north, east, south, west]: [Fact; 4]) -> u64 {
    let (x, y) = (3 * usize::from(at.x), 3 * usize::from(at.y));
    bits([
        (north, y < arena.height),
        (east, x >= 2 * arena.width),
        (south, y >= 2 * arena.height),
        (west, x < arena.width),
    ])
}

fn floor_facts(arena: &Arena, plan: &Plan<'_>, reached: &[bool]) -> u64 {
    let mut ground = [0u32; Terrain::Pillar as usize + 1];
    // An odd step, so that not every second column is left out.
    arena.terrain.iter().step_by((arena.terrain.len() / SAMPLES) | 1).for_each(|&cell| ground[cell as usize] += 1);
    let covers = |terrain: Terrain, least| ground[terrain as usize] >= least;
    let roles = arena.rooms.iter().fold(0u32, |bits, room| bits | 1 << room.role as u32);
    let has = |role: RoomRole| roles >> role as u32 & 1 == 1;
    let acts = arena.spawns.iter().fold(0u32, |bits, spawn| bits | 1 << spawn.behaviour as u32);
    let act = |behaviour: Behaviour| acts >> behaviour as u32 & 1 == 1;
    let (entry, exit) = (arena.point(arena.entry), arena.point(arena.exit));
    let straight = u32::from(entry.x.abs_diff(exit.x)) + u32::from(entry.y.abs_diff(exit.y));
    let around = (arena.width + arena.height) as u32;
    let (walk, locks) = (arena.metrics.critical_path, arena.locks.len());
    let exit_room = arena.room_at(arena.exit).unwrap_or_default();
    let landmark = arena.rooms[usize::from(arena.landmark.unwrap_or_default())].center;
    bits([
        (Fact::Locks, locks > 0),
        (Fact::OneLock, locks == 1),
        (Fact::TwoLocks, locks == 2),
        (Fact::ThreeLocks, locks == 3),
        (Fact::ManyLocks, locks > 3),
        (Fact::ExitLocked, !reached[exit_room]),
        (Fact::Boss, has(RoomRole::Boss)),
        (Fact::Vault, has(RoomRole::Vault)),
        (Fact::Secret, has(RoomRole::Secret)),
        (Fact::Shop, has(RoomRole::Shop)),
        (Fact::Shrine, has(RoomRole::Shrine)),
        (Fact::Treasure, has(RoomRole::Treasure)),
        (Fact::Water, covers(Terrain::DeepWater, 2)),
        (Fact::Lava, covers(Terrain::Lava, 2)),
        (Fact::Chasm, covers(Terrain::Chasm, 2)),
        (Fact::Shallows, covers(Terrain::ShallowWater, 2)),
        (Fact::Grass, covers(Terrain::Grass, 2)),
        (Fact::Rubble, covers(Terrain::Rubble, 2)),
        (Fact::Pillars, covers(Terrain::Pillar, 2)),
        (Fact::Bridge, covers(Terrain::Bridge, 1)),
        (Fact::Traps, !arena.traps.is_empty()),
        (Fact::Sleepers, act(Behaviour::Sleeps)),
        (Fact::Patrols, act(Behaviour::Patrols)),
        (Fact::Guards, act(Behaviour::Guards)),
        (Fact::Loops, arena.metrics.loops > 0),
        (Fact::StairsNear, 6 * straight <= around && walk >= 3 * straight.max(8)),
        (Fact::LongWay, walk >= 2 * around),
        (Fact::Small, arena.terrain.len() <= 2_500),
        (Fact::Large, arena.terrain.len() >= 40_000),
        (Fact::First, plan.spec.number() == 1),
    ]) | side(arena, exit, [Fact::ExitNorth, Fact::ExitEast, Fact::ExitSouth, Fact::ExitWest])
        | side(arena, entry, [Fact::EntryNorth, Fact::EntryEast, Fact::EntrySouth, Fact::EntryWest])
        | side(
            arena,
            arena.point(landmark),
            [Fact::LandmarkNorth, Fact::LandmarkEast, Fact::LandmarkSouth, Fact::LandmarkWest],
        )
}

/// `all`: the cells of all rooms.
fn room_facts(arena: &Arena, room: usize, all: u32, is_reached: bool) -> u64 {
    let draft = &arena.rooms[room];
    let mut ground = [0u32; Terrain::Pillar as usize + 1];
    let index = |at: Point| arena.at(at.x.into(), at.y.into());
    let step = |least: u16, most: u16| usize::from(most - least) / ROOM_SAMPLES + 1;
    let (across, down) = (step(draft.min.x, draft.max.x), step(draft.min.y, draft.max.y) * arena.width);
    let wide = usize::from(draft.max.x - draft.min.x);
    for row in (index(draft.min)..=index(draft.max)).step_by(down) {
        for at in (row..=row + wide).step_by(across) {
            let is_inside = usize::from(arena.region[at]) == room + 1;
            ground[arena.terrain[at] as usize] += u32::from(is_inside);
        }
    }
    let cells: u32 = ground.iter().sum();
    let covers = |terrain: Terrain| ground[terrain as usize] >= (cells / 16).max(2);
    let ways = arena.connections.iter().filter(|connection| connection.touches(room as u8)).count();
    bits([
        (Fact::InWater, covers(Terrain::DeepWater)),
        (Fact::InLava, covers(Terrain::Lava)),
        (Fact::InChasm, covers(Terrain::Chasm)),
        (Fact::InShallows, covers(Terrain::ShallowWater)),
        (Fact::InGrass, covers(Terrain::Grass)),
        (Fact::InRubble, covers(Terrain::Rubble)),
        (Fact::InPillars, ground[Terrain::Pillar as usize] >= 2),
        (Fact::Great, draft.area * arena.rooms.len() as u32 >= 3 * all),
        (Fact::DeadEnd, ways == 1),
        (Fact::Crossing, ways >= 4),
        (Fact::BehindLock, !is_reached),
        (Fact::BossHere, draft.role == RoomRole::Boss),
    ])
}
