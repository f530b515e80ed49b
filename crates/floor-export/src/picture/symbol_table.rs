//! The symbols that floorctl and the viewer (web/src/sprites.ts) draw alike. Both read them from `symbols.json`.

use std::{collections::BTreeMap, sync::LazyLock};

/// Colour, opacity, width of the line in sides of a cell, its least width in pixels, and the path of an SVG in a square of
/// side 1. A shape without a width is filled.
pub(super) type Shape = (String, f32, f32, f32, String);

pub(super) static SYMBOLS: LazyLock<BTreeMap<String, Vec<Shape>>> =
    LazyLock::new(|| serde_json::from_str(include_str!("symbols.json")).expect("the symbols are well-formed"));

/// What the names of the symbols of furniture and of monsters begin with. The words that follow are those that a type's
/// name may have.
const FURNITURE: &str = "furniture ";
const MONSTER: &str = "monster ";
/// The symbol of a monster that is larger than its cell.
const LARGE: &str = "large ";
/// The symbols of furniture whose type has no word of any symbol: of that which blocks the way, and of other.
const UNKNOWN: [&str; 2] = ["furniture blocks", "furniture lies"];

/// The name of the symbol of a type of furniture. The last word of its name says most: a `bone_altar` is an altar.
pub(super) fn of_furniture(archetype: &str, blocks: bool) -> &'static str {
    of(FURNITURE, archetype).unwrap_or(UNKNOWN[usize::from(!blocks)])
}

/// The name of the symbol of a type of monster.
pub(super) fn of_monster(archetype: &str) -> Option<&'static str> {
    of(MONSTER, archetype)
}

/// Whether a symbol is that of a monster which is larger than its cell.
pub(super) fn is_large(symbol: &str) -> bool {
    symbol.starts_with(LARGE)
}

/// The symbol of a sort whose name has the last known word of the archetype.
fn of(sort: &str, archetype: &str) -> Option<&'static str> {
    let words = |name: &'static str| name.strip_prefix(LARGE).unwrap_or(name).strip_prefix(sort);
    let has_word = |name, word| words(name).is_some_and(|words| words.split(' ').any(|it| it == word));
    let of_word =
        |word| SYMBOLS.keys().map(String::as_str).find(|name| has_word(*name, word) && !UNKNOWN.contains(name));
    archetype.rsplit('_').find_map(of_word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn furniture_has_the_symbol_of_its_last_known_word_and_each_word_one_symbol() {
        assert!(of_furniture("grave", true).starts_with("furniture grave"));
        assert_eq!(of_furniture("bone_altar", true), of_furniture("altar", false));
        assert_eq!(of_furniture("altar_of_the_deep", true), of_furniture("altar", true));
        assert_eq!(of_furniture("orrery", true), "furniture blocks");
        assert_eq!(of_furniture("", false), "furniture lies");
        assert_eq!(of_furniture("blocks", false), "furniture lies");
        assert_eq!(of_monster("bone_archer"), of_monster("slinger"));
        assert!(of_monster("frost_wyrm").is_some_and(is_large) && !of_monster("rat").is_some_and(is_large));
        assert_eq!(of_monster("tapir"), None);
        for sort in [FURNITURE, MONSTER] {
            let names = SYMBOLS.keys().map(|name| name.strip_prefix(LARGE).unwrap_or(name));
            let words = names.filter_map(|name| name.strip_prefix(sort)).flat_map(|words| words.split(' '));
            let words = words.collect::<Vec<_>>();
            assert_eq!(words.iter().collect::<std::collections::BTreeSet<_>>().len(), words.len(), "{words:?}");
        }
    }
}
