//! Draws a card: a picture to send with the address of a floor, as chats and pages show it. The viewer draws a similar one
//! (web/src/card.ts).

use std::io::Write;

use anstyle::RgbColor;
use floor_gen::pack::Look;
use floor_proto::floor::Floor;

use super::{
    canvas::{Canvas, LETTER, Letters, Square},
    map, png,
    scene::{Scene, Style},
};
use crate::{ExportError, names};

/// What the readers of the Open Graph protocol show whole, in pixels.
const WIDTH: u32 = 1200;
const HEIGHT: u32 = 630;
const MARGIN: f32 = 36.0;
/// Width of the words, on the left.
const WORDS: f32 = 440.0;
/// Lines of a text, at most.
const LINES: usize = 4;
/// Sides of the letters of the floor's name, of its hook, of what it is and of the address, in pixels.
const NAME: f32 = 34.0;
const HOOK: f32 = 20.0;
const FACT: f32 = 15.0;
const ADDRESS: f32 = 13.0;

/// Writes the card of a floor as a PNG of 1200x630 pixels: a map, its name and its hook, and the address below them.
///
/// # Errors
/// If it cannot be written.
pub fn draw(out: impl Write, floor: &Floor, look: Look, address: &str) -> Result<(), ExportError> {
    let scene = Scene::new(floor).with_look(look).with_style(Style::Map);
    let (text, faint) = map::text(&look);
    let too_large = ExportError::TooLarge { width: WIDTH, height: HEIGHT };
    let canvas = Canvas::new(WIDTH, HEIGHT, png::background(&scene)).ok_or(too_large)?;
    let mut canvas = canvas.with_letters(Letters::Hand);
    png::paint_cells(&mut canvas, &scene, &place(&scene));
    // The map's rock reaches a little under the words.
    canvas.rectangle([0.0, 0.0, MARGIN + WORDS + MARGIN / 2.0, HEIGHT as f32], png::background(&scene), 1.0);
    let spec = floor.spec();
    let kind = names::kind_of(spec);
    let what = format!("Floor {} of tower {}: {kind}, {}x{}", spec.number, spec.seed, floor.width(), floor.height());
    let mut y = MARGIN + 10.0;
    if floor.name().is_empty() {
        write(&mut canvas, &mut y, NAME, &what, text);
    } else {
        write(&mut canvas, &mut y, NAME, floor.name(), text);
        write(&mut canvas, &mut y, HOOK, floor.hook(), faint);
        write(&mut canvas, &mut y, FACT, &what, text);
    }
    let height = lines(address, ADDRESS).len() as f32 * line_height(ADDRESS);
    write(&mut canvas, &mut (HEIGHT as f32 - MARGIN - height), ADDRESS, address, faint);
    png::encode(out, (WIDTH, HEIGHT), ::png::ColorType::Rgb, &canvas.rgb())
}

/// Where cells are: the floor without the rock around it, as large as it fits beside the words.
fn place(scene: &Scene<'_>) -> impl Fn(u32, u32) -> Square + use<> {
    let columns = scene.columns();
    let rows = scene.rows();
    let left = MARGIN + WORDS + MARGIN;
    let (width, height) = (WIDTH as f32 - left - MARGIN, HEIGHT as f32 - 2.0 * MARGIN);
    let (wide, high) = (columns.len() as f32 + 2.0, rows.len() as f32 + 2.0);
    let side = (width / wide).min(height / high);
    let (left, top) = (left + (width - wide * side) / 2.0, MARGIN + (height - high * side) / 2.0);
    move |x, y| Square {
        left: (x as f32 - columns.start as f32 + 1.0).mul_add(side, left),
        top: (y as f32 - rows.start as f32 + 1.0).mul_add(side, top),
        side,
    }
}

fn line_height(letter: f32) -> f32 {
    letter * 1.9
}

/// Writes a text in lines from `y` on, and moves `y` below them.
fn write(canvas: &mut Canvas, y: &mut f32, letter: f32, text: &str, colour: RgbColor) {
    for line in lines(text, letter) {
        canvas.text(MARGIN, *y, letter / LETTER, &line, colour);
        *y += line_height(letter);
    }
    *y += letter;
}

/// A text in lines of the column. An address is broken where it must be.
fn lines(text: &str, letter: f32) -> Vec<String> {
    let fits = |line: &str| Canvas::hand_width(letter, line) <= WORDS;
    let mut lines = Vec::<String>::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if fits(&format!("{line} {word}")) => *line = format!("{line} {word}"),
            _ => lines.push(String::new()),
        }
        let line = lines.last_mut().expect("one was pushed");
        if line.is_empty() {
            line.push_str(word);
        }
        while let Some(line) = lines.pop_if(|line| !fits(line)) {
            let end = (1..line.len()).rev().find(|end| line.is_char_boundary(*end) && fits(&line[..*end])).unwrap_or(1);
            lines.extend([line[..end].to_owned(), line[end..].to_owned()]);
        }
    }
    if lines.len() > LINES {
        lines.truncate(LINES);
        lines[LINES - 1].push_str("...");
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn a_card_has_its_size_whatever_the_words() {
        let address = format!("https://floors.example/{}", "x".repeat(500));
        for address in ["", "floors.example", &address] {
            let mut file = Vec::new();
            draw(&mut file, &fixture::floor(), Look::default(), address).unwrap();
            let reader = ::png::Decoder::new(std::io::Cursor::new(file)).read_info().unwrap();
            assert_eq!((reader.info().width, reader.info().height), (WIDTH, HEIGHT));
        }
    }

    #[test]
    fn words_stay_in_their_column() {
        let long =
            format!("The Veiled Pilgrim's Donjon of {} and more words than the column has place for", "y".repeat(90));
        let lines = lines(&long, NAME);
        assert_eq!(lines.len(), LINES);
        assert_eq!(lines[0], "The Veiled Pilgrim's");
        assert!(lines[..LINES - 1].iter().all(|line| Canvas::hand_width(NAME, line) <= WORDS), "{lines:?}");
    }
}
