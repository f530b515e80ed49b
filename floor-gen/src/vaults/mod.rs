//! The library of hand-made vaults: the text files in `vaults/` of this crate, checked when it is built.
//! docs/generator.md explains how to write one.

mod format;

pub use format::{Vault, VaultError};

// The build script writes `pub static LIBRARY: [Vault<'static>; N]`, in the order of the file names.
include!(concat!(env!("OUT_DIR"), "/library.rs"));

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeSet;

    #[test]
    fn the_library_has_distinct_vaults_for_every_floor() {
        let names: BTreeSet<_> = LIBRARY.iter().map(|vault| vault.name).collect();
        assert!(names.len() >= 8 && names.len() == LIBRARY.len(), "two vaults share a name: {names:?}");
        // A vault fits the smallest floor with any number.
        assert!(LIBRARY.iter().any(|vault| vault.min_number == 1 && vault.width.max(vault.height) <= 8));
    }

    #[test]
    fn a_broken_file_is_reported_with_line_and_column() {
        let error = |text| {
            let VaultError { line, column, what } = Vault::parse(text).unwrap_err();
            (line, column, what)
        };
        let door = "a door stands between two cells of ground, across from each other";
        assert_eq!(error(""), (1, 1, "the file ends before its `map:`"));
        assert_eq!(error("map:\n###\n"), (1, 1, "`name:` comes before `map:`"));
        assert_eq!(error("name: a\nleast: ten\n").0, 2);
        assert_eq!(error("name: a\nsize: 3\n"), (2, 1, "unknown key: expected `name`, `least` or `map`"));
        assert_eq!(error("name: a\nmap:\n#####\n#.?.@\n#####\n"), (4, 3, "unknown character"));
        assert_eq!(error("name: a\nmap:\n####\n#..#\n####\n").2, "a vault needs a doorway `@`");
        assert_eq!(error("name: a\nmap:\n######\n#.+#.@\n######\n"), (4, 3, door));
        assert_eq!(error("name: a\nmap:\n#####\n...@#\n#####\n"), (4, 1, "the map's edge is rock, wall or `@`"));
        assert_eq!(error("name: a\nmap:\n#####\n#.#.@\n#####\n"), (4, 2, "not reachable from the first `@`"));
        let pocket = "name: a\nmap:\n#######\n#ww#..@\n#######\n";
        assert_eq!(error(pocket), (4, 2, "a part without a passable cell"));
        let around = "name: a\nmap:\n#######\n#..X..@\n#.###.#\n#.....#\n#######\n";
        assert_eq!(error(around), (4, 4, "this door can be bypassed"));
    }
}
