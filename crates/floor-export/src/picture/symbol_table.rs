//! The symbols that floorctl and the viewer (web/src/sprites.ts) draw alike. Both read them from `symbols.json`.

use std::{collections::BTreeMap, sync::LazyLock};

/// Colour, opacity, width of the line in sides of a cell, its least width in pixels, and the path of an SVG in a square of
/// side 1. A shape without a width is filled.
pub(super) type Shape = (String, f32, f32, f32, String);

pub(super) static SYMBOLS: LazyLock<BTreeMap<String, Vec<Shape>>> =
    LazyLock::new(|| serde_json::from_str(include_str!("symbols.json")).expect("the symbols are well-formed"));

/// What the names of the symbols of furniture begin with. The words that follow are those that a type's name may have.
const FURNITURE: &str = "furniture ";
/// The symbols of furniture whose type has no word of any symbol: of that which blocks the way, and of other.
const UNKNOWN: [&str; 2] = ["furniture blocks", "furniture lies"];

/// The name of the symbol of a type of furniture. The last word of its name says most: a `bone_altar` is an altar.
pub(super) fn of_furniture(archetype: &str, blocks: bool) -> &'static str {
    let of_word = |word: &str| {
        let has_word =
            |name: &str| name.strip_prefix(FURNITURE).is_some_and(|words| words.split(' ').any(|it| it == word));
        SYMBOLS.keys().find(|name| has_word(name) && !UNKNOWN.contains(&name.as_str())).map(String::as_str)
    };
    archetype.rsplit('_').find_map(of_word).unwrap_or(UNKNOWN[usize::from(!blocks)])
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
        let words = SYMBOLS.keys().filter_map(|name| name.strip_prefix(FURNITURE)).flat_map(|words| words.split(' '));
        let words = words.collect::<Vec<_>>();
        assert_eq!(words.iter().collect::<std::collections::BTreeSet<_>>().len(), words.len(), "{words:?}");
    }
}
