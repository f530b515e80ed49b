//! Describes the first difference between two floors, for `floorctl verify`.

use floor_client::{Floor, v1};
use floor_export::names;

/// The first difference between two floors of one spec, `None` if they are equal. The strings name the floors in the
/// description.
pub(crate) fn between(first: (&str, &Floor), second: (&str, &Floor)) -> Option<String> {
    let ((first_name, first), (second_name, second)) = (first, second);
    let describe = |what: &str, one: &dyn std::fmt::Display, other: &dyn std::fmt::Display| {
        format!("{what}: {one} in {first_name}, {other} in {second_name}")
    };
    let (a, b) = (first.wire(), second.wire());
    if a.generator_version != b.generator_version {
        return Some(describe("generator version", &a.generator_version, &b.generator_version));
    }
    if a.spec != b.spec {
        return Some(describe("spec", &format!("{:?}", first.spec()), &format!("{:?}", second.spec())));
    }
    let width = first.width() as usize;
    let cell = |index: usize| format!("({}, {})", index % width, index / width);
    if let Some(index) = unequal(first.terrain(), second.terrain()) {
        let [one, other] = [first, second].map(|floor| names::terrain(floor.terrain()[index]));
        return Some(describe(&format!("terrain at {}", cell(index)), &one, &other));
    }
    if let Some(index) = unequal(first.region(), second.region()) {
        return Some(describe(&format!("region at {}", cell(index)), &first.region()[index], &second.region()[index]));
    }
    let furniture = [first, second].map(|floor| floor.furniture().collect::<Vec<_>>());
    in_lists(a, b)
        .or_else(|| first_unequal("furniture", &furniture[0], &furniture[1]))
        .map(|(list, index, one, other)| describe(&format!("{list}[{index}]"), &one, &other))
        .or_else(|| (a.name != b.name).then(|| describe("name", &first.name(), &second.name())))
        .or_else(|| (a.hook != b.hook).then(|| describe("hook", &first.hook(), &second.hook())))
        .or_else(|| (a.landmark != b.landmark).then(|| describe("landmark", &a.landmark, &b.landmark)))
        .or_else(|| (a.theme != b.theme).then(|| describe("theme", &a.theme, &b.theme)))
        .or_else(|| (a.landing != b.landing).then(|| describe("landing", &debug(&a.landing), &debug(&b.landing))))
        .or_else(|| (a.metrics != b.metrics).then(|| describe("metrics", &debug(&a.metrics), &debug(&b.metrics))))
        .or_else(|| {
            (a != b).then(|| describe("content hash", &names::hash(a.content_hash), &names::hash(b.content_hash)))
        })
}

/// The name of the first list that differs, and the index and text of its first elements that differ.
fn in_lists(a: &v1::Floor, b: &v1::Floor) -> Option<(&'static str, usize, String, String)> {
    first_unequal("rooms", &a.rooms, &b.rooms)
        .or_else(|| first_unequal("connections", &a.connections, &b.connections))
        .or_else(|| first_unequal("spawns", &a.spawns, &b.spawns))
        .or_else(|| first_unequal("items", &a.items, &b.items))
        .or_else(|| first_unequal("locks", &a.locks, &b.locks))
        .or_else(|| first_unequal("traps", &a.traps, &b.traps))
}

fn first_unequal<T: PartialEq + std::fmt::Debug>(
    list: &'static str,
    a: &[T],
    b: &[T],
) -> Option<(&'static str, usize, String, String)> {
    let index = unequal(a, b)?;
    let element = |list: &[T]| list.get(index).map_or_else(|| "nothing".to_owned(), debug);
    Some((list, index, element(a), element(b)))
}

/// The first index at which two lists differ. The end of the shorter list counts as a difference.
fn unequal<T: PartialEq>(a: &[T], b: &[T]) -> Option<usize> {
    a.iter().zip(b).position(|(a, b)| a != b).or_else(|| (a.len() != b.len()).then(|| a.len().min(b.len())))
}

fn debug(value: &impl std::fmt::Debug) -> String {
    format!("{value:?}")
}

#[cfg(test)]
mod tests {
    use floor_proto::{grid, hash};

    use super::*;
    use crate::fixture;

    /// The difference between the fixture and an altered copy.
    fn difference(alter: impl FnOnce(&mut v1::Floor)) -> Option<String> {
        let mut altered = fixture::message();
        alter(&mut altered);
        altered.content_hash = hash::content_hash(&altered);
        let altered = fixture::decoded(altered);
        between(("one", &fixture::floor()), ("two", &altered))
    }

    #[test]
    fn equal_floors_do_not_differ() {
        assert_eq!(difference(|_| {}), None);
    }

    #[test]
    fn the_first_difference_is_named() {
        let cell = difference(|floor| {
            let mut cells = grid::decode(floor.terrain.as_ref().unwrap()).unwrap();
            cells[2 * 30 + 6] = floor_client::Terrain::Wall as u8;
            floor.terrain = Some(grid::encode(30, 16, &cells));
            floor.spawns.clear();
        });
        assert_eq!(cell.unwrap(), "terrain at (6, 2): door in one, wall in two");
        let shorter = difference(|floor| floor.locks.clear()).unwrap();
        assert!(shorter.starts_with("locks[0]: Lock {") && shorter.ends_with("in one, nothing in two"), "{shorter}");
        let version = difference(|floor| floor.generator_version = 2).unwrap();
        assert_eq!(version, "generator version: 1 in one, 2 in two");
        let furniture = difference(|floor| floor.furniture[0].archetype = "tomb".to_owned()).unwrap();
        assert!(furniture.starts_with("furniture[0]: Furniture {") && furniture.contains("tomb"), "{furniture}");
        let name = difference(|floor| floor.name = None).unwrap();
        assert_eq!(name, "name: The Crypt of Two Keys in one,  in two");
        let metrics = difference(|floor| floor.metrics = None).unwrap();
        assert!(metrics.starts_with("metrics: Some("), "{metrics}");
    }
}
