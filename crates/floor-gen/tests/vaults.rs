//! Vault files, and what is wrong with them.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use floor_gen::pack::PackError;
use floor_gen::pack::Vault;

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
