//! Values that can be computed again: a map tile, a thumbnail, a compiled regular expression.

use std::{io::Cursor, sync::LazyLock};

use anyhow::Context;
use clap::ValueEnum;
use image::{GenericImageView as _, ImageFormat, Rgb, RgbImage, codecs::jpeg::JpegEncoder, imageops};
use regex_automata::{dfa::dense, util::syntax};

/// A function of a number. Everything is computed, nothing waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Source {
    /// A tile of the Mandelbrot set as PNG
    Tile,
    /// A thumbnail of a part of a picture as JPEG
    Thumbnail,
    /// A regular expression as the table of its automaton
    Regex,
}

/// Pixels along a side of a tile, and the steps after which a point counts as inside.
const TILE: u32 = 256;
const STEPS: u8 = 100;

/// Pixels along a side of the picture, of a part of it, and of a thumbnail.
const PICTURE: u32 = 1024;
const PART: u32 = 384;
const THUMBNAIL: u32 = 96;

/// A decoded picture, as a server of thumbnails holds one.
static PICTURE_PIXELS: LazyLock<RgbImage> = LazyLock::new(|| {
    RgbImage::from_fn(PICTURE, PICTURE, |x, y| {
        let wave = |step: u32| ((x * step) ^ (y * step / 3)) as u8;
        Rgb([wave(1), wave(2), wave(5)])
    })
});

impl Source {
    pub fn name(self) -> &'static str {
        match self {
            Self::Tile => "map tile",
            Self::Thumbnail => "thumbnail",
            Self::Regex => "regex",
        }
    }

    /// Whether it computes for so long that an async function should not.
    pub fn blocks(self) -> bool {
        self != Self::Regex
    }

    fn compute(self, number: u64) -> anyhow::Result<Vec<u8>> {
        match self {
            Self::Tile => tile(number),
            Self::Thumbnail => thumbnail(number),
            Self::Regex => regex(number),
        }
    }
}

/// The values of a source that a load asks for.
#[derive(Debug, Clone, Copy)]
pub struct Values {
    pub source: Source,
    pub count: u64,
}

impl Values {
    /// So many that filling a store takes seconds, or a fiftieth of them.
    pub const fn of(source: Source, few: bool) -> Self {
        let count = match source {
            Source::Tile => 800,
            Source::Thumbnail => 3000,
            Source::Regex => 10_000,
        };
        Self { source, count: if few { count / 50 } else { count } }
    }

    /// Computes the value of `number`.
    ///
    /// # Errors
    /// When a library fails.
    pub fn compute(self, number: u64) -> anyhow::Result<Vec<u8>> {
        self.source.compute(number)
    }
}

fn tile(number: u64) -> anyhow::Result<Vec<u8>> {
    // Zoom 8, around the edge of the set.
    let (x, y) = (60 + number % 40, 80 + number / 40);
    let at =
        |tile: u64, pixel: u32, start: f64| start + 3.0 / 256.0 * (tile as f64 + f64::from(pixel) / f64::from(TILE));
    let pixels = (0..TILE).flat_map(|py| (0..TILE).map(move |px| steps(at(x, px, -2.25), at(y, py, -1.5))));
    let picture = image::GrayImage::from_raw(TILE, TILE, pixels.collect()).context("as many pixels as the tile has")?;
    let mut file = Cursor::new(Vec::new());
    picture.write_to(&mut file, ImageFormat::Png)?;
    Ok(file.into_inner())
}

/// The steps after which the point has left the circle of radius 2.
fn steps(re: f64, im: f64) -> u8 {
    let (mut x, mut y) = (0.0, 0.0);
    for step in 0..STEPS {
        (x, y) = (x * x - y * y + re, 2.0 * x * y + im);
        if x * x + y * y > 4.0 {
            return step;
        }
    }
    STEPS
}

fn thumbnail(number: u64) -> anyhow::Result<Vec<u8>> {
    let offset = |step: u64| (number * step % u64::from(PICTURE - PART)) as u32;
    let part = PICTURE_PIXELS.view(offset(37), offset(101), PART, PART).to_image();
    let small = imageops::thumbnail(&part, THUMBNAIL, THUMBNAIL);
    let mut file = Vec::new();
    JpegEncoder::new_with_quality(&mut file, 80).encode_image(&small)?;
    Ok(file)
}

fn regex(number: u64) -> anyhow::Result<Vec<u8>> {
    let automaton = dense::Builder::new()
        .syntax(syntax::Config::new().unicode(false).utf8(false))
        .thompson(regex_automata::nfa::thompson::Config::new().utf8(false))
        .build(&format!("item-{number}[a-c]"))?;
    let (bytes, padding) = automaton.to_bytes_native_endian();
    Ok(bytes[padding..].to_vec())
}
