//! Draws a floor as text, one character per cell, plain or coloured.

use std::io::{self, Write};

use anstyle::{Reset, Style};

use super::{
    colour::{self, Depth},
    glyph,
    scene::{self, Mark, Object, Scene},
};

/// Draws the scene, one row per line. Without a depth, draws without colour.
pub(crate) fn draw(out: &mut impl Write, scene: &Scene<'_>, depth: Option<Depth>) -> io::Result<()> {
    for y in scene.rows() {
        let row = (0..scene.floor.width()).map(|x| letter(scene, x, y, depth)).collect::<Vec<_>>();
        match depth {
            None => plain_row(out, &row)?,
            Some(_) => coloured_row(out, &row)?,
        }
    }
    Ok(())
}

/// Writes a row without trailing blanks, since the text may go into a document.
fn plain_row(out: &mut impl Write, row: &[Letter]) -> io::Result<()> {
    let text = row.iter().map(|letter| letter.glyph).collect::<String>();
    writeln!(out, "{}", text.trim_end())
}

fn coloured_row(out: &mut impl Write, row: &[Letter]) -> io::Result<()> {
    for run in row.chunk_by(|a, b| a.style == b.style) {
        let text = run.iter().map(|letter| letter.glyph).collect::<String>();
        match run[0].style {
            None => write!(out, "{text}")?,
            Some(style) => write!(out, "{}{text}{}", style.render(), Reset.render())?,
        }
    }
    writeln!(out)
}

/// The character of a cell.
struct Letter {
    glyph: char,
    /// `None` for rock, and if colour is off.
    style: Option<Style>,
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
    Letter { glyph: label.unwrap_or_else(|| glyph::mark(mark)), style }
}

/// The style of a mark. Objects, locked doors and stairs are bold.
pub(crate) fn style(mark: Mark, depth: Depth) -> Style {
    let style = Style::new().fg_color(Some(depth.colour(colour::mark(mark))));
    match mark {
        Mark::Object(Object::Monster(_) | Object::Key(_) | Object::Loot | Object::Trap) | Mark::Locked(_) => {
            style.bold()
        }
        Mark::Terrain(floor_client::Terrain::StairsUp | floor_client::Terrain::StairsDown) => style.bold(),
        Mark::Step(_) | Mark::Outline => style.bold(),
        Mark::Behind(lock) => style.bg_color(Some(depth.colour(colour::behind(lock)))),
        Mark::Rock | Mark::Terrain(_) => style,
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
