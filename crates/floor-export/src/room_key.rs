//! The key to a map: what each numbered room holds, in words.

use std::collections::BTreeMap;

use floor_proto::{
    floor::{Floor, Furniture},
    v1::{Point, Room, Spawn},
};

use crate::names;

/// A room of the key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoomEntry {
    /// `7. Treasure room`, or `7. The Gilded Well (treasure)`, with the number that pictures show.
    pub title: String,
    /// What it holds: monsters, things, traps, furniture.
    pub contents: Vec<String>,
    /// Where one gets from it.
    pub ways: Vec<String>,
    /// Its center.
    pub center: Point,
}

/// The rooms by number.
#[must_use]
pub fn entries(floor: &Floor) -> Vec<RoomEntry> {
    floor.rooms().iter().map(|room| entry(floor, room)).collect()
}

/// The entry of a room.
pub(crate) fn entry(floor: &Floor, room: &Room) -> RoomEntry {
    RoomEntry {
        title: format!("{}. {}", names::room_number(room.id), title(room)),
        contents: contents(floor, room),
        ways: ways(floor, room),
        center: room.center.unwrap_or_default(),
    }
}

fn title(room: &Room) -> String {
    let name = names::role(room.role());
    if !room.name().is_empty() {
        return format!("{} ({name})", room.name());
    }
    let (first, rest) = name.split_at(name.len().min(1));
    format!("{}{rest} room", first.to_uppercase())
}

fn contents(floor: &Floor, room: &Room) -> Vec<String> {
    let wire = floor.wire();
    let is_here = |at: Option<Point>| at.is_some_and(|at| floor.room_at(at.x, at.y).is_some_and(|at| at.id == room.id));
    let stairs = [(floor.entry(), "stairs up"), (floor.exit(), "stairs down")];
    let stairs = stairs.into_iter().filter(|(at, _)| is_here(Some(*at))).map(|(_, name)| name.to_owned());
    let items = wire.items.iter().filter(|item| is_here(item.at)).map(|item| match item.opens_lock {
        0 => format!("{}, worth {}", names::archetype(&item.archetype), item.value),
        lock => format!("{} {lock}", names::archetype(&item.archetype)),
    });
    let traps = wire.traps.iter().filter(|trap| is_here(trap.at));
    let traps = traps.map(|trap| format!("trap: {}, level {}", names::archetype(&trap.archetype), trap.level));
    let furniture = furniture(floor.furniture().filter(|piece| is_here(Some(piece.at))));
    let monsters = monsters(wire.spawns.iter().filter(|spawn| is_here(spawn.at)));
    stairs.chain(monsters).chain(items).chain(traps).chain(furniture).collect()
}

/// All furniture of a room in a line: `furniture: 12 x grave, statue`.
fn furniture<'a>(pieces: impl Iterator<Item = Furniture<'a>>) -> Option<String> {
    let mut counts = BTreeMap::<&str, u32>::new();
    for piece in pieces {
        *counts.entry(piece.archetype).or_default() += 1;
    }
    let words = |(name, count): (&&str, &u32)| match count {
        1 => names::archetype(name),
        count => format!("{count} x {}", names::archetype(name)),
    };
    let all = counts.iter().map(words).collect::<Vec<_>>().join(", ");
    (!all.is_empty()).then(|| format!("furniture: {all}"))
}

/// Monsters of one kind, level and behaviour together.
fn monsters<'a>(spawns: impl Iterator<Item = &'a Spawn>) -> Vec<String> {
    let mut groups = BTreeMap::<_, u32>::new();
    for spawn in spawns {
        *groups.entry((names::archetype(&spawn.archetype), spawn.level, names::behaviour_of(spawn))).or_default() += 1;
    }
    let words = |((name, level, does), count): ((String, u32, String), u32)| match count {
        1 => format!("{name}, level {level}, {does}"),
        count => format!("{count} x {name}, level {level}, {does}"),
    };
    groups.into_iter().map(words).collect()
}

fn ways(floor: &Floor, room: &Room) -> Vec<String> {
    let ways = floor.wire().connections.iter().filter_map(|way| {
        let other = match room.id {
            id if id == way.from_room => way.to_room,
            id if id == way.to_room => way.from_room,
            _ => return None,
        };
        let lock = if way.lock_id == 0 { String::new() } else { format!(", behind lock {}", way.lock_id) };
        Some(format!("to {}{lock}{}", names::room_number(other), if way.secret { ", secret" } else { "" }))
    });
    ways.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn the_key_says_what_each_room_holds_and_where_it_leads() {
        let entries = entries(&fixture::floor());
        assert_eq!(entries.len(), 5);
        let key = &entries[3];
        assert_eq!(key.title, "4. The Flooded Chapel (key)");
        assert_eq!(entries[0].title, "1. Entry room");
        assert_eq!(key.contents, ["goblin, level 5, patrols", "key 1"]);
        assert_eq!(key.ways, ["to 1", "to 2", "to 5, secret"]);
        assert_eq!(entries[0].contents, ["stairs up", "bread, worth 5", "furniture: stone table"]);
        assert_eq!(entries[1].ways, ["to 1", "to 3, behind lock 1", "to 4"]);
    }
}
