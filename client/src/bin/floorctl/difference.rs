//! The first difference between two floors, in words.

use floor_client::{Floor, v1};

use crate::{json, names};

/// Where two floors of one spec first differ, `None` if they do not. `first` and `second` name them in the sentence.
pub(crate) fn between(first: (&str, &Floor), second: (&str, &Floor)) -> Option<String> {
    let ((first_name, first), (second_name, second)) = (first, second);
    let say = |what: &str, one: &dyn std::fmt::Display, other: &dyn std::fmt::Display| {
        format!("{what}: {one} in {first_name}, {other} in {second_name}")
    };
    let (a, b) = (first.wire(), second.wire());
    if a.generator_version != b.generator_version {
        return Some(say("generator version", &a.generator_version, &b.generator_version));
    }
    if a.spec != b.spec {
        return Some(say("spec", &format!("{:?}", first.spec()), &format!("{:?}", second.spec())));
    }
    let width = first.width() as usize;
    let cell = |index: usize| format!("({}, {})", index % width, index / width);
    if let Some(index) = unequal(first.terrain(), second.terrain()) {
        let [one, other] = [first, second].map(|floor| names::terrain(floor.terrain()[index]));
        return Some(say(&format!("terrain at {}", cell(index)), &one, &other));
    }
    if let Some(index) = unequal(first.region(), second.region()) {
        return Some(say(&format!("region at {}", cell(index)), &first.region()[index], &second.region()[index]));
    }
    in_lists(a, b)
        .map(|(list, index, one, other)| say(&format!("{list}[{index}]"), &one, &other))
        .or_else(|| (a.metrics != b.metrics).then(|| say("metrics", &debug(&a.metrics), &debug(&b.metrics))))
        .or_else(|| (a != b).then(|| say("content hash", &json::hash(a.content_hash), &json::hash(b.content_hash))))
}

/// The first list that differs, and its first element that does.
fn in_lists(a: &v1::Floor, b: &v1::Floor) -> Option<(&'static str, usize, String, String)> {
    first_of("rooms", &a.rooms, &b.rooms)
        .or_else(|| first_of("connections", &a.connections, &b.connections))
        .or_else(|| first_of("spawns", &a.spawns, &b.spawns))
        .or_else(|| first_of("items", &a.items, &b.items))
        .or_else(|| first_of("locks", &a.locks, &b.locks))
        .or_else(|| first_of("traps", &a.traps, &b.traps))
}

fn first_of<T: PartialEq + std::fmt::Debug>(
    list: &'static str,
    a: &[T],
    b: &[T],
) -> Option<(&'static str, usize, String, String)> {
    let index = unequal(a, b)?;
    let element = |list: &[T]| list.get(index).map_or_else(|| "nothing".to_owned(), debug);
    Some((list, index, element(a), element(b)))
}

/// The first index at which two lists differ, the end of the shorter included.
fn unequal<T: PartialEq>(a: &[T], b: &[T]) -> Option<usize> {
    a.iter().zip(b).position(|(a, b)| a != b).or_else(|| (a.len() != b.len()).then(|| a.len().min(b.len())))
}

fn debug(value: &impl std::fmt::Debug) -> String {
    format!("{value:?}")
}
