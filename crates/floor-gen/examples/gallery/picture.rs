//! A picture of few colours: rectangles, markers and text.

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

use font8x8::{BASIC_FONTS, UnicodeFonts as _};

use crate::Outcome;

pub(crate) type Colour = [u8; 3];

/// The background.
pub(crate) const PAPER: Colour = [0x20, 0x20, 0x24];
/// Text and axes.
pub(crate) const INK: Colour = [0xd8, 0xd8, 0xd0];
/// The outline of markers.
pub(crate) const OUTLINE: Colour = [0, 0, 0];
/// Width and height of a letter, in pixels.
pub(crate) const LETTER: usize = 8;

/// A picture with a palette of up to 256 colours.
pub(crate) struct Picture {
    pub(crate) width: usize,
    pub(crate) height: usize,
    palette: Vec<Colour>,
    pixels: Vec<u8>,
}

impl Picture {
    pub(crate) fn blank(width: usize, height: usize) -> Self {
        Self { width, height, palette: vec![PAPER], pixels: vec![0; width * height] }
    }

    /// Fills a rectangle, clipped to the picture.
    pub(crate) fn fill(&mut self, left: usize, top: usize, (width, height): (usize, usize), colour: Colour) {
        let index = self.index_of(colour);
        let (right, bottom) = ((left + width).min(self.width), (top + height).min(self.height));
        for y in top..bottom {
            self.pixels[y * self.width + left.min(right)..y * self.width + right].fill(index);
        }
    }

    /// The index of a colour, or of the nearest one if the palette is full.
    fn index_of(&mut self, colour: Colour) -> u8 {
        if let Some(known) = self.palette.iter().position(|&known| known == colour) {
            return known as u8;
        }
        if self.palette.len() < 256 {
            self.palette.push(colour);
            return (self.palette.len() - 1) as u8;
        }
        let far = |other: &Colour| (0..3).map(|i| u32::from(other[i].abs_diff(colour[i]))).sum::<u32>();
        (0..=u8::MAX).min_by_key(|&i| far(&self.palette[usize::from(i)])).unwrap_or(0)
    }

    /// An outlined triangle of [`TRIANGLE`] pixels around a center, pointing up or down.
    pub(crate) fn triangle(&mut self, x: usize, y: usize, up: bool, colour: Colour) {
        for (reach, colour) in [(TRIANGLE / 2 + 2, OUTLINE), (TRIANGLE / 2, colour)] {
            for row in 0..=2 * reach {
                let half = row / 2;
                let down = if up { row } else { 2 * reach - row };
                self.fill(
                    (x + reach).saturating_sub(half + reach),
                    (y + down).saturating_sub(reach),
                    (2 * half + 1, 1),
                    colour,
                );
            }
        }
    }

    /// An outlined square around a center.
    pub(crate) fn stud(&mut self, x: usize, y: usize, colour: Colour) {
        self.fill(x.saturating_sub(3), y.saturating_sub(3), (6, 6), OUTLINE);
        self.fill(x.saturating_sub(2), y.saturating_sub(2), (4, 4), colour);
    }

    /// An outlined disc around a center.
    pub(crate) fn disc(&mut self, x: usize, y: usize, colour: Colour) {
        for (rows, colour) in [([3, 5, 7, 7, 7, 5, 3].as_slice(), OUTLINE), (&[3, 5, 5, 5, 3], colour)] {
            for (i, &length) in rows.iter().enumerate() {
                self.fill(x.saturating_sub(length / 2), (y + i).saturating_sub(rows.len() / 2), (length, 1), colour);
            }
        }
    }

    pub(crate) fn text(&mut self, left: usize, top: usize, text: &str) {
        for (i, letter) in text.chars().enumerate() {
            for (row, bits) in BASIC_FONTS.get(letter).unwrap_or_default().into_iter().enumerate() {
                for column in (0..LETTER).filter(|column| bits >> column & 1 == 1) {
                    self.fill(left + i * LETTER + column, top + row, (1, 1), INK);
                }
            }
        }
    }

    /// Text centered at `x`.
    pub(crate) fn text_around(&mut self, x: usize, top: usize, text: &str) {
        self.text(x.saturating_sub(text.len() * LETTER / 2), top, text);
    }

    pub(crate) fn text_before(&mut self, x: usize, top: usize, text: &str) {
        self.text(x.saturating_sub(text.len() * LETTER), top, text);
    }

    pub(crate) fn save(&self, path: &Path) -> Outcome<()> {
        let mut encoder = png::Encoder::new(BufWriter::new(File::create(path)?), self.width as u32, self.height as u32);
        encoder.set_color(png::ColorType::Indexed);
        encoder.set_depth(png::BitDepth::Eight);
        encoder.set_palette(self.palette.concat());
        encoder.write_header()?.write_image_data(&self.pixels)?;
        Ok(())
    }
}

/// The side of a triangle without its outline, in pixels.
const TRIANGLE: usize = 6;
