//! A floor as a PNG file, legend below.

use std::io::Write;

use anyhow::Context as _;

use super::{
    canvas::{Canvas, LETTER},
    colour,
    legend::Legend,
    scene::Scene,
    sprites::{self, Square},
};

/// Space around the picture and between its parts, in letters.
const MARGIN: f32 = 2.0;
/// Height of a line, in letters.
const LINE: f32 = 1.75;

/// Writes the scene at `side` pixels a cell, the legend below it if there is one.
pub(crate) fn draw(out: impl Write, scene: &Scene<'_>, legend: Option<&Legend>, side: u32) -> anyhow::Result<()> {
    let sheet = Sheet::plan(scene, legend, side);
    let mut canvas = Canvas::new(sheet.width, sheet.height)
        .with_context(|| format!("a picture of {}x{} pixels is too large; lower --scale", sheet.width, sheet.height))?;
    sheet.paint(&mut canvas, scene, legend);
    let mut encoder = png::Encoder::new(out, sheet.width, sheet.height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(&canvas.rgb())?;
    Ok(writer.finish()?)
}

/// Where everything goes.
struct Sheet {
    width: u32,
    height: u32,
    /// Pixels a cell.
    side: u32,
    /// Pixels a letter.
    letter: f32,
    /// Left edge of the floor.
    left: f32,
    /// Columns and rows of the legend's marks, and letters a column.
    columns: usize,
    rows: usize,
    column: f32,
}

impl Sheet {
    fn plan(scene: &Scene<'_>, legend: Option<&Legend>, side: u32) -> Self {
        let (width, height) = (scene.floor.width() * side, scene.floor.height() * side);
        let Some(legend) = legend else {
            return Self { width, height, side, letter: 0.0, left: 0.0, columns: 0, rows: 0, column: 0.0 };
        };
        let (floor_width, floor_height) = (width as f32, height as f32);
        let mark = legend.marks.iter().map(|(_, name)| name.len()).max().unwrap_or(0) as f32 + 4.0;
        let lines = [&legend.title, &legend.facts, &legend.identity].map(|line| line.len() as f32);
        let widest = lines.into_iter().fold(mark, f32::max) + 2.0 * MARGIN;
        // Letters twice as large read better, if they fit under the floor.
        let letter = if widest * LETTER * 2.0 <= floor_width { LETTER * 2.0 } else { LETTER };
        let width = floor_width.max(widest * letter);
        let columns = ((width / letter - 2.0 * MARGIN) / mark).floor().max(1.0) as usize;
        let rows = legend.marks.len().div_ceil(columns);
        let text = 2.0f32.mul_add(MARGIN, LINE * (4.0 + rows as f32)) * letter;
        Self {
            width: width.ceil() as u32,
            height: (floor_height + text).ceil() as u32,
            side,
            letter,
            left: ((width - floor_width) / 2.0).floor(),
            columns,
            rows,
            column: mark,
        }
    }

    fn paint(&self, canvas: &mut Canvas, scene: &Scene<'_>, legend: Option<&Legend>) {
        let cells = || (0..scene.floor.height()).flat_map(|y| (0..scene.floor.width()).map(move |x| (x, y)));
        for (x, y) in cells() {
            sprites::ground(canvas, self.square(x, y), scene, x, y);
        }
        for (x, y) in cells() {
            sprites::standing(canvas, self.square(x, y), scene, x, y);
        }
        if let Some(legend) = legend {
            let bottom = (scene.floor.height() * self.side) as f32;
            self.write(canvas, legend, bottom);
        }
    }

    fn write(&self, canvas: &mut Canvas, legend: &Legend, bottom: f32) {
        let left = MARGIN * self.letter;
        let mut top = MARGIN.mul_add(self.letter, bottom);
        let size = self.letter / LETTER;
        for (line, colour) in
            [(&legend.title, colour::TEXT), (&legend.facts, colour::FAINT), (&legend.identity, colour::FAINT)]
        {
            canvas.text(left, top, size, line, colour);
            top += LINE * self.letter;
        }
        top += LINE * self.letter;
        for (i, (mark, name)) in legend.marks.iter().enumerate().take(self.columns * self.rows) {
            let (column, row) = ((i / self.rows) as f32, (i % self.rows) as f32);
            let x = column.mul_add(self.column * self.letter, left);
            let y = row.mul_add(LINE * self.letter, top);
            // A sample is half as large again as a letter, centred on the line.
            let sample = Square { left: x, top: y - self.letter * 0.25, side: self.letter * 1.5 };
            sprites::sample(canvas, sample, *mark);
            canvas.text(x + self.letter * 2.0, y, size, name, colour::TEXT);
        }
    }

    fn square(&self, x: u32, y: u32) -> Square {
        Square { left: self.left + (x * self.side) as f32, top: (y * self.side) as f32, side: self.side as f32 }
    }
}
