//! All differences between any two floors, for `floorctl diff`.

use floor_client::{
    Floor, Terrain,
    v1::{Connection, Item, Lock, Point, Room, Spawn},
};
use floor_export::names;
use serde::Serialize;

/// The differences between two floors.
#[derive(Debug)]
pub(crate) struct Comparison {
    /// Fields with a single value that differ: size, entry, metrics and others.
    pub(crate) fields: Vec<FieldDiff>,
    /// Cells whose terrain or room differs, row-major; `None` for floors of different sizes.
    pub(crate) cells: Option<Vec<(u32, u32)>>,
    /// Those lists of rooms, connections, locks, items, spawns, traps and furniture that differ.
    pub(crate) lists: Vec<ListDiff>,
}

#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct FieldDiff {
    pub(crate) name: &'static str,
    #[serde(rename = "a")]
    pub(crate) one: String,
    #[serde(rename = "b")]
    pub(crate) other: String,
}

#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct ListDiff {
    pub(crate) name: &'static str,
    /// Elements that only the first floor has.
    pub(crate) removed: Vec<String>,
    /// Elements that only the second floor has.
    pub(crate) added: Vec<String>,
}

impl Comparison {
    pub(crate) fn of(one: &Floor, other: &Floor) -> Self {
        let (a, b) = (one.wire(), other.wire());
        let furniture = [one, other].map(|floor| floor.furniture().collect::<Vec<_>>());
        let lists = [
            list("rooms", &a.rooms, &b.rooms, room),
            list("connections", &a.connections, &b.connections, connection),
            list("locks", &a.locks, &b.locks, lock),
            list("items", &a.items, &b.items, item),
            list("spawns", &a.spawns, &b.spawns, spawn),
            list("traps", &a.traps, &b.traps, |trap| with_level(&trap.archetype, trap.at, trap.level)),
            list("furniture", &furniture[0], &furniture[1], |piece| {
                format!("{} at {}", piece.archetype, names::position(Some(piece.at)))
            }),
        ];
        Self { fields: fields(one, other), cells: cells(one, other), lists: lists.into_iter().flatten().collect() }
    }

    /// Whether the floors are byte for byte the same: the compared content hash covers the whole floor.
    pub(crate) fn is_empty(&self) -> bool {
        self.fields.is_empty() && self.lists.is_empty() && self.cells.as_ref().is_some_and(Vec::is_empty)
    }
}

fn fields(one: &Floor, other: &Floor) -> Vec<FieldDiff> {
    let fields_of = |floor: &Floor| {
        let metrics = floor.wire().metrics.unwrap_or_default();
        [
            ("tower", floor.spec().seed.to_string()),
            ("number", floor.spec().number.to_string()),
            ("kind", names::kind_of(floor.spec())),
            ("theme", floor.theme().to_owned()),
            ("name", floor.name().to_owned()),
            ("hook", floor.hook().to_owned()),
            ("landmark", floor.landmark().map_or_else(|| "none".to_owned(), room)),
            ("size", format!("{}x{}", floor.width(), floor.height())),
            ("generator version", floor.wire().generator_version.to_string()),
            ("entry", names::position(Some(floor.entry()))),
            ("exit", names::position(Some(floor.exit()))),
            ("landing", names::position(Some(floor.landing()))),
            ("critical path", metrics.critical_path.to_string()),
            ("passable cells", metrics.passable_cells.to_string()),
            ("loops", metrics.loops.to_string()),
            ("difficulty", metrics.difficulty.to_string()),
            ("encoded bytes", floor.encoded_len().to_string()),
            ("content hash", names::hash(floor.content_hash())),
        ]
    };
    let pairs = fields_of(one).into_iter().zip(fields_of(other));
    let fields = pairs.map(|((name, one), (_, other))| FieldDiff { name, one, other });
    fields.filter(|field| field.one != field.other).collect()
}

/// The cells whose terrain or room differs.
fn cells(one: &Floor, other: &Floor) -> Option<Vec<(u32, u32)>> {
    if (one.width(), one.height()) != (other.width(), other.height()) {
        return None;
    }
    let cells = (0..one.height()).flat_map(|y| (0..one.width()).map(move |x| (x, y)));
    let values = |floor: &Floor, index: usize| -> (Terrain, u8) { (floor.terrain()[index], floor.region()[index]) };
    let differ = |index: &usize| values(one, *index) != values(other, *index);
    Some(cells.enumerate().filter(|(index, _)| differ(index)).map(|(_, cell)| cell).collect())
}

/// The difference of two lists; `None` if they hold the same elements in any order.
fn list<T: PartialEq>(name: &'static str, one: &[T], other: &[T], describe: fn(&T) -> String) -> Option<ListDiff> {
    let removed = without(one, other).into_iter().map(describe).collect::<Vec<_>>();
    let added = without(other, one).into_iter().map(describe).collect::<Vec<_>>();
    (!removed.is_empty() || !added.is_empty()).then_some(ListDiff { name, removed, added })
}

/// The elements of a list without an equal partner in the other list. Each element is partner of at most one.
fn without<'a, T: PartialEq>(list: &'a [T], others: &[T]) -> Vec<&'a T> {
    let mut matched = vec![false; others.len()];
    let mut is_matched = |element: &T| {
        let position = (0..others.len()).find(|position| !matched[*position] && others[*position] == *element);
        position.map(|position| matched[position] = true).is_some()
    };
    list.iter().filter(|element| !is_matched(element)).collect()
}

fn room(room: &Room) -> String {
    let number = names::room_number(room.id);
    let name = if room.name().is_empty() { String::new() } else { format!(" {:?}", room.name()) };
    let [min, max] = [room.min, room.max].map(names::position);
    format!("{number} {}{name}, {min} to {max}", names::role_of(room))
}

fn connection(connection: &Connection) -> String {
    let lock = if connection.lock_id == 0 { String::new() } else { format!(", lock {}", connection.lock_id) };
    let secret = if connection.secret { ", secret" } else { "" };
    let [from, to] = [connection.from_room, connection.to_room].map(names::room_number);
    format!("rooms {from} and {to}{lock}{secret}")
}

fn lock(lock: &Lock) -> String {
    format!("{} at {}", lock.id, names::position(lock.at))
}

fn item(item: &Item) -> String {
    let what =
        if item.opens_lock == 0 { format!("worth {}", item.value) } else { format!("opens {}", item.opens_lock) };
    format!("{} at {}, {what}", item.archetype, names::position(item.at))
}

fn spawn(spawn: &Spawn) -> String {
    let group = if spawn.group == 0 { String::new() } else { format!(", group {}", spawn.group) };
    format!("{}, {}{group}", with_level(&spawn.archetype, spawn.at, spawn.level), names::behaviour_of(spawn))
}

fn with_level(archetype: &str, at: Option<Point>, level: u32) -> String {
    format!("{archetype} at {}, level {level}", names::position(at))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn a_floor_does_not_differ_from_itself() {
        assert!(Comparison::of(&fixture::floor(), &fixture::floor()).is_empty());
    }

    #[test]
    fn floors_of_two_sizes_have_no_cells_in_common() {
        let comparison = Comparison::of(&fixture::floor(), &fixture::plain(20, 16));
        assert_eq!(comparison.cells, None);
        assert!(!comparison.is_empty());
        assert!(comparison.fields.contains(&FieldDiff {
            name: "size",
            one: "30x16".to_owned(),
            other: "20x16".to_owned()
        }));
    }

    #[test]
    fn a_moved_object_is_removed_and_added_and_duplicates_count() {
        assert_eq!(without(&[1, 1, 2, 3], &[3, 1]), [&1, &2]);
        let comparison = Comparison::of(&fixture::floor(), &fixture::altered());
        assert_eq!(comparison.cells, Some(vec![(6, 2), (21, 2)]));
        let names = comparison.lists.iter().map(|list| (list.name, list.removed.len(), list.added.len()));
        assert_eq!(names.collect::<Vec<_>>(), [("connections", 1, 0), ("items", 0, 1), ("spawns", 1, 1)]);
    }
}
