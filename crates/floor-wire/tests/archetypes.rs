//! Checks that docs/protocol.md lists exactly the archetypes that the generator uses, each in the right table row.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::collections::BTreeSet;

use floor_gen::{FloorSpec, Generator, Kind, Pack};

const PAGE: &str = include_str!("../../../docs/protocol.md");

/// The names in backticks in the table row that begins with `first`, in the section Archetypes.
fn listed(first: &str) -> BTreeSet<String> {
    let section = PAGE.split("\n## Archetypes\n").nth(1).unwrap().split("\n## ").next().unwrap();
    let row = section.lines().find(|line| line.starts_with(&format!("| {first} |")));
    let row = row.unwrap_or_else(|| panic!("no row {first:?} under Archetypes in docs/protocol.md"));
    row.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

#[test]
fn every_archetype_is_listed() {
    let mut generator = Generator::default();
    let themes = Pack::tower().themes();
    let (mut monsters, mut items, mut traps) = (vec![BTreeSet::new(); themes.len()], BTreeSet::new(), BTreeSet::new());
    let mut furniture = BTreeSet::new();
    for seed in 0..4 {
        for number in 1..=70 {
            for kind in Kind::ALL {
                let floor = generator.generate(&FloorSpec::resolve(seed, number, 64, 64, Some(kind)).unwrap());
                let theme = themes.iter().position(|theme| theme.name() == floor.theme).unwrap();
                monsters[theme].extend(floor.spawns.iter().map(|spawn| spawn.archetype.to_owned()));
                items.extend(floor.items.iter().map(|item| item.archetype.to_owned()));
                traps.extend(floor.traps.iter().map(|trap| trap.archetype.to_owned()));
                furniture.extend(floor.furniture.iter().map(|piece| piece.archetype.to_owned()));
            }
        }
    }
    for (theme, monsters) in themes.iter().zip(monsters) {
        assert_eq!(listed(theme.name()), monsters, "monsters of the theme {}", theme.name());
    }
    assert_eq!(listed("items"), items);
    assert_eq!(listed("traps"), traps);
    assert_eq!(listed("furniture"), furniture);
}
