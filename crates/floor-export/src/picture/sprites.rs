//! Paints each cell of a PNG: ground with light and shadow, then the object on it.

use anstyle::RgbColor;
use floor_gen::pack::{Look, Paint};
use floor_proto::v1::{RoomRole, Terrain};

use super::{
    canvas::{Canvas, Square},
    colour::{self, INK, LIGHT},
    hatch,
    scene::{Mark, Monster, Object, Scene, Style},
    symbol_table, symbols,
};
use crate::names;

/// Opacity of a lock's colour over the area behind it.
pub(crate) const LOCKED_OPACITY: f32 = 0.34;
/// Smallest cell sides at which letters, and the forms of roles, are legible, and at which rock is hatched, in pixels.
const MIN_LETTER_SIDE: f32 = 10.0;
const MIN_FORM_SIDE: f32 = 5.0;
const MIN_HATCH_SIDE: f32 = 8.0;
/// How much larger than a cell large monsters and bosses are.
const LARGE: f32 = 1.3;
const BOSS: f32 = 1.8;
/// The door of a lock that players know nothing of, and any other door.
const WOOD: RgbColor = RgbColor(0xb9, 0x7a, 0x3d);

/// Paints the terrain of a cell.
pub(crate) fn ground(canvas: &mut Canvas, square: Square, scene: &Scene<'_>, x: u32, y: u32) {
    let floor = scene.floor;
    let terrain = floor.terrain_at(x, y).unwrap_or(Terrain::Wall);
    let (left, above) = (x.wrapping_sub(1), y.wrapping_sub(1));
    let wall_at = |x, y| matches!(floor.terrain_at(x, y), Some(Terrain::Wall | Terrain::SecretDoor) | None);
    if matches!(terrain, Terrain::Wall | Terrain::SecretDoor) {
        if !scene.is_rock(x, y) {
            wall(canvas, square, &scene.look, !wall_at(x, y + 1));
        } else if scene.lies_near_ground(x, y, 2) {
            rock(canvas, square, &scene.look, x, y);
        }
        if terrain == Terrain::SecretDoor && !scene.for_players {
            secret_door(canvas, square);
        }
        return;
    }
    canvas.rectangle(square.part(0.0, 0.0, 1.0, 1.0), stone(scene, terrain, x, y), 1.0);
    if is_form_shown(x, y) && !natural(terrain) && scene.piece(x, y).is_none() {
        role_form(canvas, square, scene.tinted_for(x, y));
    }
    detail(canvas, square, &scene.look, scene.detail_at(x, y));
    if terrain == Terrain::Chasm && !matches!(floor.terrain_at(x, above), Some(Terrain::Chasm | Terrain::Bridge)) {
        canvas.rectangle(
            square.part(0.0, 0.0, 1.0, 0.45),
            colour::mix(base(&scene.look, Terrain::Floor), INK, 130),
            1.0,
        );
    }
    if wall_at(x, above) {
        canvas.rectangle(square.part(0.0, 0.0, 1.0, 0.3), INK, 0.32);
    }
    if wall_at(left, y) {
        canvas.rectangle(square.part(0.0, 0.0, 0.2, 1.0), INK, 0.22);
    }
    if matches!(terrain, Terrain::Door | Terrain::LockedDoor) {
        let across = wall_at(left, y) && wall_at(x + 1, y);
        door(canvas, square, across, WOOD, scene.shown_lock(x, y));
    }
}

/// Paints the furniture, the stairs or the object on a cell. Called after all ground, since a glow extends over neighbouring cells.
pub(crate) fn objects(canvas: &mut Canvas, square: Square, scene: &Scene<'_>, x: u32, y: u32) {
    if let Some(piece) = scene.piece(x, y) {
        symbols::draw(canvas, square, piece.symbol, scene.style);
    }
    if let Some(terrain @ (Terrain::StairsUp | Terrain::StairsDown)) = scene.floor.terrain_at(x, y) {
        let (x, y) = square.at(0.5, 0.5);
        canvas.disc(x, y, 1.05 * square.side, colour::of(terrain), 0.25);
        stairs(canvas, square, terrain, scene.style);
    }
    if let Some(it) = scene.object(x, y) {
        object(canvas, square, it);
    }
}

/// Paints a mark for the legend.
pub(crate) fn sample(canvas: &mut Canvas, square: Square, look: &Look, mark: Mark) {
    if mark == Mark::Rock {
        return;
    }
    let whole = square.part(0.0, 0.0, 1.0, 1.0);
    let stone = colour::mix(base(look, Terrain::Floor), INK, 30);
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
        Mark::Terrain(Terrain::Wall) => wall(canvas, square, look, true),
        Mark::Terrain(Terrain::SecretDoor) => {
            wall(canvas, square, look, false);
            secret_door(canvas, square);
        }
        Mark::Terrain(terrain) => {
            if natural(terrain) {
                canvas.rectangle(whole, base(look, terrain), 1.0);
            }
            detail(canvas, square, look, terrain);
            match terrain {
                Terrain::Door => door(canvas, square, true, WOOD, None),
                Terrain::StairsUp | Terrain::StairsDown => stairs(canvas, square, terrain, Style::Data),
                _ => {}
            }
        }
        Mark::Locked(id) => door(canvas, square, true, WOOD, Some(id)),
        Mark::Object(it) => object(canvas, square, it),
        Mark::Furniture(piece) => symbols::draw(canvas, square, piece.symbol, Style::Data),
    }
}

/// Paints the ground of a room for the legend.
pub(crate) fn tinted(canvas: &mut Canvas, square: Square, look: &Look, role: RoomRole) {
    let stone = base(look, Terrain::Floor);
    let tinted = colour::tint(role).map_or(stone, |tint| colour::mix(stone, tint, colour::TINT));
    canvas.rectangle(square.part(0.0, 0.0, 1.0, 1.0), tinted, 1.0);
    role_form(canvas, square, role);
}

/// Whether a cell shows the form of its room's role, since a tint alone does not tell: of five in a row one does, so that
/// every room of three by three has one.
const fn is_form_shown(x: u32, y: u32) -> bool {
    (x + 2 * y).is_multiple_of(5)
}

fn role_form(canvas: &mut Canvas, square: Square, role: RoomRole) {
    if square.side >= MIN_FORM_SIDE && colour::tint(role).is_some() {
        symbols::draw(canvas, square, &format!("{} room", names::role(role)), Style::Data);
    }
}

/// The colour of a passable cell: tinted by the role of its room, darker outside rooms, with a slight random variation.
fn stone(scene: &Scene<'_>, terrain: Terrain, x: u32, y: u32) -> RgbColor {
    let natural = natural(terrain);
    let mut stone = base(&scene.look, terrain);
    if !natural {
        match (scene.floor.room_at(x, y), colour::tint(scene.tinted_for(x, y))) {
            (_, Some(tint)) => stone = colour::mix(stone, tint, colour::TINT),
            (None, _) => stone = colour::mix(stone, INK, 52),
            (Some(_), None) => {}
        }
    }
    colour::mix(stone, INK, (hatch::grain(x, y, 0) * 32.0) as u16)
}

/// The colour of a cell's ground before tint and variation.
pub(crate) fn base(look: &Look, terrain: Terrain) -> RgbColor {
    let paint = match terrain {
        Terrain::ShallowWater => Paint::Shallow,
        Terrain::DeepWater => Paint::Deep,
        Terrain::Lava => Paint::Lava,
        Terrain::Chasm => Paint::Chasm,
        Terrain::Grass => Paint::Grass,
        Terrain::Bridge => return colour::of(terrain),
        _ => Paint::Floor,
    };
    colour::paint(look, paint)
}

/// Whether the ground has the terrain's own colour. Other terrain is painted on bare floor.
const fn natural(terrain: Terrain) -> bool {
    use Terrain::{Bridge, Chasm, DeepWater, Grass, Lava, ShallowWater};
    matches!(terrain, ShallowWater | DeepWater | Lava | Chasm | Bridge | Grass)
}

/// Paints a wall from above, and its lit face if there is no wall below it in the picture.
pub(crate) fn wall(canvas: &mut Canvas, square: Square, look: &Look, faces_viewer: bool) {
    let [stone, rock] = [Paint::Wall, Paint::Rock].map(|paint| colour::paint(look, paint));
    canvas.rectangle(square.part(0.0, 0.0, 1.0, 1.0), colour::mix(stone, rock, 120), 1.0);
    if faces_viewer {
        canvas.rectangle(square.part(0.0, 0.5, 1.0, 0.5), stone, 1.0);
        canvas.rectangle(square.part(0.0, 0.5, 1.0, 0.1), LIGHT, 0.18);
    }
}

/// Hatches a cell of rock, faintly.
fn rock(canvas: &mut Canvas, square: Square, look: &Look, x: u32, y: u32) {
    if square.side >= MIN_HATCH_SIDE {
        let lines = hatch::lines(look.hatch, x, y).into_iter();
        let lines = lines.map(|line| line.into_iter().map(|(x, y)| square.at(x, y)).collect()).collect::<Vec<_>>();
        canvas.lines(&lines, (square.side * 0.06).max(0.7), colour::paint(look, Paint::Wall), 0.45);
    }
}

fn secret_door(canvas: &mut Canvas, square: Square) {
    canvas.rectangle(square.part(0.2, 0.2, 0.6, 0.6), colour::of(Terrain::SecretDoor), 0.55);
}

/// Paints details that distinguish terrain without colour.
pub(crate) fn detail(canvas: &mut Canvas, square: Square, look: &Look, terrain: Terrain) {
    let thin = (square.side * 0.09).max(0.7);
    match terrain {
        Terrain::ShallowWater | Terrain::DeepWater | Terrain::Lava => {
            let wave = [square.at(0.15, 0.6), square.at(0.38, 0.45), square.at(0.62, 0.6), square.at(0.85, 0.45)];
            canvas.line(&wave, thin, LIGHT, if terrain == Terrain::DeepWater { 0.14 } else { 0.38 });
        }
        // The lines continue in the neighbouring cells of the chasm.
        Terrain::Chasm => {
            for line in [[(0.0, 0.5), (0.5, 0.0)], [(0.5, 1.0), (1.0, 0.5)]] {
                let light = colour::mix(base(look, terrain), LIGHT, 80);
                canvas.line(&line.map(|(x, y)| square.at(x, y)), thin, light, 0.8);
            }
        }
        Terrain::Grass => symbols::draw(canvas, square, "grass", Style::Data),
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
            canvas.disc(x, y, 0.37 * square.side, colour::mix(base(look, terrain), LIGHT, 110), 1.0);
        }
        _ => {}
    }
}

/// A door of that colour, or in the colour of its lock with the number of it.
pub(crate) fn door(canvas: &mut Canvas, square: Square, across: bool, colour: RgbColor, lock: Option<u32>) {
    let (frame, leaf) = if across {
        (square.part(0.0, 0.24, 1.0, 0.52), square.part(0.08, 0.32, 0.84, 0.36))
    } else {
        (square.part(0.24, 0.0, 0.52, 1.0), square.part(0.32, 0.08, 0.36, 0.84))
    };
    canvas.rectangle(frame, INK, 0.85);
    canvas.rectangle(leaf, lock.map_or(colour, colour::lock), 1.0);
    if let Some(lock) = lock {
        let (x, y) = square.at(0.5, 0.5);
        canvas.disc(x, y, 0.42 * square.side, INK, 1.0);
        canvas.disc(x, y, 0.36 * square.side, colour::lock(lock), 1.0);
        number(canvas, (x, y), square.side, lock);
    }
}

/// Writes the number of a lock around a point, if it has one and cells of that side show it legibly.
fn number(canvas: &mut Canvas, middle: (f32, f32), side: f32, lock: u32) {
    let text = if lock == 0 { String::new() } else { lock.to_string() };
    if side >= MIN_LETTER_SIDE * text.len() as f32 {
        canvas.label(middle, (side / 14.0).floor().max(1.0) / text.len().max(1) as f32, &text, INK);
    }
}

/// Paints stairs as an arrowhead on black, so that they are easy to find.
fn stairs(canvas: &mut Canvas, square: Square, terrain: Terrain, style: Style) {
    let colour = if style == Style::Map { LIGHT } else { colour::of(terrain) };
    canvas.rectangle(square.part(0.0, 0.0, 1.0, 1.0), INK, 0.9);
    let (tip, base) = if terrain == Terrain::StairsUp { (0.14, 0.82) } else { (0.86, 0.18) };
    canvas.polygon(&[square.at(0.5, tip), square.at(0.9, base), square.at(0.1, base)], colour, 1.0);
}

/// Paints an object, and nothing under it.
pub(crate) fn object(canvas: &mut Canvas, square: Square, object: Object) {
    let colour = colour::object(object);
    let side = square.side;
    match object {
        Object::Monster(monster) => token(canvas, square, monster),
        Object::Loot => {
            let diamond = |reach: f32| {
                [(0.5, 0.5 - reach), (0.5 + reach, 0.5), (0.5, 0.5 + reach), (0.5 - reach, 0.5)]
                    .map(|(x, y)| square.at(x, y))
            };
            canvas.polygon(&diamond(0.5), INK, 0.8);
            canvas.polygon(&diamond(0.36), colour, 1.0);
        }
        // The bow is large enough for the number of the lock.
        Object::Key(lock) => {
            let bow = square.at(0.42, 0.42);
            for (more, colour) in [(0.08, INK), (0.0, colour)] {
                let thickness = (0.14 + 2.0 * more) * side;
                canvas.line(&[bow, square.at(0.86, 0.86)], thickness, colour, 1.0);
                canvas.line(&[square.at(0.76, 0.76), square.at(0.9, 0.62)], thickness, colour, 1.0);
                canvas.disc(bow.0, bow.1, (0.34 + more) * side, colour, 1.0);
            }
            number(canvas, bow, side, lock);
        }
        Object::Trap => symbols::draw(canvas, square, "trap", Style::Data),
    }
}

/// Paints a monster: its form, or the letter of its type if its name has none. A boss has a ring.
fn token(canvas: &mut Canvas, square: Square, Monster { letter, symbol, is_boss }: Monster) {
    let (x, y) = square.at(0.5, 0.5);
    let times =
        if is_boss { BOSS } else { symbol.filter(|symbol| symbol_table::is_large(symbol)).map_or(1.0, |_| LARGE) };
    let side = times * square.side;
    if is_boss {
        canvas.disc(x, y, 0.68 * side, INK, 1.0);
        canvas.disc(x, y, 0.6 * side, colour::object(Object::Loot), 1.0);
    }
    canvas.disc(x, y, 0.52 * side, INK, 0.75);
    canvas.disc(x, y, 0.45 * side, colour::MONSTER, 1.0);
    match symbol {
        _ if side < MIN_LETTER_SIDE => {}
        Some(symbol) => {
            let form = Square { left: x - 0.35 * side, top: y - 0.35 * side, side: 0.7 * side };
            symbols::draw(canvas, form, symbol, Style::Data);
        }
        None => canvas.label((x, y), (side / 14.0).floor().max(1.0), &letter.to_string(), LIGHT),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_room_of_three_by_three_shows_its_form() {
        let room = |left: u32, top: u32| (left..left + 3).flat_map(move |x| (top..top + 3).map(move |y| (x, y)));
        for (left, top) in room(0, 0).chain(room(3, 3)) {
            assert!(room(left, top).any(|(x, y)| is_form_shown(x, y)), "({left}, {top})");
        }
    }
}
