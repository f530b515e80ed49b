//! Draws a floor as text, one character per cell, plain or coloured.

use std::io::{self, Write};

use anstyle::{Reset, Style};
use floor_proto::v1::Terrain;

use super::{
    colour::{self, Depth},
    glyph,
    scene::{self, Mark, Scene},
};

/// Draws the scene, one row per line. Without a depth, draws without colour.
///
/// # Errors
/// As of `out`.
pub fn draw(out: &mut impl Write, scene: &Scene<'_>, depth: Option<Depth>) -> io::Result<()> {
    for y in scene.rows() {
        let row = (0..scene.floor.width()).map(|x| letter(scene, x, y, depth)).collect::<Vec<_>>();
        write_row(out, &row, depth.is_some())?;
    }
    Ok(())
}

/// A character of a row, and its style. `None` for rock, and if colour is off.
pub(super) type Letter = (char, Option<Style>);

/// Writes a row. Without colour, leaves out trailing blanks, since the text may go into a document.
pub(super) fn write_row(out: &mut impl Write, row: &[Letter], coloured: bool) -> io::Result<()> {
    let text = |letters: &[Letter]| letters.iter().map(|(glyph, _)| *glyph).collect::<String>();
    if !coloured {
        return writeln!(out, "{}", text(row).trim_end());
    }
    for run in row.chunk_by(|(_, a), (_, b)| a == b) {
        match run[0].1 {
            None => write!(out, "{}", text(run))?,
            Some(style) => write!(out, "{}{}{}", style.render(), text(run), Reset.render())?,
        }
    }
    writeln!(out)
}

/// The character of a cell: an overlay's label, otherwise the glyph of its mark. With the overlay of rooms, ground has
/// the colour of its room. With the overlay of locks, the background has the colour of the lock in front of the cell.
fn letter(scene: &Scene<'_>, x: u32, y: u32, depth: Option<Depth>) -> Letter {
    let (mark, label) = (scene.mark(x, y), scene.label(x, y));
    let style = depth.filter(|_| mark != Mark::Rock).map(|depth| {
        let ground = matches!(mark, Mark::Terrain(terrain) if scene::is_ground(terrain));
        let room = scene.outlined(x, y).filter(|_| ground).map(colour::room);
        let plain = match (label, room) {
            (Some(_), room) => Style::new().fg_color(Some(depth.colour(room.unwrap_or(colour::TEXT)))).bold(),
            (None, Some(room)) => Style::new().fg_color(Some(depth.colour(room))),
            (None, None) => style(mark, depth),
        };
        match scene.behind(x, y) {
            Some(lock) => plain.bg_color(Some(depth.colour(colour::behind(lock)))),
            None => plain,
        }
    });
    (label.unwrap_or_else(|| glyph::mark(mark)), style)
}

/// The style of a mark. Objects, locked doors and stairs are bold.
pub(crate) fn style(mark: Mark, depth: Depth) -> Style {
    let style = Style::new().fg_color(Some(depth.colour(colour::mark(mark))));
    match mark {
        Mark::Object(_) | Mark::Locked(_) | Mark::Step(_) | Mark::Outline => style.bold(),
        Mark::Terrain(Terrain::StairsUp | Terrain::StairsDown) => style.bold(),
        Mark::Behind(lock) => style.bg_color(Some(depth.colour(colour::behind(lock)))),
        Mark::Rock | Mark::Terrain(_) | Mark::Furniture(_) => style,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        fixture,
        picture::{Legend, Overlays},
    };

    fn drawn(depth: Option<Depth>) -> String {
        let floor = fixture::floor();
        let scene = Scene::new(&floor);
        let mut out = Vec::new();
        draw(&mut out, &scene, depth).unwrap();
        Legend::new(&scene).write(&mut out, depth).unwrap();
        String::from_utf8(out).unwrap()
    }

    /// The picture with every overlay.
    fn overlaid(depth: Option<Depth>) -> String {
        let floor = fixture::floor();
        let scene = Scene::new(&floor).overlaid(Overlays::all());
        let mut out = Vec::new();
        draw(&mut out, &scene, depth).unwrap();
        Legend::new(&scene).write(&mut out, depth).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn overlays_in_letters() {
        insta::assert_snapshot!(overlaid(None));
    }

    #[test]
    fn overlays_in_256_colours() {
        insta::assert_snapshot!(overlaid(Some(Depth::Ansi256)).replace('\u{1b}', "ESC"));
    }

    #[test]
    fn a_floor_in_letters() {
        insta::assert_snapshot!(drawn(None));
    }

    #[test]
    fn a_floor_in_256_colours() {
        insta::assert_snapshot!(drawn(Some(Depth::Ansi256)).replace('\u{1b}', "ESC"));
    }

    #[test]
    fn colour_changes_no_glyph() {
        let coloured = drawn(Some(Depth::TrueColour));
        let stripped = anstream::adapter::strip_str(&coloured).to_string();
        let trimmed = |text: &str| text.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>();
        assert_eq!(trimmed(&stripped), trimmed(&drawn(None)));
    }
}
