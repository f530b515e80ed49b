//! Draws a floor in half-height blocks. A character shows two cells, one above the other, so cells are square. If the
//! floor is wider than the terminal, a block stands for several cells.

use std::io::{self, Write};

use anstyle::{Reset, RgbColor, Style};
use floor_proto::v1::Terrain;

use super::{
    colour::{self, Depth},
    scene::{Mark, Scene},
};

/// Draws the scene within `columns` characters.
///
/// # Errors
/// As of `out`.
pub fn draw(out: &mut impl Write, scene: &Scene<'_>, columns: u32, depth: Depth) -> io::Result<()> {
    let (width, shown) = (scene.floor.width(), scene.rows());
    let scale = width.div_ceil(columns.max(1)).max(1);
    let block = |column: u32, row: u32| {
        let top = shown.start + row * scale;
        let cells = (top..(top + scale).min(shown.end))
            .flat_map(|y| (column * scale..((column + 1) * scale).min(width)).map(move |x| (x, y)));
        let shown = cells.max_by_key(|(x, y)| weight(scene.mark(*x, *y)));
        shown.map_or(colour::ROCK, |(x, y)| ground(scene, x, y))
    };
    let columns = width.div_ceil(scale);
    let rows = (shown.end - shown.start).div_ceil(scale);
    for row in (0..rows).step_by(2) {
        let pairs = (0..columns).map(|column| (block(column, row), block(column, row + 1))).collect::<Vec<_>>();
        for run in pairs.chunk_by(|a, b| a == b) {
            let (upper, lower) = run[0];
            let style = Style::new().fg_color(Some(depth.colour(upper))).bg_color(Some(depth.colour(lower)));
            write!(out, "{}{}", style.render(), "▀".repeat(run.len()))?;
        }
        writeln!(out, "{}", Reset.render())?;
    }
    Ok(())
}

/// A block that stands for several cells shows the one with the greatest weight: stairs, locked doors and objects, then
/// other doors and ground, then walls.
const fn weight(mark: Mark) -> u8 {
    match mark {
        Mark::Terrain(Terrain::StairsUp | Terrain::StairsDown) => 6,
        Mark::Locked(_) => 5,
        Mark::Object(_) => 4,
        Mark::Terrain(Terrain::Door | Terrain::SecretDoor) => 3,
        Mark::Terrain(Terrain::Wall) => 1,
        Mark::Terrain(_) => 2,
        Mark::Step(_) => 3,
        Mark::Furniture(_) => 2,
        Mark::Rock | Mark::Behind(_) | Mark::Outline => 0,
    }
}

/// The colour of a cell. Ground is darkened, since a solid block is brighter than a thin character, and objects must
/// stand out.
fn ground(scene: &Scene<'_>, x: u32, y: u32) -> RgbColor {
    let mark = scene.mark(x, y);
    let plain = match mark {
        Mark::Terrain(Terrain::Wall) => colour::mix(colour::mark(mark), colour::ROCK, 110),
        Mark::Terrain(Terrain::Floor | Terrain::Rubble | Terrain::Grass) => {
            let stone = colour::mix(colour::mark(mark), colour::ROCK, 60);
            let tint = colour::tint(scene.tinted_for(x, y));
            tint.map_or(stone, |tint| colour::mix(stone, tint, colour::TINT))
        }
        Mark::Furniture(_) => colour::mix(colour::mark(mark), colour::ROCK, 60),
        other => colour::mark(other),
    };
    if !matches!(mark, Mark::Terrain(_)) {
        return plain;
    }
    let room = scene.outlined(x, y).map_or(plain, |room| colour::mix(plain, colour::room(room), 90));
    scene.behind(x, y).map_or(room, |lock| colour::mix(room, colour::lock(lock), 110))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    fn drawn(columns: u32) -> String {
        let floor = fixture::floor();
        let mut out = Vec::new();
        draw(&mut out, &Scene::new(&floor), columns, Depth::Ansi256).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_floor_in_blocks() {
        insta::assert_snapshot!(drawn(80).replace('\u{1b}', "ESC"));
    }

    #[test]
    fn a_wide_floor_is_drawn_smaller() {
        // The floor has 30 columns, and 14 rows that are not rock. Below 30 columns, a block stands for several cells.
        for (columns, width, lines) in [(80, 30, 7), (30, 30, 7), (29, 15, 4), (10, 10, 3), (0, 1, 1)] {
            let drawn = anstream::adapter::strip_str(&drawn(columns)).to_string();
            assert_eq!(drawn.lines().count(), lines, "{columns} columns");
            assert!(drawn.lines().all(|line| line.chars().count() == width), "{columns} columns");
        }
    }
}
