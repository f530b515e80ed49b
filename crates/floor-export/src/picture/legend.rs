//! The legend of a picture: a heading, and a line for each mark that occurs.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{self, Write},
};

use super::{
    colour::{self, Depth},
    glyph,
    overlay::LockKeys,
    paths::{Goal, Segment},
    scene::{Mark, Object, Piece, Scene, Style},
    text,
};
use crate::{counts, counts::thousands, escape::escaped, names, words};
use anstyle::Reset;
use floor_proto::v1::{Item, Lock, Room, RoomRole, Spawn, Terrain};

/// The text of a legend.
#[derive(Debug)]
pub struct Legend {
    /// The lines above the marks: the name of the floor or what it is, its hook and what it is if it has a name, its
    /// landmark and the names of its rooms; counts, monsters; encoded size, generator version and content hash. Players
    /// get the first three.
    pub(crate) heading: Vec<String>,
    /// The marks that occur, and their descriptions.
    pub(crate) marks: Vec<(Mark, String)>,
    /// The room roles that occur and have a tint. Only PNGs show them.
    pub(crate) tints: Vec<(RoomRole, String)>,
}

impl Legend {
    /// The legend of what the scene shows.
    #[must_use]
    pub fn new(scene: &Scene<'_>) -> Self {
        let floor = scene.floor;
        let wire = floor.wire();
        let theme = if floor.theme().is_empty() { String::new() } else { format!(", theme {}", floor.theme()) };
        let what = format!(
            "Floor {} of tower {}: {}, {}x{}{theme}",
            floor.spec().number,
            floor.spec().seed,
            names::kind_of(floor.spec()),
            floor.width(),
            floor.height(),
        );
        let metrics = wire.metrics.unwrap_or_default();
        let summary = format!(
            "{}, {}, {} steps to the exit, difficulty {}.{:03}",
            counts::counted(floor.rooms().len() as u64, "room"),
            counts::counted(metrics.loops.into(), "loop"),
            thousands(metrics.critical_path.into()),
            metrics.difficulty / 1000,
            metrics.difficulty % 1000,
        );
        let identity = format!(
            "{} bytes, generator {}, hash {}",
            thousands(floor.encoded_len() as u64),
            wire.generator_version,
            names::hash(floor.content_hash()),
        );
        let mut heading = Vec::new();
        if !floor.name().is_empty() {
            heading.push(floor.name().to_owned());
            heading.extend(wrapped(floor.hook()));
        }
        heading.push(what);
        let mut marks = terrain(scene);
        marks.extend(furniture(scene));
        if scene.for_players {
            return Self { heading, marks, tints: Vec::new() };
        }
        heading.extend(rooms(scene));
        heading.extend([summary, behaviours(&wire.spawns), identity]);
        marks.extend(locks(scene));
        marks.extend(overlays(scene));
        marks.extend(monsters(scene));
        marks.extend(items(scene));
        marks.extend(traps(scene));
        Self { heading, marks, tints: tints(scene) }
    }

    /// Writes the legend as text, in which names are escaped, and colours are not.
    ///
    /// # Errors
    /// As of `out`.
    pub fn write(&self, out: &mut impl Write, depth: Option<Depth>) -> io::Result<()> {
        writeln!(out, "\n{}\n", escaped(&self.heading.join("\n")))?;
        let marks = self.marks.iter().map(|(mark, name)| (*mark, escaped(name))).collect::<Vec<_>>();
        let widest = marks.iter().map(|(_, name)| name.chars().count()).max().unwrap_or(0);
        // Two columns fit into 80 characters unless a name is long.
        let columns = if widest <= 36 { 2 } else { 1 };
        let rows = marks.len().div_ceil(columns);
        for row in 0..rows {
            let mut line = String::new();
            for (mark, name) in marks.iter().skip(row).step_by(rows) {
                let glyph = glyph::mark(*mark);
                let shown = match depth.map(|depth| text::style(*mark, depth)) {
                    Some(style) => format!("{}{glyph}{}", style.render(), Reset.render()),
                    None => glyph.to_string(),
                };
                line += &format!("  {shown} {name:widest$}");
            }
            writeln!(out, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

fn terrain(scene: &Scene<'_>) -> Vec<(Mark, String)> {
    let occurs = scene.floor.terrain().iter().copied().collect::<BTreeSet<_>>();
    let is_shown = |terrain: &Terrain| match terrain {
        Terrain::LockedDoor => false,
        Terrain::SecretDoor => !scene.for_players,
        _ => true,
    };
    let shown = occurs.into_iter().filter(is_shown);
    shown.map(|terrain| (Mark::Terrain(terrain), names::terrain(terrain))).collect()
}

/// An entry for each type, and one more for a type that is in the way in some places only.
fn furniture(scene: &Scene<'_>) -> Vec<(Mark, String)> {
    let mut counts = BTreeMap::<(&str, Piece), usize>::new();
    for kind in scene.furniture() {
        *counts.entry(kind).or_default() += 1;
    }
    let entry = |(&(archetype, piece), &count): (&(&str, Piece), &usize)| {
        let blocks = if piece.blocks { ", solid" } else { "" };
        (Mark::Furniture(piece), format!("{}{blocks}", counted(archetype, count)))
    };
    counts.iter().map(entry).collect()
}

/// The landmark, and with the overlay of rooms all rooms that have a name.
fn rooms(scene: &Scene<'_>) -> Vec<String> {
    let named = |room: &Room| match room.name() {
        "" => names::room_number(room.id).to_string(),
        name => format!("{} {name}", names::room_number(room.id)),
    };
    let landmark = scene.floor.landmark().map(|room| format!("Landmark: room {}", named(room)));
    let mut lines = landmark.into_iter().collect::<Vec<_>>();
    let all = scene.floor.rooms().iter().filter(|room| !room.name().is_empty()).map(named).collect::<Vec<_>>();
    if !scene.overlay.rooms.is_empty() && !all.is_empty() {
        lines.extend(wrapped(&format!("Rooms: {}", all.join("; "))));
    }
    lines
}

/// Longest line of a text that may be long.
const LINE: usize = 72;

/// A text in lines that break between words.
fn wrapped(text: &str) -> Vec<String> {
    let mut lines = Vec::<String>::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= LINE => *line = format!("{line} {word}"),
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

fn locks(scene: &Scene<'_>) -> Vec<(Mark, String)> {
    let wire = scene.floor.wire();
    let door = |lock: &Lock| (Mark::Locked(lock.id), format!("lock {} at {}", lock.id, names::position(lock.at)));
    let key = |item: &Item| {
        (
            Mark::Object(Object::Key(item.opens_lock)),
            format!("{} {} at {}", names::archetype(&item.archetype), item.opens_lock, names::position(item.at)),
        )
    };
    let keys = wire.items.iter().filter(|item| item.opens_lock != 0);
    wire.locks.iter().map(door).chain(keys.map(key)).collect()
}

/// The marks of the overlays that are shown.
fn overlays(scene: &Scene<'_>) -> Vec<(Mark, String)> {
    let overlay = &scene.overlay;
    let rooms = (!overlay.rooms.is_empty() && scene.style == Style::Data)
        .then(|| (Mark::Outline, "room numbers and colours".to_owned()));
    let segment = |segment: &Segment| {
        let goal = match segment.goal {
            Goal::Key(lock) => format!("key {lock}"),
            Goal::Exit => "the exit".to_owned(),
        };
        (Mark::Step(segment.goal), format!("path to {goal}, {} steps", thousands(segment.cells.len() as u64 - 1)))
    };
    let behind = |lock_keys: &LockKeys| {
        (
            Mark::Behind(lock_keys.lock),
            format!("behind lock {}: {} cells", lock_keys.lock, thousands(lock_keys.opens as u64)),
        )
    };
    rooms.into_iter().chain(overlay.segments.iter().map(segment)).chain(overlay.locks.iter().map(behind)).collect()
}

fn monsters(scene: &Scene<'_>) -> Vec<(Mark, String)> {
    let mut groups = BTreeMap::<&str, Vec<&Spawn>>::new();
    for spawn in &scene.floor.wire().spawns {
        groups.entry(&spawn.archetype).or_default().push(spawn);
    }
    let entry = |(archetype, spawns): (&str, Vec<&Spawn>)| {
        let states = words::states(spawns.iter().map(|spawn| spawn.behaviour()));
        let comma = if states.is_empty() { "" } else { ", " };
        let words = format!("{}{comma}{states}", counted(archetype, spawns.len()));
        (Mark::Object(Object::Monster(scene.monster(archetype))), words)
    };
    groups.into_iter().map(entry).collect()
}

/// `3 monsters: 1 asleep, 2 on guard; 1 group`.
fn behaviours(spawns: &[Spawn]) -> String {
    let mut counts = BTreeMap::<String, usize>::new();
    for spawn in spawns {
        let state = match words::state(spawn.behaviour()) {
            "" => names::behaviour_of(spawn),
            state => state.to_owned(),
        };
        *counts.entry(state).or_default() += 1;
    }
    let states = counts.iter().map(|(state, count)| format!("{count} {state}")).collect::<Vec<_>>().join(", ");
    let groups = spawns.iter().map(|spawn| spawn.group).filter(|group| *group != 0).collect::<BTreeSet<_>>();
    let colon = if spawns.is_empty() { "" } else { ": " };
    let monsters = counts::counted(spawns.len() as u64, "monster");
    format!("{monsters}{colon}{states}; {}", counts::counted(groups.len() as u64, "group"))
}

fn items(scene: &Scene<'_>) -> Vec<(Mark, String)> {
    let loot = scene.floor.wire().items.iter().filter(|item| item.opens_lock == 0);
    let entry = |(archetype, count)| (Mark::Object(Object::Loot), counted(archetype, count));
    counts(loot.map(|item| item.archetype.as_str())).into_iter().map(entry).collect()
}

fn traps(scene: &Scene<'_>) -> Vec<(Mark, String)> {
    let entry = |(archetype, count): (&str, usize)| {
        (Mark::Object(Object::Trap), format!("{}: {}", counted("trap", count), names::archetype(archetype)))
    };
    counts(scene.floor.wire().traps.iter().map(|trap| trap.archetype.as_str())).into_iter().map(entry).collect()
}

/// How many there are of each archetype.
fn counts<'a>(names: impl Iterator<Item = &'a str>) -> BTreeMap<&'a str, usize> {
    let mut counts = BTreeMap::new();
    names.for_each(|name| *counts.entry(name).or_default() += 1);
    counts
}

/// `two bone archers`.
fn counted(archetype: &str, count: usize) -> String {
    words::some(count, &names::archetype(archetype))
}

fn tints(scene: &Scene<'_>) -> Vec<(RoomRole, String)> {
    if !scene.overlay.locks.is_empty() || scene.style == Style::Map {
        return Vec::new();
    }
    let roles = scene.floor.rooms().iter().map(Room::role).collect::<BTreeSet<_>>();
    let tinted = roles.into_iter().filter(|role| colour::tint(*role).is_some());
    tinted.map(|role| (role, format!("{} room", names::role(role)))).collect()
}
