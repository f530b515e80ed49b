//! Paints each cell of a PNG: ground with light and shadow, then the object on it.

use anstyle::RgbColor;
use floor_proto::v1::{RoomRole, Terrain};

use super::{
    canvas::{Canvas, LETTER},
    colour::{self, LIGHT},
    scene::{Mark, Object, Scene},
};

/// Opacity of a lock's colour over the area behind it.
pub(crate) const LOCKED_OPACITY: f32 = 0.34;
pub(crate) const INK: RgbColor = RgbColor(0x10, 0x0e, 0x14);
/// Smallest cell side at which letters are legible, in pixels.
const MIN_LETTER_SIDE: f32 = 10.0;

/// A cell's square on the canvas.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Square {
    pub(crate) left: f32,
    pub(crate) top: f32,
    pub(crate) side: f32,
}

impl Square {
    /// A point of the square; each coordinate is 0 to 1.
    pub(crate) const fn at(&self, x: f32, y: f32) -> (f32, f32) {
        (self.left + x * self.side, self.top + y * self.side)
    }

    pub(crate) const fn part(&self, x: f32, y: f32, width: f32, height: f32) -> [f32; 4] {
        let (left, top) = self.at(x, y);
        [left, top, width * self.side, height * self.side]
    }
}

/// Paints the terrain of a cell.
pub(crate) fn ground(canvas: &mut Canvas, square: Square, scene: &Scene<'_>, x: u32, y: u32) {
    let floor = scene.floor;
    let terrain = floor.terrain_at(x, y).unwrap_or(Terrain::Wall);
    let (left, above) = (x.wrapping_sub(1), y.wrapping_sub(1));
    let wall_at = |x, y| matches!(floor.terrain_at(x, y), Some(Terrain::Wall | Terrain::SecretDoor) | None);
    if matches!(terrain, Terrain::Wall | Terrain::SecretDoor) {
        if !scene.is_rock(x, y) {
            wall(canvas, square, !wall_at(x, y + 1));
        }
        if terrain == Terrain::SecretDoor && !scene.for_players {
            secret_door(canvas, square);
        }
        return;
    }
    canvas.rectangle(square.part(0.0, 0.0, 1.0, 1.0), stone(scene, terrain, x, y), 1.0);
    detail(canvas, square, terrain);
    if terrain == Terrain::Chasm && !matches!(floor.terrain_at(x, above), Some(Terrain::Chasm | Terrain::Bridge)) {
        canvas.rectangle(square.part(0.0, 0.0, 1.0, 0.45), colour::mix(colour::of(Terrain::Floor), INK, 130), 1.0);
    }
    if wall_at(x, above) {
        canvas.rectangle(square.part(0.0, 0.0, 1.0, 0.3), INK, 0.32);
    }
    if wall_at(left, y) {
        canvas.rectangle(square.part(0.0, 0.0, 0.2, 1.0), INK, 0.22);
    }
    if matches!(terrain, Terrain::Door | Terrain::LockedDoor) {
        let across = wall_at(left, y) && wall_at(x + 1, y);
        let colour = if terrain == Terrain::Door { colour::of(terrain) } else { colour::lock(scene.lock(x, y)) };
        door(canvas, square, across, colour, terrain == Terrain::LockedDoor);
    }
}

/// Paints the stairs or the object on a cell. Called after all ground, since a glow extends over neighbouring cells.
pub(crate) fn objects(canvas: &mut Canvas, square: Square, scene: &Scene<'_>, x: u32, y: u32) {
    if let Some(terrain @ (Terrain::StairsUp | Terrain::StairsDown)) = scene.floor.terrain_at(x, y) {
        let (x, y) = square.at(0.5, 0.5);
        canvas.disc(x, y, 1.05 * square.side, colour::of(terrain), 0.25);
        stairs(canvas, square, terrain);
    }
    if let Some(it) = scene.object(x, y) {
        object(canvas, square, it);
    }
}

/// Paints a mark for the legend.
pub(crate) fn sample(canvas: &mut Canvas, square: Square, mark: Mark) {
    if mark == Mark::Rock {
        return;
    }
    let whole = square.part(0.0, 0.0, 1.0, 1.0);
    let stone = colour::mix(colour::of(Terrain::Floor), INK, 30);
    canvas.rectangle(whole, stone, 1.0);
    match mark {
        Mark::Rock => {}
        Mark::Step(goal) => {
            let line = [square.at(0.0, 0.5), square.at(1.0, 0.5)];
            canvas.line(&line, square.side * 0.5, INK, 0.6);
            canvas.line(&line, square.side * 0.28, colour::goal(goal), 1.0);
        }
        Mark::Behind(lock) => canvas.rectangle(whole, colour::lock(lock), LOCKED_OPACITY),
        Mark::Outline => {
            canvas.rectangle(whole, colour::room(0), 1.0);
            canvas.rectangle(square.part(0.15, 0.15, 0.7, 0.7), stone, 1.0);
        }
        Mark::Terrain(Terrain::Wall) => wall(canvas, square, true),
        Mark::Terrain(Terrain::SecretDoor) => {
            wall(canvas, square, false);
            secret_door(canvas, square);
        }
        Mark::Terrain(terrain) => {
            if natural(terrain) {
                canvas.rectangle(whole, base(terrain), 1.0);
            }
            detail(canvas, square, terrain);
            match terrain {
                Terrain::Door => door(canvas, square, true, colour::of(terrain), false),
                Terrain::StairsUp | Terrain::StairsDown => stairs(canvas, square, terrain),
                _ => {}
            }
        }
        Mark::Locked(id) => door(canvas, square, true, colour::lock(id), true),
        Mark::Object(it) => object(canvas, square, it),
    }
}

/// Paints the ground of a room for the legend.
pub(crate) fn tinted(canvas: &mut Canvas, square: Square, role: RoomRole) {
    let stone = colour::of(Terrain::Floor);
    let tinted = colour::tint(role).map_or(stone, |tint| colour::mix(stone, tint, colour::TINT));
    canvas.rectangle(square.part(0.0, 0.0, 1.0, 1.0), tinted, 1.0);
}

/// The colour of a passable cell: tinted by the role of its room, darker outside rooms, with a slight random variation.
fn stone(scene: &Scene<'_>, terrain: Terrain, x: u32, y: u32) -> RgbColor {
    let natural = natural(terrain);
    let mut stone = base(terrain);
    if !natural {
        match (scene.floor.room_at(x, y), colour::tint(scene.tinted_for(x, y))) {
            (_, Some(tint)) => stone = colour::mix(stone, tint, colour::TINT),
            (None, _) => stone = colour::mix(stone, INK, 52),
            (Some(_), None) => {}
        }
    }
    let grain = (x.wrapping_mul(0x9e37_79b1) ^ y.wrapping_mul(0x85eb_ca77)).wrapping_mul(0xc2b2_ae3d) >> 28;
    colour::mix(stone, INK, grain as u16 * 2)
}

/// The colour of a cell's ground before tint and variation.
fn base(terrain: Terrain) -> RgbColor {
    match terrain {
        // In text a chasm has a light colour to be legible. Here it is darker, but still lighter than rock.
        Terrain::Chasm => colour::mix(colour::of(terrain), INK, 176),
        terrain if natural(terrain) => colour::of(terrain),
        _ => colour::of(Terrain::Floor),
    }
}

/// Whether the ground has the terrain's own colour. Other terrain is painted on bare floor.
const fn natural(terrain: Terrain) -> bool {
    use Terrain::{Bridge, Chasm, DeepWater, Grass, Lava, ShallowWater};
    matches!(terrain, ShallowWater | DeepWater | Lava | Chasm | Bridge | Grass)
}

/// Paints a wall from above, and its lit face if there is no wall below it in the picture.
fn wall(canvas: &mut Canvas, square: Square, faces_viewer: bool) {
    let top = colour::mix(colour::of(Terrain::Wall), colour::ROCK, 120);
    canvas.rectangle(square.part(0.0, 0.0, 1.0, 1.0), top, 1.0);
    if faces_viewer {
        canvas.rectangle(square.part(0.0, 0.5, 1.0, 0.5), colour::of(Terrain::Wall), 1.0);
        canvas.rectangle(square.part(0.0, 0.5, 1.0, 0.1), LIGHT, 0.18);
    }
}

fn secret_door(canvas: &mut Canvas, square: Square) {
    canvas.rectangle(square.part(0.2, 0.2, 0.6, 0.6), colour::of(Terrain::SecretDoor), 0.55);
}

/// Paints details that distinguish terrain without colour.
fn detail(canvas: &mut Canvas, square: Square, terrain: Terrain) {
    let thin = (square.side * 0.09).max(0.7);
    match terrain {
        Terrain::ShallowWater | Terrain::DeepWater | Terrain::Lava => {
            let wave = [square.at(0.15, 0.6), square.at(0.38, 0.45), square.at(0.62, 0.6), square.at(0.85, 0.45)];
            canvas.line(&wave, thin, LIGHT, if terrain == Terrain::DeepWater { 0.14 } else { 0.38 });
        }
        // The lines continue in the neighbouring cells of the chasm.
        Terrain::Chasm => {
            for line in [[(0.0, 0.5), (0.5, 0.0)], [(0.5, 1.0), (1.0, 0.5)]] {
                canvas.line(&line.map(|(x, y)| square.at(x, y)), thin, colour::of(terrain), 0.8);
            }
        }
        Terrain::Grass => {
            for (x, lean) in [(0.3, -0.1), (0.5, 0.05), (0.7, 0.14)] {
                canvas.line(&[square.at(x, 0.8), square.at(x + lean, 0.35)], thin, INK, 0.35);
            }
        }
        Terrain::Rubble => {
            for (x, y, radius) in [(0.3, 0.62, 0.14), (0.62, 0.7, 0.1), (0.6, 0.36, 0.16)] {
                let (x, y) = square.at(x, y);
                canvas.disc(x, y, radius * square.side, INK, 0.42);
            }
        }
        Terrain::Bridge => {
            for y in [0.25, 0.5, 0.75] {
                canvas.line(&[square.at(0.0, y), square.at(1.0, y)], thin, INK, 0.4);
            }
        }
        Terrain::Pillar => {
            let (x, y) = square.at(0.56, 0.58);
            canvas.disc(x, y, 0.4 * square.side, INK, 0.5);
            let (x, y) = square.at(0.48, 0.48);
            canvas.disc(x, y, 0.37 * square.side, colour::of(terrain), 1.0);
        }
        _ => {}
    }
}

fn door(canvas: &mut Canvas, square: Square, across: bool, colour: RgbColor, locked: bool) {
    let (frame, leaf) = if across {
        (square.part(0.0, 0.24, 1.0, 0.52), square.part(0.08, 0.32, 0.84, 0.36))
    } else {
        (square.part(0.24, 0.0, 0.52, 1.0), square.part(0.32, 0.08, 0.36, 0.84))
    };
    canvas.rectangle(frame, INK, 0.85);
    canvas.rectangle(leaf, colour, 1.0);
    if locked {
        let (x, y) = square.at(0.5, 0.5);
        canvas.disc(x, y, 0.16 * square.side, INK, 1.0);
    }
}

/// Paints stairs as an arrowhead on black, so that they are easy to find.
fn stairs(canvas: &mut Canvas, square: Square, terrain: Terrain) {
    let colour = colour::of(terrain);
    canvas.rectangle(square.part(0.0, 0.0, 1.0, 1.0), INK, 0.9);
    let (tip, base) = if terrain == Terrain::StairsUp { (0.14, 0.82) } else { (0.86, 0.18) };
    canvas.polygon(&[square.at(0.5, tip), square.at(0.9, base), square.at(0.1, base)], colour, 1.0);
}

/// Paints an object, and nothing under it.
pub(crate) fn object(canvas: &mut Canvas, square: Square, object: Object) {
    let colour = colour::object(object);
    let side = square.side;
    let (x, y) = square.at(0.5, 0.5);
    match object {
        Object::Monster(letter) => {
            canvas.disc(x, y, 0.52 * side, INK, 0.75);
            canvas.disc(x, y, 0.45 * side, colour, 1.0);
            if side >= MIN_LETTER_SIDE {
                let size = (side / 14.0).floor().max(1.0);
                // The last column and row of a character are empty.
                let half = (LETTER - 1.0) * size / 2.0;
                canvas.text((x - half).round(), (y - half).round(), size, &letter.to_string(), LIGHT);
            }
        }
        Object::Loot => {
            let diamond = |reach: f32| {
                [(0.5, 0.5 - reach), (0.5 + reach, 0.5), (0.5, 0.5 + reach), (0.5 - reach, 0.5)]
                    .map(|(x, y)| square.at(x, y))
            };
            canvas.polygon(&diamond(0.5), INK, 0.8);
            canvas.polygon(&diamond(0.36), colour, 1.0);
        }
        Object::Key(_) => {
            let (bow_x, bow_y) = square.at(0.3, 0.5);
            for (thickness, colour) in [(0.36, INK), (0.17, colour)] {
                canvas.ring(bow_x, bow_y, 0.22 * side, thickness * side, colour);
                canvas.line(&[square.at(0.52, 0.5), square.at(0.95, 0.5)], thickness * side, colour, 1.0);
                canvas.line(&[square.at(0.85, 0.5), square.at(0.85, 0.76)], thickness * side, colour, 1.0);
            }
        }
        Object::Trap => {
            canvas.polygon(&[square.at(0.5, 0.0), square.at(1.05, 1.0), square.at(-0.05, 1.0)], INK, 0.7);
            canvas.polygon(&[square.at(0.5, 0.17), square.at(0.88, 0.9), square.at(0.12, 0.9)], colour, 1.0);
            canvas.line(&[square.at(0.5, 0.45), square.at(0.5, 0.66)], 0.13 * side, INK, 1.0);
        }
    }
}
