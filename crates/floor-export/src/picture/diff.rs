//! Draws the differences of two floors of one size like `diff -u`: the rows that differ, with some rows of context.

use std::{
    io::{self, Write},
    ops::Range,
};

use anstyle::{RgbColor, Style};

use super::{
    colour::{self, Depth},
    glyph,
    scene::Scene,
    text,
};

/// Rows and columns of context around a difference.
const CONTEXT: u32 = 3;

const REMOVED: RgbColor = RgbColor(0x96, 0x10, 0x20);
const ADDED: RgbColor = RgbColor(0x10, 0x78, 0x28);

/// Draws the rows that differ, with `-` before a row of the first floor and `+` before a row of the second. Draws only
/// the columns with differences and their context, and nothing if the floors look the same.
///
/// # Errors
/// As of `out`.
pub fn draw(out: &mut impl Write, one: &Scene<'_>, other: &Scene<'_>, depth: Option<Depth>) -> io::Result<()> {
    let (width, height) = (one.floor.width(), one.floor.height());
    let differs = |x: u32, y: u32| one.mark(x, y) != other.mark(x, y);
    let rows = (0..height).filter(|y| (0..width).any(|x| differs(x, *y))).collect::<Vec<_>>();
    let columns = (0..width).filter(|x| rows.iter().any(|y| differs(*x, *y))).collect::<Vec<_>>();
    let (Some(left), Some(right)) = (columns.first(), columns.last()) else { return Ok(()) };
    let columns = left.saturating_sub(CONTEXT)..(right + 1 + CONTEXT).min(width);
    for hunk in hunks(&rows, height) {
        writeln!(out, "@@ rows {}-{}, columns {}-{} @@", hunk.start, hunk.end - 1, columns.start, columns.end - 1)?;
        let changed = hunk.clone().map(|y| (y, rows.binary_search(&y).is_ok())).collect::<Vec<_>>();
        // Adjacent rows that differ stay together, so that the shape of each floor is visible.
        for run in changed.chunk_by(|a, b| a.1 == b.1) {
            let sides: &[(char, &Scene<'_>, RgbColor)] =
                if run[0].1 { &[('-', one, REMOVED), ('+', other, ADDED)] } else { &[(' ', one, REMOVED)] };
            for (sign, scene, colour) in sides {
                let style = depth.map(|depth| background(*colour, depth));
                for (y, _) in run {
                    let letter = |x| (glyph::mark(scene.mark(x, *y)), style.filter(|_| differs(x, *y)));
                    let row = [(*sign, None)].into_iter().chain(columns.clone().map(letter)).collect::<Vec<_>>();
                    text::write_row(out, &row, depth.is_some())?;
                }
            }
        }
    }
    Ok(())
}

/// The rows that differ, with their context. Hunks that touch are merged.
fn hunks(rows: &[u32], height: u32) -> Vec<Range<u32>> {
    let mut hunks = Vec::<Range<u32>>::new();
    for row in rows {
        let (first, end) = (row.saturating_sub(CONTEXT), (row + 1 + CONTEXT).min(height));
        match hunks.last_mut() {
            Some(last) if first <= last.end => last.end = end,
            _ => hunks.push(first..end),
        }
    }
    hunks
}

fn background(colour: RgbColor, depth: Depth) -> Style {
    Style::new().fg_color(Some(depth.colour(colour::LIGHT))).bg_color(Some(depth.colour(colour)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    fn drawn(depth: Option<Depth>) -> String {
        let (one, other) = (fixture::floor(), fixture::altered());
        let (one, other) = Scene::pair(&one, &other);
        let mut out = Vec::new();
        draw(&mut out, &one, &other, depth).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn rows_that_differ_stand_one_above_the_other() {
        insta::assert_snapshot!(drawn(None));
    }

    #[test]
    fn cells_that_differ_are_marked_in_colour() {
        insta::assert_snapshot!(drawn(Some(Depth::Ansi256)).replace('\u{1b}', "ESC"));
    }

    #[test]
    fn nothing_is_drawn_of_equal_floors() {
        let floor = fixture::floor();
        let (one, other) = Scene::pair(&floor, &floor);
        let mut out = Vec::new();
        draw(&mut out, &one, &other, None).unwrap();
        assert_eq!(out, b"");
    }

    #[test]
    fn adjacent_hunks_are_merged() {
        assert_eq!(hunks(&[0, 7, 15, 19], 20), [0..11, 12..20]);
    }
}
