//! The library of hand-made vaults: text files in this crate's `vaults/`, compiled in. docs/generator.md tells how to
//! write one.

mod format;

pub use format::{Vault, VaultError};

// `LIBRARY: [(&str, &str); N]`, file name and text, in the order of the names. The build script writes it.
include!(concat!(env!("OUT_DIR"), "/library.rs"));

/// Every vault of the library.
pub fn all() -> impl Iterator<Item = Vault<'static>> {
    // The build script has read each of them.
    LIBRARY.iter().filter_map(|(_, text)| Vault::parse(text).ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn every_file_of_the_library_reads() {
        assert!(LIBRARY.len() >= 8);
        for (file, text) in LIBRARY {
            if let Err(error) = Vault::parse(text) {
                panic!("{file}:{error}");
            }
        }
        let mut names: Vec<_> = all().map(|vault| vault.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), LIBRARY.len(), "two vaults share a name");
    }

    #[test]
    fn a_broken_file_is_told_by_line_and_column() {
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
        assert_eq!(error("name: a\nmap:\n####\n#..#\n####\n").2, "a vault needs an `@`: nobody could come in");
        assert_eq!(error("name: a\nmap:\n#####\n#..+@\n#####\n"), (4, 4, door));
        assert_eq!(error("name: a\nmap:\n#####\n...@#\n#####\n"), (4, 1, "the map's edge is rock, wall or `@`"));
        assert_eq!(error("name: a\nmap:\n#####\n#.#.@\n#####\n"), (4, 2, "nobody gets here from the first `@`"));
        let around = "name: a\nmap:\n#######\n#..X..@\n#.#####\n#.....#\n#####+#\n";
        assert!(Vault::parse(around).is_err());
    }
}
