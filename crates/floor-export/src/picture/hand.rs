//! Letters as a hand writes them on a map: the printable ASCII of the font Patrick Hand (LICENSE-PATRICK-HAND).

use tiny_skia::{Path, PathBuilder, Transform};
use ttf_parser::{Face, OutlineBuilder};

/// Made by fonttools: `pyftsubset FILE --unicodes=U+20-7E --layout-features= --no-hinting`.
const FONT: &[u8] = include_bytes!("hand.ttf");
/// Side of the font's square, in sides of a letter of dots: the two are about as wide then.
const EM: f32 = 1.75;
/// From the top of a letter of dots down to the line on which those of the font stand, in its sides.
const BASELINE: f32 = 1.0;

/// A line of text in the place that letters of dots of that side would take, and its width, in pixels.
pub(super) fn line(x: f32, y: f32, letter: f32, text: &str) -> (Option<Path>, f32) {
    let font = Face::parse(FONT, 0).expect("the font is whole");
    let mut pen = Pen { path: PathBuilder::new(), left: 0.0 };
    for glyph in text.chars().filter_map(|letter| font.glyph_index(letter)) {
        font.outline_glyph(glyph, &mut pen);
        pen.left += f32::from(font.glyph_hor_advance(glyph).unwrap_or_default());
    }
    let place = letter * text.len() as f32;
    let scale = (EM * letter / f32::from(font.units_per_em())).min(place / pen.left.max(1.0));
    // The font's y axis points up.
    let to_pixels = Transform::from_row(scale, 0.0, 0.0, -scale, x, BASELINE.mul_add(letter, y));
    (pen.path.finish().and_then(|path| path.transform(to_pixels)), scale * pen.left)
}

/// Draws the outlines of glyphs beside one another, in units of the font.
struct Pen {
    path: PathBuilder,
    left: f32,
}

impl OutlineBuilder for Pen {
    fn move_to(&mut self, x: f32, y: f32) {
        self.path.move_to(self.left + x, y);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        self.path.line_to(self.left + x, y);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        self.path.quad_to(self.left + x1, y1, self.left + x, y);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        self.path.cubic_to(self.left + x1, y1, self.left + x2, y2, self.left + x, y);
    }

    fn close(&mut self) {
        self.path.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_character_has_an_outline_that_stays_in_its_place() {
        for letter in '!'..='~' {
            let (path, width) = line(0.0, 0.0, 8.0, &letter.to_string());
            assert!(path.is_some_and(|path| path.bounds().width() > 0.0), "{letter}");
            assert!(width > 0.0 && width <= 8.0, "{letter}: {width}");
        }
    }
}
