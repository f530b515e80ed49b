//! Checks that the numbers of `floor_gen.h` are those of the protocol.

use std::collections::BTreeSet;

use floor_proto::v1::{Behaviour, FloorKind, RoomRole, Terrain};

const HEADER: &str = include_str!("../floor_gen.h");

/// The entries of the protocol's enums, as the header writes them.
fn expected() -> BTreeSet<String> {
    let names = |name_of: fn(i32) -> Option<&'static str>| {
        (0..256).filter_map(move |number| Some(format!("FLOOR_GEN_{} = {number}", name_of(number)?)))
    };
    let mut all: BTreeSet<_> = names(|n| FloorKind::try_from(n).ok().map(|kind| kind.as_str_name())).collect();
    all.extend(names(|n| Terrain::try_from(n).ok().map(|terrain| terrain.as_str_name())).skip(1));
    all.extend(names(|n| RoomRole::try_from(n).ok().map(|role| role.as_str_name())).skip(1));
    all.extend(names(|n| Behaviour::try_from(n).ok().map(|behaviour| behaviour.as_str_name())).skip(1));
    all
}

#[test]
fn the_header_has_the_numbers_of_the_protocol() {
    let entries = HEADER.lines().map(|line| line.split("/*").next().unwrap_or_default().trim().trim_end_matches(','));
    let found = entries.filter(|entry| entry.starts_with("FLOOR_GEN_") && !entry.starts_with("FLOOR_GEN_ERROR_"));
    assert_eq!(found.map(str::to_owned).collect::<BTreeSet<_>>(), expected());
}
