//! Draws anti-aliased shapes and small text on a pixel image.

use std::mem;

use anstyle::RgbColor;
use font8x8::{BASIC_FONTS, UnicodeFonts as _};
use tiny_skia::{
    FillRule, LineCap, LineJoin, Mask, Paint, Path, PathBuilder, Pixmap, Rect, Stroke, StrokeDash, Transform,
};

use super::hand;

/// Width and height of a character at size 1, in pixels.
pub(crate) const LETTER: f32 = 8.0;

/// What letters look like.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Letters {
    /// 8x8 dots each.
    Dots,
    /// Written by hand, as on printed maps.
    Hand,
}

/// An image. Coordinates are pixels from the upper left corner.
pub(crate) struct Canvas {
    pixels: Pixmap,
    /// Where shapes are drawn; `None`: everywhere.
    clip: Option<Mask>,
    letters: Letters,
}

impl Canvas {
    /// `None` if the image would have no pixels or too many.
    pub(crate) fn new(width: u32, height: u32, background: RgbColor) -> Option<Self> {
        let mut pixels = Pixmap::new(width, height)?;
        pixels.fill(solid(background, 1.0));
        Some(Self { pixels, clip: None, letters: Letters::Dots })
    }

    /// An image that is transparent where nothing is painted. `None` as for [`new`](Self::new).
    pub(crate) fn transparent(width: u32, height: u32) -> Option<Self> {
        Some(Self { pixels: Pixmap::new(width, height)?, clip: None, letters: Letters::Dots })
    }

    pub(crate) const fn with_letters(mut self, letters: Letters) -> Self {
        self.letters = letters;
        self
    }

    /// Red, green and blue of each pixel, row-major.
    pub(crate) fn rgb(&self) -> Vec<u8> {
        self.pixels.pixels().iter().flat_map(|pixel| [pixel.red(), pixel.green(), pixel.blue()]).collect()
    }

    /// Red, green, blue and alpha of each pixel, row-major.
    pub(crate) fn rgba(&self) -> Vec<u8> {
        let pixels = self.pixels.pixels().iter().map(|pixel| pixel.demultiply());
        pixels.flat_map(|pixel| [pixel.red(), pixel.green(), pixel.blue(), pixel.alpha()]).collect()
    }

    pub(crate) fn rectangle(&mut self, [x, y, width, height]: [f32; 4], colour: RgbColor, opacity: f32) {
        if let Some(rectangle) = Rect::from_xywh(x, y, width, height) {
            let mut paint = paint(colour, opacity);
            // Cells are aligned to pixels, and anti-aliased edges would show as a grid.
            paint.anti_alias = false;
            self.pixels.fill_rect(rectangle, &paint, Transform::identity(), self.clip.as_ref());
        }
    }

    pub(crate) fn disc(&mut self, x: f32, y: f32, radius: f32, colour: RgbColor, opacity: f32) {
        self.fill(PathBuilder::from_circle(x, y, radius).as_ref(), colour, opacity);
    }

    pub(crate) fn ring(&mut self, x: f32, y: f32, radius: f32, thickness: f32, colour: RgbColor) {
        self.stroke(PathBuilder::from_circle(x, y, radius).as_ref(), round(thickness), colour, 1.0);
    }

    pub(crate) fn polygon(&mut self, corners: &[(f32, f32)], colour: RgbColor, opacity: f32) {
        self.fill(outline(corners, true).as_ref(), colour, opacity);
    }

    pub(crate) fn line(&mut self, points: &[(f32, f32)], thickness: f32, colour: RgbColor, opacity: f32) {
        self.stroke(outline(points, false).as_ref(), round(thickness), colour, opacity);
    }

    /// Draws lines as one shape, so that they are not darker where they cross.
    pub(crate) fn lines(&mut self, lines: &[Vec<(f32, f32)>], thickness: f32, colour: RgbColor, opacity: f32) {
        let mut shape = PathBuilder::new();
        lines.iter().filter_map(|line| outline(line, false)).for_each(|line| shape.push_path(&line));
        self.stroke(shape.finish().as_ref(), round(thickness), colour, opacity);
    }

    /// Writes text with `size` pixels per dot of the font, from a left upper corner. Leaves characters that the font lacks
    /// blank.
    pub(crate) fn text(&mut self, x: f32, y: f32, size: f32, text: &str, colour: RgbColor) {
        match self.letters {
            Letters::Dots => self.dots(x, y, size, text, colour),
            Letters::Hand => self.fill(hand::line(x, y, LETTER * size, text).0.as_ref(), colour, 1.0),
        }
    }

    /// Writes text around a point.
    pub(crate) fn label(&mut self, (x, y): (f32, f32), size: f32, text: &str, colour: RgbColor) {
        // The last column and row of a character are empty.
        let (dots, height) = ((LETTER * text.len() as f32 - 1.0) * size, (LETTER - 1.0) * size);
        let width = if self.letters == Letters::Dots { dots } else { Self::hand_width(LETTER * size, text) };
        self.text((x - width / 2.0).round(), (y - height / 2.0).round(), size, text, colour);
    }

    /// Width of a text in letters of a hand, each of that side, in pixels.
    pub(crate) fn hand_width(letter: f32, text: &str) -> f32 {
        hand::line(0.0, 0.0, letter, text).1
    }

    fn dots(&mut self, x: f32, y: f32, size: f32, text: &str, colour: RgbColor) {
        for (i, letter) in text.chars().enumerate() {
            let left = LETTER.mul_add(size * i as f32, x);
            for (row, bits) in BASIC_FONTS.get(letter).unwrap_or_default().into_iter().enumerate() {
                for column in (0..8).filter(|column| bits >> column & 1 == 1) {
                    let dot = [size.mul_add(column as f32, left), size.mul_add(row as f32, y), size, size];
                    self.rectangle(dot, colour, 1.0);
                }
            }
        }
    }

    /// Draws a dashed line.
    pub(crate) fn dashes(&mut self, points: &[(f32, f32)], width: f32, dash: f32, colour: RgbColor, opacity: f32) {
        let dash = StrokeDash::new(vec![dash, dash * 0.8], 0.0);
        self.stroke(outline(points, false).as_ref(), Stroke { width, dash, ..Stroke::default() }, colour, opacity);
    }

    /// Calls `draw` with this canvas, of which it changes only what lies in `path`.
    pub(crate) fn clipped(&mut self, path: &Path, draw: impl FnOnce(&mut Self)) {
        let (width, height, whole) = (self.pixels.width(), self.pixels.height(), Transform::identity());
        let mut clip = self.clip.clone();
        match &mut clip {
            Some(mask) => mask.intersect_path(path, FillRule::Winding, true, whole),
            None => {
                clip = Mask::new(width, height);
                clip.iter_mut().for_each(|mask| mask.fill_path(path, FillRule::Winding, true, whole));
            }
        }
        let outer = mem::replace(&mut self.clip, clip);
        draw(self);
        self.clip = outer;
    }

    pub(crate) fn fill(&mut self, path: Option<&Path>, colour: RgbColor, opacity: f32) {
        if let Some(path) = path {
            let (paint, whole) = (paint(colour, opacity), Transform::identity());
            self.pixels.fill_path(path, &paint, FillRule::Winding, whole, self.clip.as_ref());
        }
    }

    /// Draws the line of a path.
    pub(crate) fn trace(&mut self, path: &Path, thickness: f32, colour: RgbColor, opacity: f32) {
        self.stroke(Some(path), round(thickness), colour, opacity);
    }

    fn stroke(&mut self, path: Option<&Path>, stroke: Stroke, colour: RgbColor, opacity: f32) {
        if let Some(path) = path {
            let (paint, whole) = (paint(colour, opacity), Transform::identity());
            self.pixels.stroke_path(path, &paint, &stroke, whole, self.clip.as_ref());
        }
    }
}

fn round(width: f32) -> Stroke {
    Stroke { width, line_cap: LineCap::Round, line_join: LineJoin::Round, ..Stroke::default() }
}

fn outline(points: &[(f32, f32)], closed: bool) -> Option<Path> {
    let ((x, y), rest) = points.split_first()?;
    let mut path = PathBuilder::new();
    path.move_to(*x, *y);
    for (x, y) in rest {
        path.line_to(*x, *y);
    }
    if closed {
        path.close();
    }
    path.finish()
}

fn paint(colour: RgbColor, opacity: f32) -> Paint<'static> {
    let mut paint = Paint { anti_alias: true, ..Paint::default() };
    paint.set_color(solid(colour, opacity));
    paint
}

fn solid(RgbColor(red, green, blue): RgbColor, opacity: f32) -> tiny_skia::Color {
    tiny_skia::Color::from_rgba8(red, green, blue, (opacity.clamp(0.0, 1.0) * 255.0) as u8)
}

/// A cell's square on the canvas.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Square {
    pub(crate) left: f32,
    pub(crate) top: f32,
    pub(crate) side: f32,
}

impl Square {
    /// A point of the square; each coordinate is 0 to 1.
    pub(crate) const fn at(&self, x: f32, y: f32) -> (f32, f32) {
        (self.left + x * self.side, self.top + y * self.side)
    }

    pub(crate) const fn part(&self, x: f32, y: f32, width: f32, height: f32) -> [f32; 4] {
        let (left, top) = self.at(x, y);
        [left, top, width * self.side, height * self.side]
    }
}
