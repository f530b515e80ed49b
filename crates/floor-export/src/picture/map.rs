//! The style of printed dungeons: ink on paper, hatched rock around the rooms, a grid on the ground, a title and a scale.

use anstyle::RgbColor;
use floor_gen::pack::{Hatch, Look, Paint};
use floor_proto::v1::{FloorKind, Terrain};
use tiny_skia::{Path, Transform};

use super::{
    canvas::{Canvas, LETTER, Square},
    colour,
    contour::{self, Corners},
    hatch::{self, grain},
    scene::{Mark, Scene, Style},
    sprites, symbols,
};
use crate::walls::{self, Corner};

const WHITE: RgbColor = RgbColor(0xff, 0xff, 0xff);
/// Thickness of the outline of rooms, of that of water, of hatching and of the grid, in sides of a cell.
const OUTLINE: f32 = 0.16;
const SHORE: f32 = 0.08;
const STROKE: f32 = 0.055;
const GRID: f32 = 0.04;
/// How far the lines in water are from its shore, in sides of a cell, with their opacities.
const RIPPLES: [(f32, f32); 2] = [(0.8, 0.22), (0.4, 0.4)];
/// Terrain that lies on the ground, in the order in which it is drawn: deep water is in the shallow.
const PATCHES: [&[Terrain]; 5] = [
    &[Terrain::Grass],
    &[Terrain::ShallowWater, Terrain::DeepWater],
    &[Terrain::DeepWater],
    &[Terrain::Lava],
    &[Terrain::Chasm],
];
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
    rock(canvas, square, scene);
    let corners = if scene.floor.kind() == FloorKind::Cavern { Corners::Round } else { Corners::Sloped };
    let is_sharp = |corner| is_beside_door(scene, corner);
    let Some(outline) = outline(scene, square, corners, &is_sharp, |x, y| is_ground(scene, x, y)) else { return };
    let (look, side) = (&scene.look, square(0, 0).side);
    canvas.fill(Some(&outline), terrain_colour(look, Terrain::Floor), 1.0);
    canvas.clipped(&outline, |canvas| {
        PATCHES.iter().for_each(|kinds| patch(canvas, square, scene, kinds));
        shadow(canvas, &outline, look, side);
        grid(canvas, square, scene);
    });
    for (x, y) in cells(scene) {
        feature(canvas, square(x, y), scene, x, y);
    }
    canvas.trace(&outline, OUTLINE * side, ink(look), 1.0);
    for (x, y) in cells(scene) {
        door(canvas, square(x, y), scene, x, y);
    }
}

/// A mark of the legend.
pub(super) fn sample(canvas: &mut Canvas, square: Square, scene: &Scene<'_>, mark: Mark) {
    match mark {
        Mark::Terrain(Terrain::Wall) => {
            hatch(canvas, square, &scene.look, 3, 5);
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
        Mark::Furniture(piece) => {
            cell(canvas, square, &scene.look, Terrain::Floor);
            symbols::draw(canvas, square, piece.symbol, Style::Map);
        }
        Mark::Terrain(terrain) if !matches!(terrain, Terrain::StairsUp | Terrain::StairsDown) => {
            cell(canvas, square, &scene.look, terrain);
        }
        mark => sprites::sample(canvas, square, &scene.look, mark),
    }
}

/// The side of a letter of the title over a floor of that width, in pixels.
pub(super) fn title_letter(width: f32, title: &str) -> f32 {
    (width / 36.0).min(width / title.len().max(1) as f32).max(LETTER)
}

/// Writes the title over the floor, whose first cell is `first`, and below it how far ten cells are.
pub(super) fn frame(canvas: &mut Canvas, scene: &Scene<'_>, title: &str, first: Square) {
    let Square { left, top, side } = first;
    let letter = title_letter(scene.floor.width() as f32 * side, title);
    let ink = ink(&scene.look);
    canvas.text(left, (1.4f32.mul_add(-letter, top) - side * 0.7).max(0.0), letter / LETTER, title, ink);
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

/// The outline of cells, in pixels.
fn outline(
    scene: &Scene<'_>,
    square: &impl Fn(u32, u32) -> Square,
    corners: Corners,
    is_sharp: &dyn Fn(Corner) -> bool,
    is_inside: impl Fn(u32, u32) -> bool,
) -> Option<Path> {
    let outlines = walls::outlines(scene.floor.width(), scene.floor.height(), is_inside);
    contour::path(&outlines, corners, is_sharp, &|(x, y)| square(0, 0).at(x, y))
}

/// Whether a door is at the corner of a cell.
fn is_beside_door(scene: &Scene<'_>, (x, y): Corner) -> bool {
    let cells = [(x, y), (x.wrapping_sub(1), y), (x, y.wrapping_sub(1)), (x.wrapping_sub(1), y.wrapping_sub(1))];
    cells.into_iter().any(|(x, y)| match scene.floor.terrain_at(x, y) {
        Some(Terrain::SecretDoor) => !scene.for_players,
        terrain => matches!(terrain, Some(Terrain::Door | Terrain::LockedDoor)),
    })
}

/// Shades and hatches the rock around the ground, each cell over those before.
fn rock(canvas: &mut Canvas, square: &impl Fn(u32, u32) -> Square, scene: &Scene<'_>) {
    // Each floor has its own hatching.
    let seed = scene.floor.content_hash() as u32;
    let is_frayed = |x, y| scene.lies_near_ground(x, y, HATCHED) && grain(x ^ seed, y, 99) < FRAYED;
    let hatched = cells(scene).filter(|(x, y)| scene.lies_near_ground(*x, *y, HATCHED - 1) || is_frayed(*x, *y));
    for (x, y) in hatched {
        hatch(canvas, square(x, y), &scene.look, x ^ seed, y);
    }
}

/// Hatches about a cell of rock.
fn hatch(canvas: &mut Canvas, square: Square, look: &Look, x: u32, y: u32) {
    // Away from the middle of the cell, unless lines go on in the cells beside it.
    let [dx, dy] = [97, 98].map(|n| if look.hatch == Hatch::Bricks { 0.0 } else { 0.4 * (grain(x, y, n) - 0.5) });
    let placed = |line: Vec<(f32, f32)>| line.into_iter().map(|(x, y)| square.at(x + dx, y + dy)).collect::<Vec<_>>();
    let shade = colour::mix(paper(look), colour::paint(look, Paint::Wall), 36);
    let lines = hatch::lines(look.hatch, x, y);
    match look.hatch {
        Hatch::Strokes => {
            let area = placed(hatch::area(&lines));
            canvas.polygon(&area, shade, 1.0);
            canvas.line(&area, 0.2 * square.side, shade, 1.0);
        }
        Hatch::Bricks => canvas.rectangle(square.part(0.0, 0.0, 1.0, 1.0), shade, 1.0),
        _ => {
            let (x, y) = square.at(0.5 + dx, 0.5 + dy);
            canvas.disc(x, y, 0.75 * square.side, shade, 1.0);
        }
    }
    let lines = lines.into_iter().map(placed).collect::<Vec<_>>();
    canvas.lines(&lines, (STROKE * square.side).max(0.6), ink(look), 0.9);
}

/// The ground that terrain has on paper.
fn terrain_colour(look: &Look, terrain: Terrain) -> RgbColor {
    let share = match terrain {
        Terrain::DeepWater | Terrain::Lava => 70,
        Terrain::Chasm => 40,
        Terrain::ShallowWater | Terrain::Grass | Terrain::Bridge => 130,
        _ => 225,
    };
    colour::mix(sprites::base(look, terrain), WHITE, share)
}

/// Terrain of the first of those kinds, with lines along its shore.
fn patch(canvas: &mut Canvas, square: &impl Fn(u32, u32) -> Square, scene: &Scene<'_>, kinds: &[Terrain]) {
    let is_inside = |x, y| scene.floor.terrain_at(x, y).is_some_and(|terrain| kinds.contains(&terrain));
    let Some(shore) = outline(scene, square, Corners::Round, &|_| false, is_inside) else { return };
    let (side, ink, colour) = (square(0, 0).side, ink(&scene.look), terrain_colour(&scene.look, kinds[0]));
    canvas.fill(Some(&shore), colour, 1.0);
    if kinds[0] == Terrain::Grass {
        return;
    }
    canvas.clipped(&shore, |canvas| {
        for (reach, opacity) in RIPPLES {
            let thin = (0.6 * SHORE * side).max(0.6);
            canvas.trace(&shore, 2.0 * reach * side + thin, colour::mix(colour, ink, (opacity * 256.0) as u16), 1.0);
            canvas.trace(&shore, 2.0 * reach * side - thin, colour, 1.0);
        }
    });
    canvas.trace(&shore, SHORE * side, ink, 0.9);
}

/// The shadow that walls throw to the south-east.
fn shadow(canvas: &mut Canvas, outline: &Path, look: &Look, side: f32) {
    if let Some(shifted) = outline.clone().transform(Transform::from_translate(0.12 * side, 0.16 * side)) {
        canvas.trace(&shifted, 0.5 * side, ink(look), 0.14);
    }
}

fn grid(canvas: &mut Canvas, square: &impl Fn(u32, u32) -> Square, scene: &Scene<'_>) {
    let (width, height) = (scene.floor.width(), scene.floor.height());
    let columns = (0..=width).map(|x| vec![square(x, 0).at(0.0, 0.0), square(x, height).at(0.0, 0.0)]);
    let rows = (0..=height).map(|y| vec![square(0, y).at(0.0, 0.0), square(width, y).at(0.0, 0.0)]);
    let lines = columns.chain(rows).collect::<Vec<_>>();
    canvas.lines(&lines, (GRID * square(0, 0).side).max(0.5), ink(&scene.look), 0.22);
}

/// What is drawn on single cells.
fn feature(canvas: &mut Canvas, square: Square, scene: &Scene<'_>, x: u32, y: u32) {
    let terrain = scene.detail_at(x, y);
    if terrain == Terrain::Bridge {
        canvas.rectangle(square.part(0.0, 0.0, 1.0, 1.0), terrain_colour(&scene.look, terrain), 1.0);
    }
    match terrain {
        Terrain::Bridge | Terrain::Grass | Terrain::Pillar => sprites::detail(canvas, square, &scene.look, terrain),
        Terrain::Rubble => {
            for stone in 0..3 {
                let [x, y, size] = [0, 1, 2].map(|n| grain(x, y, 3 * stone + n));
                let (x, y) = square.at(0.7f32.mul_add(x, 0.15), 0.7f32.mul_add(y, 0.15));
                canvas.disc(x, y, 0.1f32.mul_add(size, 0.06) * square.side, ink(&scene.look), 0.6);
            }
        }
        _ => {}
    }
}

/// A cell of ground for the legend, with its edges.
fn cell(canvas: &mut Canvas, square: Square, look: &Look, terrain: Terrain) {
    canvas.rectangle(square.part(0.0, 0.0, 1.0, 1.0), terrain_colour(look, terrain), 1.0);
    sprites::detail(canvas, square, look, terrain);
    let thin = (GRID * square.side).max(0.5);
    for line in [[square.at(0.0, 0.0), square.at(1.0, 0.0)], [square.at(0.0, 0.0), square.at(0.0, 1.0)]] {
        canvas.line(&line, thin, ink(look), 0.22);
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
    canvas.label(square.at(0.5, 0.5), size, "S", ink(look));
}
