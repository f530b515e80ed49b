//! Paints the overlays of a PNG: locked areas, room outlines and the path below objects; lines from keys to doors and
//! room numbers above them.

use anstyle::RgbColor;

use super::{
    canvas::{Canvas, LETTER, Square},
    colour::{self, INK},
    map,
    overlay::{LockKeys, Outline},
    paths::{Cell, Segment},
    scene::{Scene, Style},
    sprites::LOCKED_OPACITY,
};
use crate::names;

/// Distance between two segments of the path that share cells, in cells.
const SEGMENT_SPACING: f32 = 0.24;

pub(crate) fn below(canvas: &mut Canvas, square: &impl Fn(u32, u32) -> Square, scene: &Scene<'_>) {
    for y in 0..scene.floor.height() {
        for x in 0..scene.floor.width() {
            if let Some(lock) = scene.behind(x, y) {
                canvas.rectangle(square(x, y).part(0.0, 0.0, 1.0, 1.0), colour::lock(lock), LOCKED_OPACITY);
            }
            if scene.style == Style::Data {
                outline(canvas, square(x, y), scene, x, y);
            }
        }
    }
    let segments = &scene.overlay.segments;
    for (index, segment) in segments.iter().enumerate() {
        let shift = (index as f32 - (segments.len() - 1) as f32 / 2.0) * SEGMENT_SPACING;
        path(canvas, square, segment, shift.clamp(-0.4, 0.4));
    }
}

pub(crate) fn above(canvas: &mut Canvas, square: &impl Fn(u32, u32) -> Square, scene: &Scene<'_>) {
    for lock_keys in &scene.overlay.locks {
        draw_lock_keys(canvas, square, lock_keys);
    }
    for (id, Outline { colour, number_at: (x, y) }) in &scene.overlay.rooms {
        let (colour, ground) = match scene.style {
            Style::Data => (colour::room(*colour), INK),
            Style::Map => (map::ink(&scene.look), map::paper(&scene.look)),
        };
        badge(canvas, square(*x, *y), &names::room_number(*id).to_string(), colour, ground);
    }
}

/// Paints the sides of a cell at which its room ends.
fn outline(canvas: &mut Canvas, square: Square, scene: &Scene<'_>, x: u32, y: u32) {
    let Some(colour) = scene.outlined(x, y).map(colour::room) else { return };
    let room = scene.floor.room_at(x, y).map(|room| room.id);
    let ends = |x: u32, y: u32| scene.floor.room_at(x, y).map(|room| room.id) != room;
    let width = 0.14;
    for (ends, side) in [
        (ends(x.wrapping_sub(1), y), square.part(0.0, 0.0, width, 1.0)),
        (ends(x + 1, y), square.part(1.0 - width, 0.0, width, 1.0)),
        (ends(x, y.wrapping_sub(1)), square.part(0.0, 0.0, 1.0, width)),
        (ends(x, y + 1), square.part(0.0, 1.0 - width, 1.0, width)),
    ] {
        if ends {
            canvas.rectangle(side, colour, 0.9);
        }
    }
}

fn path(canvas: &mut Canvas, square: &impl Fn(u32, u32) -> Square, segment: &Segment, shift: f32) {
    let points = segment.cells.iter().map(|(x, y)| square(*x, *y).at(0.5 + shift, 0.5 + shift)).collect::<Vec<_>>();
    let side = square(0, 0).side;
    canvas.line(&points, side * 0.4, INK, 0.55);
    canvas.line(&points, side * 0.22, colour::goal(segment.goal), 1.0);
}

/// Paints a dashed line from each key to its door, and rings around them.
fn draw_lock_keys(canvas: &mut Canvas, square: &impl Fn(u32, u32) -> Square, lock_keys: &LockKeys) {
    let centre = |(x, y): Cell| square(x, y).at(0.5, 0.5);
    let (side, colour) = (square(0, 0).side, colour::lock(lock_keys.lock));
    for key in &lock_keys.keys {
        let ends = [centre(*key), centre(lock_keys.door)];
        canvas.dashes(&ends, side * 0.34, side * 0.8, INK, 0.55);
        canvas.dashes(&ends, side * 0.18, side * 0.8, colour, 0.95);
    }
    for (x, y) in lock_keys.keys.iter().copied().chain([lock_keys.door]).map(centre) {
        canvas.ring(x, y, side * 0.95, side * 0.34, INK);
        canvas.ring(x, y, side * 0.95, side * 0.18, colour);
    }
}

/// Paints a number on a background, from a cell to the right.
fn badge(canvas: &mut Canvas, square: Square, text: &str, colour: RgbColor, ground: RgbColor) {
    let size = (square.side / 10.0).round().max(1.0);
    let (_, middle) = square.at(0.5, 0.5);
    let (width, height) = (LETTER * size * text.len() as f32, LETTER * size);
    let (left, top) = (square.left + 2.0 * size, (middle - height / 2.0).round());
    canvas.rectangle([left - 2.0 * size, top - 2.0 * size, width + 3.0 * size, height + 3.0 * size], ground, 0.82);
    canvas.label((left + (width - size) / 2.0, top + (height - size) / 2.0), size, text, colour);
}
