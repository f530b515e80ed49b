//! Draws a floor as a PNG file, with the legend below the floor, or beside it if the legend is long.

use std::{io::Write, iter};

use anstyle::RgbColor;
use floor_gen::pack::Paint;

use super::{
    canvas::{Canvas, LETTER, Letters, Square},
    colour, layers,
    legend::Legend,
    map,
    scene::{Scene, Style},
    sprites,
};
use crate::ExportError;

/// Space around the picture and between its parts, in letter widths.
const MARGIN: f32 = 2.0;
/// Height of a line, in letter heights.
const LINE: f32 = 1.75;

/// Writes the scene with `side` pixels per cell, and the legend if there is one.
///
/// # Errors
/// If the picture is too large or cannot be written.
pub fn draw(out: impl Write, scene: &Scene<'_>, legend: Option<&Legend>, side: u32) -> Result<(), ExportError> {
    let layout = ImageLayout::plan(scene, legend, side);
    let mut canvas = Canvas::new(layout.width, layout.height, background(scene))
        .ok_or(ExportError::TooLarge { width: layout.width, height: layout.height })?
        .with_letters(if scene.style == Style::Map { Letters::Hand } else { Letters::Dots });
    layout.paint(&mut canvas, scene, legend);
    encode(out, (layout.width, layout.height), png::ColorType::Rgb, &canvas.rgb())
}

/// Writes a PNG file of that size with 8 bits a channel.
pub(super) fn encode(
    out: impl Write,
    (width, height): (u32, u32),
    colours: png::ColorType,
    pixels: &[u8],
) -> Result<(), ExportError> {
    let mut encoder = png::Encoder::new(out, width, height);
    encoder.set_color(colours);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(pixels)?;
    Ok(writer.finish()?)
}

/// Paints all cells of a floor. `square` gives their places.
pub(super) fn paint_cells(canvas: &mut Canvas, scene: &Scene<'_>, square: &impl Fn(u32, u32) -> Square) {
    let cells = || (0..scene.floor.height()).flat_map(|y| (0..scene.floor.width()).map(move |x| (x, y)));
    match scene.style {
        Style::Data => cells().for_each(|(x, y)| sprites::ground(canvas, square(x, y), scene, x, y)),
        Style::Map => map::ground(canvas, square, scene),
    }
    layers::below(canvas, square, scene);
    for (x, y) in cells() {
        sprites::objects(canvas, square(x, y), scene, x, y);
    }
    layers::above(canvas, square, scene);
}

/// The colour where nothing is painted.
pub(super) fn background(scene: &Scene<'_>) -> RgbColor {
    match scene.style {
        Style::Data => colour::paint(&scene.look, Paint::Rock),
        Style::Map => map::paper(&scene.look),
    }
}

/// The size of the image and the positions of its parts.
struct ImageLayout {
    width: u32,
    height: u32,
    /// Pixels per cell.
    side: u32,
    /// Upper left corner of the floor.
    left: f32,
    top: f32,
    legend_area: LegendLayout,
}

/// The position and the columns of the legend.
#[derive(Default)]
struct LegendLayout {
    left: f32,
    top: f32,
    /// Pixels per letter.
    letter: f32,
    /// Columns and rows of marks, and the width of a column in letters.
    columns: usize,
    rows: usize,
    column: f32,
}

/// The space that the legend needs, in letters.
struct LegendSize {
    marks: usize,
    /// Width of a mark, its name and the space before the next column.
    mark: f32,
    heading: f32,
    /// Lines of the heading.
    lines: usize,
}

impl LegendSize {
    fn of(legend: &Legend) -> Self {
        let names = legend.marks.iter().map(|(_, name)| name).chain(legend.tints.iter().map(|(_, name)| name));
        let (marks, longest) = names.fold((0usize, 0), |(n, longest), name| (n + 1, longest.max(name.len())));
        let heading = legend.heading.iter().map(|line| line.len() as f32).fold(0.0, f32::max);
        Self { marks, mark: longest as f32 + 4.0, heading, lines: legend.heading.len() }
    }

    /// Width of a legend with this number of columns.
    fn width(&self, columns: usize) -> f32 {
        2.0f32.mul_add(MARGIN, self.heading.max(self.mark * columns as f32))
    }

    /// Height of a legend with this number of rows under its heading and an empty line, in letters.
    fn height(&self, rows: usize) -> f32 {
        2.0f32.mul_add(MARGIN, LINE * (self.lines + 1 + rows) as f32)
    }
}

impl ImageLayout {
    fn plan(scene: &Scene<'_>, legend: Option<&Legend>, side: u32) -> Self {
        let (width, height) = (scene.floor.width() * side, scene.floor.height() * side);
        let Some(size) = legend.map(LegendSize::of) else {
            return Self { width, height, side, left: 0.0, top: 0.0, legend_area: LegendLayout::default() };
        };
        // A printed map has a margin on each side, for the title and the scale too.
        let margin = if scene.style == Style::Map { map::MARGIN * side } else { 0 };
        let title =
            legend.filter(|_| margin > 0).map_or(0.0, |legend| map::title_letter(width as f32, &legend.heading[0]));
        let above = margin + (1.5 * title).ceil() as u32;
        let (width, height) = (width + 2 * margin, height + margin + above);
        let below = Self::below(width as f32, height as f32, side, &size);
        // A legend that is about as high as the floor goes beside it.
        let planned = if (below.height - height) * 5 <= height * 4 {
            below
        } else {
            Self::beside(width as f32, height as f32, side, &size)
        };
        Self { left: planned.left + margin as f32, top: above as f32, ..planned }
    }

    fn below(floor_width: f32, floor_height: f32, side: u32, size: &LegendSize) -> Self {
        // Large letters are easier to read, if they fit under the floor.
        let letter = if size.width(1) * LETTER * 2.0 <= floor_width { LETTER * 2.0 } else { LETTER };
        let width = floor_width.max(size.width(1) * letter);
        let columns = ((width / letter - 2.0 * MARGIN) / size.mark).floor().max(1.0) as usize;
        let rows = size.marks.div_ceil(columns);
        Self {
            width: width.ceil() as u32,
            height: size.height(rows).mul_add(letter, floor_height).ceil() as u32,
            side,
            left: ((width - floor_width) / 2.0).floor(),
            top: 0.0,
            legend_area: LegendLayout { left: 0.0, top: floor_height, letter, columns, rows, column: size.mark },
        }
    }

    fn beside(floor_width: f32, floor_height: f32, side: u32, size: &LegendSize) -> Self {
        // As many rows as fit beside the floor, and at most two columns.
        let fitting = (floor_height / LETTER - size.height(0)) / LINE;
        let rows = (fitting.max(0.0) as usize).max(size.marks.div_ceil(2)).max(1);
        let columns = size.marks.div_ceil(rows).max(1);
        Self {
            width: size.width(columns).mul_add(LETTER, floor_width).ceil() as u32,
            height: floor_height.max(size.height(rows.min(size.marks)) * LETTER).ceil() as u32,
            side,
            left: 0.0,
            top: 0.0,
            legend_area: LegendLayout { left: floor_width, top: 0.0, letter: LETTER, columns, rows, column: size.mark },
        }
    }

    fn paint(&self, canvas: &mut Canvas, scene: &Scene<'_>, legend: Option<&Legend>) {
        paint_cells(canvas, scene, &|x, y| self.square(x, y));
        if let Some(legend) = legend {
            if scene.style == Style::Map {
                map::frame(canvas, scene, &legend.heading[0], self.square(0, 0));
            }
            self.legend_area.write(canvas, scene, legend);
        }
    }

    fn square(&self, x: u32, y: u32) -> Square {
        Square {
            left: self.left + (x * self.side) as f32,
            top: self.top + (y * self.side) as f32,
            side: self.side as f32,
        }
    }
}

impl LegendLayout {
    fn write(&self, canvas: &mut Canvas, scene: &Scene<'_>, legend: &Legend) {
        let left = MARGIN.mul_add(self.letter, self.left);
        let mut top = MARGIN.mul_add(self.letter, self.top);
        let size = self.letter / LETTER;
        let (text, faint) = match scene.style {
            Style::Data => (colour::TEXT, colour::FAINT),
            Style::Map => map::text(&scene.look),
        };
        let colours = iter::once(text).chain(iter::repeat(faint));
        // A map has its title above it.
        let title = usize::from(scene.style == Style::Map);
        for (line, colour) in legend.heading[title..].iter().zip(colours) {
            canvas.text(left, top, size, line, colour);
            top += LINE * self.letter;
        }
        top += LINE * self.letter;
        let mut places =
            (0..self.columns).flat_map(|column| (0..self.rows).map(move |row| (column, row))).map(|place| {
                let (column, row) = (place.0 as f32, place.1 as f32);
                (column.mul_add(self.column * self.letter, left), row.mul_add(LINE * self.letter, top))
            });
        // A sample is 1.5 times as large as a letter, centred on the line.
        let sample = |(x, y)| Square { left: x, top: y - self.letter * 0.25, side: self.letter * 1.5 };
        let name = |canvas: &mut Canvas, (x, y), name: &str| {
            canvas.text(x + self.letter * 2.0, y, size, name, text);
        };
        for ((mark, words), place) in legend.marks.iter().zip(&mut places) {
            match scene.style {
                Style::Data => sprites::sample(canvas, sample(place), &scene.look, *mark),
                Style::Map => map::sample(canvas, sample(place), scene, *mark),
            }
            name(canvas, place, words);
        }
        for ((role, words), place) in legend.tints.iter().zip(places) {
            sprites::tinted(canvas, sample(place), &scene.look, *role);
            name(canvas, place, words);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{fixture, picture::colour};

    fn drawn(legend: bool, side: u32) -> (png::OutputInfo, Vec<u8>) {
        let floor = fixture::floor();
        let scene = Scene::new(&floor);
        let legend = legend.then(|| Legend::new(&scene));
        let mut file = Vec::new();
        draw(&mut file, &scene, legend.as_ref(), side).unwrap();
        decoded(file)
    }

    fn decoded(file: Vec<u8>) -> (png::OutputInfo, Vec<u8>) {
        let mut reader = png::Decoder::new(std::io::Cursor::new(file)).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        (reader.next_frame(&mut pixels).unwrap(), pixels)
    }

    /// The colour in the middle of a cell.
    fn middle(info: &png::OutputInfo, pixels: &[u8], side: u32, x: u32, y: u32) -> [u8; 3] {
        let at = ((y * side + side / 2) * info.width + x * side + side / 2) as usize * 3;
        [pixels[at], pixels[at + 1], pixels[at + 2]]
    }

    #[test]
    fn objects_are_drawn_in_their_colours() {
        let side = 20;
        let (info, pixels) = drawn(false, side);
        assert_eq!((info.width, info.height), (30 * side, 16 * side));
        let rgb = |colour: anstyle::RgbColor| [colour.0, colour.1, colour.2];
        let object = |object| rgb(colour::object(object));
        use crate::picture::scene::Object;
        assert_eq!(middle(&info, &pixels, side, 21, 11), object(Object::Loot), "the gem");
        assert_eq!(
            middle(&info, &pixels, side, 1, 1),
            rgb(colour::of(floor_proto::v1::Terrain::StairsUp)),
            "the entry"
        );
        assert_eq!(
            middle(&info, &pixels, side, 10, 6),
            rgb(background(&Scene::new(&fixture::floor()))),
            "between the rooms"
        );
        assert_eq!(middle(&info, &pixels, side, 6, 2), rgb(colour::of(floor_proto::v1::Terrain::Door)), "a door");
    }

    #[test]
    fn overlays_show_in_their_colours() {
        let side = 20;
        let floor = fixture::floor();
        let scene = Scene::new(&floor).overlaid(crate::picture::Overlays::all());
        let mut file = Vec::new();
        draw(&mut file, &scene, None, side).unwrap();
        let (info, pixels) = decoded(file);
        let at = |x: u32, y: u32| {
            let at = ((y * info.width + x) * 3) as usize;
            anstyle::RgbColor(pixels[at], pixels[at + 1], pixels[at + 2])
        };
        let has = |x: u32, y: u32, colour: anstyle::RgbColor| {
            let cell = (x * side..(x + 1) * side).flat_map(|x| (y * side..(y + 1) * side).map(move |y| (x, y)));
            cell.into_iter().any(|(x, y)| at(x, y) == colour)
        };
        use crate::picture::paths::Goal;
        assert!(has(3, 6, colour::goal(Goal::Key(1))), "the path to the key");
        assert!(has(24, 4, colour::goal(Goal::Exit)), "the path to the exit");
        assert!(!has(24, 4, colour::goal(Goal::Key(1))), "the path to the key is not here");
        let plain = |x, y| drawn(false, side).1[((y * info.width + x) * 3) as usize];
        assert_ne!(at(26 * side + 3, 5 * side + 3).0, plain(26 * side + 3, 5 * side + 3), "behind the lock");
        let room = &scene.overlay.rooms[&0];
        assert!(has(room.number_at.0, room.number_at.1, colour::room(room.colour)), "the number of room 1");
    }

    /// Whether a part of the picture has pixels of the legend's text.
    fn has_text(
        info: &png::OutputInfo,
        pixels: &[u8],
        columns: std::ops::Range<u32>,
        rows: std::ops::Range<u32>,
    ) -> bool {
        let text = [colour::TEXT.0, colour::TEXT.1, colour::TEXT.2];
        rows.into_iter().any(|y| {
            let row = (y * info.width + columns.start) as usize * 3..(y * info.width + columns.end) as usize * 3;
            pixels[row].chunks(3).any(|pixel| pixel == text)
        })
    }

    #[test]
    fn a_legend_goes_below_a_large_floor_and_beside_a_small_one() {
        for (side, beside) in [(64, false), (12, true), (4, true)] {
            let (bare, _) = drawn(false, side);
            let (with, pixels) = drawn(true, side);
            let right = bare.width..with.width;
            assert_eq!(has_text(&with, &pixels, right, 0..bare.height), beside, "{side} pixels a cell, beside");
            let below = has_text(&with, &pixels, 0..bare.width, bare.height..with.height);
            assert_eq!(below, !beside, "{side} pixels a cell, below");
        }
    }

    #[test]
    fn a_picture_too_large_for_memory_is_rejected() {
        let floor = fixture::floor();
        let error = draw(std::io::sink(), &Scene::new(&floor), None, 100_000_000).unwrap_err();
        assert!(error.to_string().contains("lower the scale"), "{error}");
    }
}
