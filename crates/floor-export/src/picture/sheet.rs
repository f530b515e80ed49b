//! Draws a sheet: several floors in rows in one PNG file, each with its number and its tower.

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

/// Writes `floors`, each in its look, in rows of `columns`, with `side` pixels per cell.
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
    let (across, down) = (cells(Floor::width) + GAP, cells(Floor::height) + CAPTION + GAP);
    let width = (columns * across + GAP).max(GAP * 2 + title.len() as u32 * LETTER as u32);
    let height = TITLE + (floors.len() as u32).div_ceil(columns) * down;
    let mut canvas = Canvas::new(width, height, colour::ROCK).ok_or(ExportError::TooLarge { width, height })?;
    canvas.text(GAP as f32, GAP as f32, 1.0, title, colour::TEXT);
    for (index, (floor, look)) in (0..).zip(floors) {
        let (left, top) = (GAP + index % columns * across, TITLE + index / columns * down);
        let spec = floor.spec();
        let caption = format!("{}/{} {}", spec.seed, spec.number, names::kind_of(spec));
        canvas.text(left as f32, top as f32, 1.0, &caption, colour::FAINT);
        let place = |x: u32, y: u32| Square {
            left: (left + x * side) as f32,
            top: (top + CAPTION + y * side) as f32,
            side: side as f32,
        };
        png::paint_cells(&mut canvas, &Scene::new(floor).with_look(*look), &place);
    }
    png::encode(out, (width, height), ::png::ColorType::Rgb, &canvas.rgb())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn a_sheet_has_a_place_for_each_floor() {
        let floors = [(); 3].map(|()| (fixture::floor(), Look::default()));
        let mut file = Vec::new();
        draw(&mut file, "three floors", &floors, 2, 4).unwrap();
        let mut reader = ::png::Decoder::new(std::io::Cursor::new(file)).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut pixels).unwrap();
        assert_eq!((info.width, info.height), (2 * (30 * 4 + 8) + 8, 28 + 2 * (16 * 4 + 14 + 8)));
        let at = |x: u32, y: u32| &pixels[((y * info.width + x) * 3) as usize..][..3];
        // The entry, at (1, 1), has the same colours in each floor; the fourth place is empty.
        let (first, below, right) = (at(8 + 6, 28 + 14 + 6), at(8 + 6, 28 + 86 + 14 + 6), at(8 + 128 + 6, 28 + 14 + 6));
        assert_eq!((first, below), (right, first));
        assert_ne!(at(8 + 128 + 6, 28 + 86 + 14 + 6), first);
    }
}
