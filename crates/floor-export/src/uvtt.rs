//! Universal VTT, the format of maps for virtual tabletops: <https://arkenforge.com/universal-vtt-files/>. Positions are
//! in cells.

use std::f64::consts::FRAC_PI_2;

use anstyle::RgbColor;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use floor_proto::{
    floor::Floor,
    v1::{Point, RoomRole, Terrain},
};
use serde_json::{Value, json};

use crate::{
    ExportError, ExportedFile,
    picture::{self, Appearance, colour},
    walls::{self, Corner, DoorLine},
};

/// The version of the format that its readers know.
const FORMAT: f64 = 0.3;
/// Pixels of a cell, unless the picture would be too large. Foundry's cells have 50 pixels or more.
const SCALE: u32 = 50;
/// The greatest width and height of the picture, in pixels: what graphics cards show as one texture.
pub const MAX_IMAGE_SIDE: u32 = 8192;

/// The light where no lamp is, as alpha, red, green and blue.
const DAY: &str = "ffffffff";
const NIGHT: &str = "ff1c1c2c";

/// Radius of the light of stairs, and of the light in the middle of a room, in cells.
const STAIRS_LIGHT: f64 = 4.0;
const ROOM_LIGHT: f64 = 8.0;

/// The map, in a file of that name. Its picture must not be larger than [`MAX_IMAGE_SIDE`].
///
/// # Errors
/// If the picture is too large or cannot be written.
pub(crate) fn file(floor: &Floor, map: String, appearance: &Appearance) -> Result<ExportedFile, ExportError> {
    Ok(ExportedFile::json(map, &document(floor, appearance)?))
}

/// Pixels of a cell in the picture.
pub(crate) fn scale_of(floor: &Floor, appearance: &Appearance) -> u32 {
    appearance.scale.unwrap_or_else(|| SCALE.min(MAX_IMAGE_SIDE / floor.width().max(floor.height())))
}

fn document(floor: &Floor, appearance: &Appearance) -> Result<Value, ExportError> {
    let scale = scale_of(floor, appearance);
    let outlines = |is_inside: fn(Terrain) -> bool| {
        let is_inside = |x, y| floor.terrain_at(x, y).is_some_and(is_inside);
        let outlines = walls::outlines(floor.width(), floor.height(), is_inside);
        outlines.into_iter().map(|outline| outline.into_iter().map(corner).collect()).collect::<Vec<Vec<_>>>()
    };
    Ok(json!({
        "format": FORMAT,
        "resolution": {
            "map_origin": {"x": 0, "y": 0},
            "map_size": {"x": floor.width(), "y": floor.height()},
            "pixels_per_grid": scale,
        },
        "line_of_sight": outlines(walls::is_open),
        "objects_line_of_sight": outlines(|terrain| terrain == Terrain::Pillar),
        "portals": walls::doors(floor).into_iter().map(portal).collect::<Vec<_>>(),
        "environment": {"baked_lighting": false, "ambient_light": if appearance.is_day { DAY } else { NIGHT }},
        "lights": lamps(floor).into_iter().map(light).collect::<Vec<_>>(),
        "image": STANDARD.encode(image(floor, appearance, scale)?),
    }))
}

/// The picture that players see.
pub(crate) fn image(floor: &Floor, appearance: &Appearance, scale: u32) -> Result<Vec<u8>, ExportError> {
    let mut png = Vec::new();
    picture::draw_png(&mut png, &appearance.scene(floor).for_players(), None, scale)?;
    Ok(png)
}

fn corner((x, y): Corner) -> Value {
    json!({"x": x, "y": y})
}

/// A door, closed. Readers ignore `kind`, which the format does not have.
fn portal(door: DoorLine) -> Value {
    let half = |cells: u32| f64::from(cells) / 2.0;
    let [from, to] = [door.from, door.to].map(|(x, y)| (half(x), half(y)));
    let kind = match door.terrain {
        Terrain::LockedDoor => "locked door",
        Terrain::SecretDoor => "secret door",
        _ => "door",
    };
    json!({
        "position": {"x": f64::midpoint(from.0, to.0), "y": f64::midpoint(from.1, to.1)},
        "bounds": [{"x": from.0, "y": from.1}, {"x": to.0, "y": to.1}],
        "rotation": if from.1 == to.1 { 0.0 } else { FRAC_PI_2 },
        "closed": true,
        "freestanding": false,
        "kind": kind,
    })
}

/// A lamp on a cell.
pub(crate) struct Lamp {
    pub(crate) at: Point,
    /// How far it shines, in cells.
    pub(crate) range: f64,
    pub(crate) colour: RgbColor,
}

/// Lamps at both stairs, and in the middle of shrines, shops and the rooms of bosses.
pub(crate) fn lamps(floor: &Floor) -> Vec<Lamp> {
    let stairs = [(floor.entry(), Terrain::StairsUp), (floor.exit(), Terrain::StairsDown)];
    let stairs = stairs.into_iter().map(|(at, terrain)| Lamp { at, range: STAIRS_LIGHT, colour: colour::of(terrain) });
    let rooms = floor.rooms().iter().filter_map(|room| {
        let is_lit = matches!(room.role(), RoomRole::Shrine | RoomRole::Shop | RoomRole::Boss);
        let colour = colour::tint(room.role()).filter(|_| is_lit)?;
        Some(Lamp { at: room.center?, range: ROOM_LIGHT, colour })
    });
    stairs.chain(rooms).collect()
}

fn light(Lamp { at, range, colour: RgbColor(red, green, blue) }: Lamp) -> Value {
    json!({
        "position": {"x": f64::from(at.x) + 0.5, "y": f64::from(at.y) + 0.5},
        "range": range,
        "intensity": 1.0,
        "color": format!("ff{red:02x}{green:02x}{blue:02x}"),
        "shadows": true,
    })
}
