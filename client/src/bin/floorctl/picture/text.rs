//! A floor in characters, one a cell, plain or coloured.

use std::io::{self, Write};

use anstyle::{Reset, Style};

use super::{
    colour::{self, Depth},
    glyph,
    scene::{Mark, Scene, Thing},
};

/// Draws the scene a row a line; without a depth, no colour.
pub(crate) fn draw(out: &mut impl Write, scene: &Scene<'_>, depth: Option<Depth>) -> io::Result<()> {
    for y in scene.rows() {
        let row = (0..scene.floor.width()).map(|x| scene.mark(x, y)).collect::<Vec<_>>();
        match depth {
            None => plain_row(out, &row)?,
            Some(depth) => coloured_row(out, &row, depth)?,
        }
    }
    Ok(())
}

/// Trailing rock is left off: a picture in a README should not end its lines in blanks.
fn plain_row(out: &mut impl Write, row: &[Mark]) -> io::Result<()> {
    let text = row.iter().map(|mark| glyph::mark(*mark)).collect::<String>();
    writeln!(out, "{}", text.trim_end())
}

fn coloured_row(out: &mut impl Write, row: &[Mark], depth: Depth) -> io::Result<()> {
    for run in row.chunk_by(|a, b| style(*a, depth) == style(*b, depth)) {
        let text = run.iter().map(|mark| glyph::mark(*mark)).collect::<String>();
        match run {
            [Mark::Rock, ..] => write!(out, "{text}")?,
            [first, ..] => write!(out, "{}{text}{}", style(*first, depth).render(), Reset.render())?,
            [] => {}
        }
    }
    writeln!(out)
}

/// The colour of a mark; what a player looks for is bold.
pub(crate) fn style(mark: Mark, depth: Depth) -> Style {
    let style = Style::new().fg_color(Some(depth.colour(colour::mark(mark))));
    match mark {
        Mark::Thing(Thing::Monster(_) | Thing::Key(_) | Thing::Loot | Thing::Trap) | Mark::Locked(_) => style.bold(),
        Mark::Terrain(floor_client::Terrain::StairsUp | floor_client::Terrain::StairsDown) => style.bold(),
        Mark::Rock | Mark::Terrain(_) => style,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{fixture, picture::Legend};

    fn drawn(depth: Option<Depth>) -> String {
        let floor = fixture::floor();
        let scene = Scene::new(&floor);
        let mut out = Vec::new();
        draw(&mut out, &scene, depth).unwrap();
        Legend::new(&scene).write(&mut out, depth).unwrap();
        String::from_utf8(out).unwrap()
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
    fn colour_changes_no_letter() {
        let coloured = drawn(Some(Depth::TrueColour));
        let stripped = anstream::adapter::strip_str(&coloured).to_string();
        let trimmed = |text: &str| text.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>();
        assert_eq!(trimmed(&stripped), trimmed(&drawn(None)));
    }
}
