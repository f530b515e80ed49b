//! The style of printed dungeons: ink on paper, hatched rock around the rooms, a grid on the ground, a title and a scale.

use anstyle::RgbColor;
use floor_gen::pack::{Look, Paint};
use floor_proto::v1::Terrain;

use super::{
    canvas::{Canvas, LETTER},
    colour,
    hatch::{self, grain},
    scene::{Mark, Scene},
    sprites::{self, Square},
};
use crate::walls;

const WHITE: RgbColor = RgbColor(0xff, 0xff, 0xff);
/// Thickness of the outline of rooms, of that of water, of hatching and of the grid, in sides of a cell.
const OUTLINE: f32 = 0.16;
const SHORE: f32 = 0.08;
const STROKE: f32 = 0.055;
const GRID: f32 = 0.04;
/// Rock is hatched up to so many cells from the ground; of the last row of cells only this share.
const HATCHED: u32 = 2;
const FRAYED: f32 = 0.55;
/// Cells of paper around a floor with a title and a scale.
pub(super) const MARGIN: u32 = 3;
/// Feet of a cell, and cells of the scale.
const FEET: u32 = 5;
const SCALE_CELLS: u32 = 10;

/// The colour of the paper.
pub(super) fn paper(look: &Look) -> RgbColor {
    colour::mix(colour::paint(look, Paint::Floor), WHITE, 190)
}

/// The colours of text, and of less important text.
pub(super) fn text(look: &Look) -> (RgbColor, RgbColor) {
    let ink = ink(look);
    (ink, colour::mix(ink, paper(look), 90))
}

pub(super) fn ink(look: &Look) -> RgbColor {
    colour::paint(look, Paint::Ink)
}

/// Paints all that is not an object.
pub(super) fn ground(canvas: &mut Canvas, square: &impl Fn(u32, u32) -> Square, scene: &Scene<'_>) {
    let (width, height) = (scene.floor.width(), scene.floor.height());
    rock(canvas, square, scene);
    for (x, y) in cells(scene).filter(|(x, y)| is_ground(scene, *x, *y)) {
        cell(canvas, square(x, y), &scene.look, scene.floor.terrain_at(x, y).unwrap_or(Terrain::Floor));
        shadow(canvas, square(x, y), scene, x, y);
    }
    let side = square(0, 0).side;
    let outlined = |canvas: &mut Canvas, thickness: f32, is_inside: &dyn Fn(u32, u32) -> bool| {
        for outline in walls::outlines(width, height, is_inside) {
            let corners = outline.into_iter().map(|(x, y)| square(x, y).at(0.0, 0.0)).collect();
            canvas.lines(&[corners], thickness * side, ink(&scene.look), 1.0);
        }
    };
    for shore in [Terrain::ShallowWater, Terrain::DeepWater, Terrain::Lava, Terrain::Chasm, Terrain::Bridge] {
        outlined(canvas, SHORE, &|x, y| scene.floor.terrain_at(x, y) == Some(shore));
    }
    outlined(canvas, OUTLINE, &|x, y| is_ground(scene, x, y));
    for (x, y) in cells(scene) {
        door(canvas, square(x, y), scene, x, y);
    }
}

/// A mark of the legend.
pub(super) fn sample(canvas: &mut Canvas, square: Square, scene: &Scene<'_>, mark: Mark) {
    match mark {
        Mark::Terrain(Terrain::Wall) => {
            let lines = hatched(square, &scene.look, 3, 5);
            canvas.lines(&lines, STROKE * square.side, ink(&scene.look), 1.0);
        }
        Mark::Terrain(Terrain::Door) => {
            cell(canvas, square, &scene.look, Terrain::Floor);
            sprites::door(canvas, square, true, WHITE, None);
        }
        Mark::Terrain(Terrain::SecretDoor) => secret_door(canvas, square, &scene.look),
        Mark::Locked(lock) => {
            cell(canvas, square, &scene.look, Terrain::Floor);
            sprites::door(canvas, square, true, WHITE, Some(lock));
        }
        Mark::Object(object) => {
            cell(canvas, square, &scene.look, Terrain::Floor);
            sprites::object(canvas, square, object);
        }
        Mark::Terrain(terrain) if !matches!(terrain, Terrain::StairsUp | Terrain::StairsDown) => {
            cell(canvas, square, &scene.look, terrain);
        }
        mark => sprites::sample(canvas, square, &scene.look, mark),
    }
}

/// Writes the title over the floor, whose first cell is `first`, and below it how far ten cells are.
pub(super) fn frame(canvas: &mut Canvas, scene: &Scene<'_>, title: &str, first: Square) {
    let Square { left, top, side } = first;
    let width = scene.floor.width() as f32 * side;
    let fitting = width / (LETTER * title.len().max(1) as f32);
    let (ink, size) = (ink(&scene.look), (side / 8.0).min(fitting).floor().clamp(1.0, 3.0));
    canvas.text(left, (LETTER.mul_add(-size, top) - side * 0.7).max(0.0), size, title, ink);
    let bar = (scene.floor.height() as f32).mul_add(side, top) + side * 0.7;
    for cell in 0..SCALE_CELLS {
        let x = (cell as f32).mul_add(side, left);
        canvas.rectangle([x, bar, side, side / 3.0], ink, 1.0);
        if cell % 2 == 1 {
            let line = (side / 12.0).ceil();
            canvas.rectangle([x + line, bar + line, side - 2.0 * line, side / 3.0 - 2.0 * line], WHITE, 1.0);
        }
    }
    let words = format!("{} ft, a square is {FEET} ft", SCALE_CELLS * FEET);
    let size = (side / 12.0).floor().clamp(1.0, 2.0);
    canvas.text(
        (SCALE_CELLS as f32 + 0.5).mul_add(side, left),
        bar + side / 6.0 - LETTER * size / 2.0,
        size,
        &words,
        ink,
    );
}

fn cells(scene: &Scene<'_>) -> impl Iterator<Item = (u32, u32)> {
    let (width, height) = (scene.floor.width(), scene.floor.height());
    (0..height).flat_map(move |y| (0..width).map(move |x| (x, y)))
}

/// Whether the picture shows ground: players take secret doors for walls.
fn is_ground(scene: &Scene<'_>, x: u32, y: u32) -> bool {
    match scene.floor.terrain_at(x, y) {
        Some(Terrain::SecretDoor) => !scene.for_players,
        terrain => terrain.is_some_and(walls::is_open),
    }
}

/// Shades and hatches the rock around the ground, row by row.
fn rock(canvas: &mut Canvas, square: &impl Fn(u32, u32) -> Square, scene: &Scene<'_>) {
    let shade = colour::mix(paper(&scene.look), colour::paint(&scene.look, Paint::Wall), 70);
    let is_near = |x, y| scene.lies_near_ground(x, y, HATCHED - 1);
    let is_frayed = |x, y| scene.lies_near_ground(x, y, HATCHED) && grain(x, y, 9) < FRAYED;
    for y in 0..scene.floor.height() {
        let mut lines = Vec::new();
        for x in (0..scene.floor.width()).filter(|x| is_near(*x, y) || is_frayed(*x, y)) {
            if is_near(x, y) {
                canvas.rectangle(square(x, y).part(0.0, 0.0, 1.0, 1.0), shade, 1.0);
            }
            lines.extend(hatched(square(x, y), &scene.look, x, y));
        }
        canvas.lines(&lines, (STROKE * square(0, 0).side).max(0.6), ink(&scene.look), 0.9);
    }
}

fn hatched(square: Square, look: &Look, x: u32, y: u32) -> Vec<Vec<(f32, f32)>> {
    let lines = hatch::lines(look.hatch, x, y).into_iter();
    lines.map(|line| line.into_iter().map(|(x, y)| square.at(x, y)).collect()).collect()
}

/// A cell of ground, with its part of the grid.
fn cell(canvas: &mut Canvas, square: Square, look: &Look, terrain: Terrain) {
    let share = match terrain {
        Terrain::DeepWater | Terrain::Lava => 70,
        Terrain::Chasm => 40,
        Terrain::ShallowWater | Terrain::Grass | Terrain::Bridge => 130,
        _ => 225,
    };
    let whole = square.part(0.0, 0.0, 1.0, 1.0);
    canvas.rectangle(whole, colour::mix(sprites::base(look, terrain), WHITE, share), 1.0);
    sprites::detail(canvas, square, look, terrain);
    let thin = (GRID * square.side).max(0.5);
    for line in [[square.at(0.0, 0.0), square.at(1.0, 0.0)], [square.at(0.0, 0.0), square.at(0.0, 1.0)]] {
        canvas.line(&line, thin, ink(look), 0.22);
    }
}

/// The shadow that walls throw to the south-east.
fn shadow(canvas: &mut Canvas, square: Square, scene: &Scene<'_>, x: u32, y: u32) {
    let ink = ink(&scene.look);
    if !is_ground(scene, x, y.wrapping_sub(1)) {
        canvas.rectangle(square.part(0.0, 0.0, 1.0, 0.3), ink, 0.14);
    }
    if !is_ground(scene, x.wrapping_sub(1), y) {
        canvas.rectangle(square.part(0.0, 0.0, 0.24, 1.0), ink, 0.14);
    }
}

fn door(canvas: &mut Canvas, square: Square, scene: &Scene<'_>, x: u32, y: u32) {
    let across = !is_ground(scene, x.wrapping_sub(1), y) && !is_ground(scene, x + 1, y);
    match scene.floor.terrain_at(x, y) {
        Some(Terrain::Door | Terrain::LockedDoor) => {
            sprites::door(canvas, square, across, WHITE, scene.shown_lock(x, y));
        }
        Some(Terrain::SecretDoor) if !scene.for_players => secret_door(canvas, square, &scene.look),
        _ => {}
    }
}

/// An S, as printed dungeons have it.
fn secret_door(canvas: &mut Canvas, square: Square, look: &Look) {
    canvas.rectangle(square.part(0.0, 0.0, 1.0, 1.0), paper(look), 1.0);
    let size = (square.side / 10.0).floor().max(1.0);
    let (x, y) = square.at(0.5, 0.5);
    let half = (LETTER - 1.0) * size / 2.0;
    canvas.text((x - half).round(), (y - half).round(), size, "S", ink(look));
}
