//! Vault files, and what is wrong with them.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use floor_gen::explain::Report;
use floor_gen::pack::PackError;
use floor_gen::pack::Vault;
use floor_gen::{FloorSpec, Generator, Kind, Pack};

#[test]
fn no_vault_stands_on_more_than_a_tenth_of_events() {
    let (pack, mut generator) = (Pack::tower(), Generator::new());
    for (width, height) in [(16, 16), (20, 40), (28, 28), (40, 32), (64, 64), (100, 100)] {
        let (report, floors) = (Report::default(), 600);
        for seed in 0..floors {
            // Floors of all themes.
            let number = 10 + seed as u32 * 7 % 90;
            let spec = FloorSpec::resolve(seed, number, width, height, Some(Kind::Event)).unwrap();
            let _ = generator.generate_observed(&spec, &report);
        }
        for (vault, counts) in report.vaults() {
            let name = &pack.vaults()[vault].name;
            assert!(counts.placed * 10 <= floors, "{width}x{height}: {name} on {} of {floors}", counts.placed);
        }
    }
}

#[test]
fn a_broken_file_is_reported_with_line_and_column() {
    let error = |text| {
        let PackError { line, column, what, .. } = Vault::parse("a.txt", text).unwrap_err().remove(0);
        (line, column, what)
    };
    let door = "a door stands between two cells of ground, across from each other";
    assert_eq!(error(""), (1, 1, "the file ends before its `map:`".to_owned()));
    assert_eq!(error("map:\n###\n"), (1, 1, "`name:` comes before `map:`".to_owned()));
    assert_eq!(error("name: a\nleast: ten\n").0, 2);
    assert_eq!(error("name: a\nsize: 3\n"), (2, 1, "unknown key `size`".to_owned()));
    assert_eq!(
        error("name: a\nmap:\n#####\n#.?.@\n#####\n"),
        (4, 3, "unknown character: expected one of `# .~wlc=\",O$*MCB^A+XS@`".to_owned())
    );
    assert_eq!(error("name: a\nmap:\n####\n#..#\n####\n").2, "a vault needs a doorway `@`");
    assert_eq!(error("name: a\nmap:\n######\n#.+#.@\n######\n"), (4, 3, door.to_owned()));
    assert_eq!(error("name: a\nmap:\n#####\n...@#\n#####\n"), (4, 1, "the map's edge is rock, wall or `@`".to_owned()));
    assert_eq!(error("name: a\nmap:\n#####\n#.#.@\n#####\n"), (4, 2, "not reachable from the first `@`".to_owned()));
    let pocket = "name: a\nmap:\n#######\n#ww#..@\n#######\n";
    assert_eq!(error(pocket), (4, 2, "a part without a passable cell".to_owned()));
    let around = "name: a\nmap:\n#######\n#..X..@\n#.###.#\n#.....#\n#######\n";
    assert_eq!(error(around), (4, 4, "this door can be bypassed".to_owned()));
}
