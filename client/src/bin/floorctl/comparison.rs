//! Everything in which two floors differ, whatever floors they are.

use floor_client::{
    Floor, Terrain,
    v1::{Connection, Item, Lock, Point, Room, Spawn, Trap},
};

use crate::{json, names};

/// What one floor has that the other has not, and the other way round.
#[derive(Debug)]
pub(crate) struct Comparison {
    /// Differences in what a floor has once: size, entry, measures and the like.
    pub(crate) facts: Vec<Fact>,
    /// Cells, row-major, that show something else; `None` for floors of two sizes, which have no cells in common.
    pub(crate) cells: Option<Vec<(u32, u32)>>,
    /// Rooms, connections, items, spawns, locks and traps, if they differ.
    pub(crate) lists: Vec<List>,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Fact {
    pub(crate) name: &'static str,
    pub(crate) one: String,
    pub(crate) other: String,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct List {
    pub(crate) name: &'static str,
    /// What the first floor alone has.
    pub(crate) removed: Vec<String>,
    /// What the second floor alone has.
    pub(crate) added: Vec<String>,
}

impl Comparison {
    pub(crate) fn of(one: &Floor, other: &Floor) -> Self {
        let (a, b) = (one.wire(), other.wire());
        let lists = [
            list("rooms", &a.rooms, &b.rooms, room),
            list("connections", &a.connections, &b.connections, connection),
            list("locks", &a.locks, &b.locks, lock),
            list("items", &a.items, &b.items, item),
            list("spawns", &a.spawns, &b.spawns, spawn),
            list("traps", &a.traps, &b.traps, trap),
        ];
        Self { facts: facts(one, other), cells: cells(one, other), lists: lists.into_iter().flatten().collect() }
    }

    /// Whether the floors are one, to the byte: their hashes are taken over all they hold.
    pub(crate) fn is_empty(&self) -> bool {
        self.facts.is_empty() && self.lists.is_empty() && self.cells.as_ref().is_some_and(Vec::is_empty)
    }
}

fn facts(one: &Floor, other: &Floor) -> Vec<Fact> {
    let told = |floor: &Floor| {
        let metrics = floor.wire().metrics.unwrap_or_default();
        let place = |at: Point| format!("({}, {})", at.x, at.y);
        [
            ("tower", floor.spec().seed.to_string()),
            ("number", floor.spec().number.to_string()),
            ("kind", names::kind_of(floor.spec())),
            ("size", format!("{}x{}", floor.width(), floor.height())),
            ("generator version", floor.wire().generator_version.to_string()),
            ("entry", place(floor.entry())),
            ("exit", place(floor.exit())),
            ("critical path", metrics.critical_path.to_string()),
            ("passable cells", metrics.passable_cells.to_string()),
            ("loops", metrics.loops.to_string()),
            ("difficulty", metrics.difficulty.to_string()),
            ("encoded bytes", floor.encoded_len().to_string()),
            ("content hash", json::hash(floor.content_hash())),
        ]
    };
    let pairs = told(one).into_iter().zip(told(other));
    let facts = pairs.map(|((name, one), (_, other))| Fact { name, one, other });
    facts.filter(|fact| fact.one != fact.other).collect()
}

/// Cells whose terrain or room differs.
fn cells(one: &Floor, other: &Floor) -> Option<Vec<(u32, u32)>> {
    if (one.width(), one.height()) != (other.width(), other.height()) {
        return None;
    }
    let cells = (0..one.height()).flat_map(|y| (0..one.width()).map(move |x| (x, y)));
    let values = |floor: &Floor, index: usize| -> (Terrain, u8) { (floor.terrain()[index], floor.region()[index]) };
    let differ = |index: &usize| values(one, *index) != values(other, *index);
    Some(cells.enumerate().filter(|(index, _)| differ(index)).map(|(_, cell)| cell).collect())
}

/// `None` where the lists hold the same, in whatever order.
fn list<T: PartialEq>(name: &'static str, one: &[T], other: &[T], describe: fn(&T) -> String) -> Option<List> {
    let removed = without(one, other).into_iter().map(describe).collect::<Vec<_>>();
    let added = without(other, one).into_iter().map(describe).collect::<Vec<_>>();
    (!removed.is_empty() || !added.is_empty()).then_some(List { name, removed, added })
}

/// What is left of a list when each element of another takes away one that equals it.
fn without<'a, T: PartialEq>(list: &'a [T], others: &[T]) -> Vec<&'a T> {
    let mut taken = vec![false; others.len()];
    let mut is_taken = |element: &T| {
        let place = (0..others.len()).find(|place| !taken[*place] && others[*place] == *element);
        place.map(|place| taken[place] = true).is_some()
    };
    list.iter().filter(|element| !is_taken(element)).collect()
}

fn place(at: Option<Point>) -> String {
    let Point { x, y } = at.unwrap_or_default();
    format!("({x}, {y})")
}

fn room(room: &Room) -> String {
    format!("{} {}, {} to {}", room.id, names::role_of(room), place(room.min), place(room.max))
}

fn connection(way: &Connection) -> String {
    let lock = if way.lock_id == 0 { String::new() } else { format!(", lock {}", way.lock_id) };
    let secret = if way.secret { ", secret" } else { "" };
    format!("rooms {} and {}{lock}{secret}", way.from_room, way.to_room)
}

fn lock(lock: &Lock) -> String {
    format!("{} at {}", lock.id, place(lock.at))
}

fn item(item: &Item) -> String {
    let what =
        if item.opens_lock == 0 { format!("worth {}", item.value) } else { format!("opens {}", item.opens_lock) };
    format!("{} at {}, {what}", item.archetype, place(item.at))
}

fn spawn(spawn: &Spawn) -> String {
    format!("{} at {}, level {}", spawn.archetype, place(spawn.at), spawn.level)
}

fn trap(trap: &Trap) -> String {
    format!("{} at {}, level {}", trap.archetype, place(trap.at), trap.level)
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
        assert!(comparison.facts.contains(&Fact { name: "size", one: "30x16".to_owned(), other: "20x16".to_owned() }));
    }

    #[test]
    fn what_moved_is_gone_and_new_and_what_is_twice_counts_twice() {
        assert_eq!(without(&[1, 1, 2, 3], &[3, 1]), [&1, &2]);
        let comparison = Comparison::of(&fixture::floor(), &fixture::altered());
        assert_eq!(comparison.cells, Some(vec![(6, 2), (21, 2)]));
        let names = comparison.lists.iter().map(|list| (list.name, list.removed.len(), list.added.len()));
        assert_eq!(names.collect::<Vec<_>>(), [("connections", 1, 0), ("items", 0, 1), ("spawns", 1, 1)]);
    }
}
