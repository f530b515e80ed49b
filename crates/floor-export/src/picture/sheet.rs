//! Draws a sheet: several floors in rows in one PNG file, each under its name.

use std::io::Write;

use floor_gen::pack::Look;
use floor_proto::floor::Floor;

use super::{
    canvas::{Canvas, LETTER, Square},
    colour, png,
    scene::Scene,
};
use crate::{ExportError, names};

/// Pixels between floors and around them.
const GAP: u32 = 8;
/// Height of the title, and of the line above a floor.
const TITLE: u32 = 28;
const CAPTION: u32 = 14;

/// Writes `floors`, each in its look and under its name, in rows of `columns`, with `side` pixels per cell.
///
/// # Errors
/// If the picture is too large or cannot be written.
pub fn draw(
    out: impl Write,
    title: &str,
    floors: &[(Floor, Look)],
    columns: u32,
    side: u32,
) -> Result<(), ExportError> {
    let cells = |length: fn(&Floor) -> u32| floors.iter().map(|(floor, _)| length(floor)).max().unwrap_or(0) * side;
    let columns = columns.clamp(1, (floors.len() as u32).max(1));
    let names: Vec<String> = floors.iter().map(|(floor, _)| name(floor)).collect();
    let longest = names.iter().map(|name| name.len() as u32).max().unwrap_or(0) * LETTER as u32;
    let (across, down) = (cells(Floor::width).max(longest) + GAP, cells(Floor::height) + CAPTION + GAP);
    let width = (columns * across + GAP).max(GAP * 2 + title.len() as u32 * LETTER as u32);
    let height = TITLE + (floors.len() as u32).div_ceil(columns) * down;
    let mut canvas = Canvas::new(width, height, colour::ROCK).ok_or(ExportError::TooLarge { width, height })?;
    canvas.text(GAP as f32, GAP as f32, 1.0, title, colour::TEXT);
    for ((index, (floor, look)), name) in (0..).zip(floors).zip(&names) {
        let (left, top) = (GAP + index % columns * across, TITLE + index / columns * down);
        canvas.text(left as f32, top as f32, 1.0, name, colour::FAINT);
        let place = |x: u32, y: u32| Square {
            left: (left + x * side) as f32,
            top: (top + CAPTION + y * side) as f32,
            side: side as f32,
        };
        png::paint_cells(&mut canvas, &Scene::new(floor).with_look(*look), &place);
    }
    png::encode(out, (width, height), ::png::ColorType::Rgb, &canvas.rgb())
}

/// `42/7:cavern@64x48`, as floorctl reads it.
fn name(floor: &Floor) -> String {
    let spec = floor.spec();
    format!("{}/{}:{}@{}x{}", spec.seed, spec.number, names::kind_of(spec), spec.width, spec.height)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn a_sheet_has_a_place_for_each_floor() {
        let floors = [(); 3].map(|()| (fixture::floor(), Look::default()));
        let mut file = Vec::new();
        draw(&mut file, "three floors", &floors, 2, 10).unwrap();
        let mut reader = ::png::Decoder::new(std::io::Cursor::new(file)).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut pixels).unwrap();
        assert_eq!((info.width, info.height), (2 * (30 * 10 + 8) + 8, 28 + 2 * (16 * 10 + 14 + 8)));
        let at = |x: u32, y: u32| &pixels[((y * info.width + x) * 3) as usize..][..3];
        // The entry, at (1, 1), has the same colours in each floor; the fourth place is empty.
        let (left, top, across, down) = (8 + 15, 28 + 14 + 15, 300 + 8, 160 + 14 + 8);
        let (first, below, right) = (at(left, top), at(left, top + down), at(left + across, top));
        assert_eq!((first, below), (right, first));
        assert_ne!(at(left + across, top + down), first);
        let mut narrow = Vec::new();
        draw(&mut narrow, "", &floors, 2, 1).unwrap();
        let width = ::png::Decoder::new(std::io::Cursor::new(narrow)).read_info().unwrap().info().width;
        assert_eq!(width, 2 * (name(&floors[0].0).len() as u32 * 8 + 8) + 8, "as wide as the names");
    }
}
