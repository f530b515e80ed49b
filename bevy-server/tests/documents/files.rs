//! Checks that the files and folders exist that documents name.

use std::{borrow::Borrow, collections::BTreeSet, fs, iter, path::Path};

use crate::root;

/// Folders that commands make. git ignores them.
const MADE: [&str; 6] = ["data", "deploy/edge/secrets", "dist", "fuzz/artifacts", "fuzz/found", "packs/mine"];
/// Names of folders without files of ours.
const SKIPPED: [&str; 4] = [".git", "__pycache__", "node_modules", "target"];

/// A word is checked if it begins with a folder of the project, or is the path of a Rust file. A Rust file may be named by
/// the end of its path (`tiers/lru.rs`). ARCHITECTURE.md and CONTRIBUTING.md also name files (`app.rs`) and folders
/// (`tiers/`) alone.
#[test]
fn every_file_that_a_document_names_exists() {
    let mut paths = BTreeSet::new();
    list(root(), &mut paths);
    let tops: BTreeSet<&str> = paths.iter().filter_map(|path| Some(path.split_once('/')?.0)).collect();
    let ends: BTreeSet<&str> = paths.iter().flat_map(|path| ends_of(path)).collect();
    let mut checked = 0;
    let mut missing = Vec::new();
    for page in paths.iter().filter(|path| is_checked(path)) {
        let names_parts = ["ARCHITECTURE.md", "CONTRIBUTING.md"].contains(&page.as_str());
        let text = fs::read_to_string(root().join(page)).unwrap();
        for (number, line) in text.lines().enumerate() {
            for word in words(line) {
                let path = pattern(word);
                let is_in_folder = path.split_once('/').is_some_and(|(top, _)| tops.contains(top));
                let is_rust = path.ends_with(".rs") && (names_parts || path.contains('/'));
                let is_folder = names_parts && word.ends_with('/');
                if !(is_in_folder || is_rust || is_folder) || MADE.iter().any(|made| path.starts_with(made)) {
                    continue;
                }
                checked += 1;
                if !is_there(&path, &paths) && !is_there(&path, &ends) {
                    missing.push(format!("{page}:{}: {word}", number + 1));
                }
            }
        }
    }
    assert!(checked > 300, "only {checked} names");
    assert!(missing.is_empty(), "these do not exist:\n{}", missing.join("\n"));
}

/// A changelog and records of measurements name files of their time.
fn is_checked(path: &str) -> bool {
    path.ends_with(".md") && path != "CHANGELOG.md" && !path.starts_with("benches/records/")
}

/// Every file and folder of the project, by its path in it.
fn list(folder: &Path, paths: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap().path();
        let path = entry.strip_prefix(root()).unwrap().to_str().unwrap();
        if MADE.contains(&path) || ends_of(path).last().is_some_and(|name| SKIPPED.contains(&name)) {
            continue;
        }
        paths.insert(path.to_owned());
        if entry.is_dir() {
            list(&entry, paths);
        }
    }
}

/// The path itself, and what follows each slash.
fn ends_of(path: &str) -> impl Iterator<Item = &str> {
    iter::once(path).chain(path.match_indices('/').map(|(at, _)| &path[at + 1..]))
}

/// The words of a line that may be paths of the project: no addresses, and no paths of the machine. `.ci/links` checks
/// links, whose paths begin in the folder of their page.
fn words(line: &str) -> impl Iterator<Item = &str> {
    let in_word = |c: char| c.is_ascii_alphanumeric() || "-_./*<>:@#%$~".contains(c);
    let words = line.split(move |c| !in_word(c)).map(|word| word.split('#').next().unwrap_or_default());
    words.map(|word| word.trim_end_matches([':', '.'])).filter(|word| {
        let is_elsewhere = word.starts_with(['/', '~', '$', '-', '<']) || word.contains([':', '@', '%', '$']);
        !(word.is_empty() || is_elsewhere || word.starts_with("./") || word.starts_with(".."))
    })
}

/// A word as a path, with `*` for what stands for a name (`<kind>`).
fn pattern(word: &str) -> String {
    let mut pieces = word.trim_end_matches('/').split('<');
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |path, piece| format!("{path}*{}", piece.split_once('>').map_or("", |(_, rest)| rest)))
}

/// Whether one of `paths` is `pattern`, in which `*` stands for a part of a name.
fn is_there<T: AsRef<str> + Ord + Borrow<str>>(pattern: &str, paths: &BTreeSet<T>) -> bool {
    match pattern.split_once('*') {
        None => paths.contains(pattern),
        Some((start, end)) => paths.iter().map(AsRef::as_ref).any(|path| {
            let between = path.strip_prefix(start).and_then(|rest| rest.strip_suffix(end.trim_start_matches('*')));
            between.is_some_and(|between| !between.contains('/'))
        }),
    }
}
