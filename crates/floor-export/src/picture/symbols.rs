//! The symbols that floorctl and the viewer (web/src/sprites.ts) draw alike. Both read them from `symbols.json`.

use std::{collections::BTreeMap, sync::LazyLock};

use tiny_skia::{Path, PathBuilder};

use super::{
    canvas::{Canvas, Square},
    colour::{self, INK},
    scene::Object,
};

/// Colour, opacity, width of the line in sides of a cell, its least width in pixels, and the path of an SVG in a square of
/// side 1. A shape without a width is filled.
type Shape = (String, f32, f32, f32, String);

static SYMBOLS: LazyLock<BTreeMap<String, Vec<Shape>>> =
    LazyLock::new(|| serde_json::from_str(include_str!("symbols.json")).expect("the symbols are well-formed"));

/// Draws the symbol of that name in a cell.
pub(super) fn draw(canvas: &mut Canvas, square: Square, name: &str) {
    for (colour, opacity, width, least, path) in &SYMBOLS[name] {
        let colour = if colour == "trap" { colour::object(Object::Trap) } else { INK };
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
            assert!(["ink", "trap"].contains(&colour.as_str()) && outline(path, square).is_some(), "{colour} {path}");
        }
        for role in (0..).map_while(|role| RoomRole::try_from(role).ok()) {
            let name = format!("{} room", names::role(role));
            assert_eq!(SYMBOLS.contains_key(&name), colour::tint(role).is_some(), "{name}");
        }
    }
}
