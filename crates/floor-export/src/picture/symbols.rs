//! The symbols that floorctl and the viewer (web/src/sprites.ts) draw alike. Both read them from `symbols.json`.

use std::{collections::BTreeMap, sync::LazyLock};

use anstyle::RgbColor;
use tiny_skia::{Path, PathBuilder};

use super::{
    canvas::{Canvas, Square},
    colour::{self, INK, LIGHT},
    scene::{Object, Style},
};

/// Colour, opacity, width of the line in sides of a cell, its least width in pixels, and the path of an SVG in a square of
/// side 1. A shape without a width is filled.
type Shape = (String, f32, f32, f32, String);

static SYMBOLS: LazyLock<BTreeMap<String, Vec<Shape>>> =
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

/// A colour of the symbols. On paper all are pale.
fn colour_of(name: &str, style: Style) -> Option<RgbColor> {
    let colour = match name {
        "ink" => return Some(INK),
        "trap" => colour::object(Object::Trap),
        "light" => LIGHT,
        "wood" => RgbColor(0xb0, 0x7a, 0x46),
        "stone" => RgbColor(0xcd, 0xc5, 0xb4),
        "leaf" => RgbColor(0x6d, 0xa3, 0x4d),
        "water" => RgbColor(0x6c, 0xb4, 0xd2),
        "fire" => RgbColor(0xf2, 0x8a, 0x3c),
        _ => return None,
    };
    Some(if style == Style::Map { colour::mix(colour, RgbColor(0xff, 0xff, 0xff), 130) } else { colour })
}

/// Draws the symbol of that name in a cell.
pub(super) fn draw(canvas: &mut Canvas, square: Square, name: &str, style: Style) {
    for (colour, opacity, width, least, path) in &SYMBOLS[name] {
        let colour = colour_of(colour, style).unwrap_or(INK);
        match outline(path, square) {
            Some(path) if *width > 0.0 => canvas.trace(&path, (width * square.side).max(*least), colour, *opacity),
            path => canvas.fill(path.as_ref(), colour, *opacity),
        }
    }
}

/// A path of the commands M, L and Z. A space separates commands and numbers.
fn outline(path: &str, square: Square) -> Option<Path> {
    let mut words = path.split(' ');
    let mut pen = PathBuilder::new();
    while let Some(command) = words.next() {
        let mut number = || words.next().and_then(|word| word.parse().ok());
        if command == "Z" {
            pen.close();
            continue;
        }
        let (x, y) = square.at(number()?, number()?);
        if command == "M" { pen.move_to(x, y) } else { pen.line_to(x, y) }
    }
    pen.finish()
}

#[cfg(test)]
mod tests {
    use floor_proto::v1::RoomRole;

    use super::*;
    use crate::names;

    #[test]
    fn every_symbol_has_a_colour_and_a_path_and_every_tint_a_symbol() {
        let square = Square { left: 0.0, top: 0.0, side: 8.0 };
        for (colour, .., path) in SYMBOLS.values().flatten() {
            assert!(colour_of(colour, Style::Data).is_some() && outline(path, square).is_some(), "{colour} {path}");
        }
        for role in (0..).map_while(|role| RoomRole::try_from(role).ok()) {
            let name = format!("{} room", names::role(role));
            assert_eq!(SYMBOLS.contains_key(&name), colour::tint(role).is_some(), "{name}");
        }
    }

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
