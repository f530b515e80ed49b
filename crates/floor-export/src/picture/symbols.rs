//! Draws the symbols of the table.

use anstyle::RgbColor;
use tiny_skia::{Path, PathBuilder};

use super::{
    canvas::{Canvas, Square},
    colour::{self, INK, LIGHT},
    scene::{Object, Style},
    symbol_table::SYMBOLS,
};

/// A colour of the symbols. On paper all are pale.
fn colour_of(name: &str, style: Style) -> Option<RgbColor> {
    let colour = match name {
        "ink" => return Some(INK),
        // Monsters are as dark on paper.
        "letter" => return Some(LIGHT),
        "monster" => return Some(colour::MONSTER),
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
}
