//! The pictures of `assets`, and the colours of a floor's theme: `tiles.png` has the tiles below one another,
//! `sprites.png` the beings and things.

use bevy::{
    asset::RenderAssetUsages,
    image::{CompressedImageFormats, ImageSampler, ImageType},
    prelude::*,
};
use climb_rules::Class;
use floor_gen::pack::{Look, Pack, Paint};

// The tiles: the numbers of `Terrain`, then these.
pub const WALL_FRONT: u16 = 16;
pub const OPEN_DOOR: u16 = 17;
pub const WORN_FLOOR: u16 = 18;
pub const CRACKED_FLOOR: u16 = 19;
const TILES: u32 = 20;

/// What the theme paints, and with which share of the colour. These tiles are grey; the others have colours of their own.
const PAINTED: [(u16, Paint, f32); 12] = [
    (1, Paint::Wall, 0.42),
    (2, Paint::Floor, 1.0),
    (8, Paint::Shallow, 1.0),
    (9, Paint::Deep, 1.0),
    (10, Paint::Lava, 1.0),
    (11, Paint::Chasm, 0.5),
    (13, Paint::Grass, 1.0),
    (14, Paint::Floor, 0.9),
    (15, Paint::Wall, 1.1),
    (WALL_FRONT, Paint::Wall, 1.0),
    (WORN_FLOOR, Paint::Floor, 0.95),
    (CRACKED_FLOOR, Paint::Floor, 0.95),
];
/// The mean of a grey tile.
const GREY: f32 = 0.75;

/// The side of a sprite with its outline, and the distance from one sprite to the next, in pixels.
const SPRITE: f32 = 18.0;
const PITCH: f32 = 20.0;

/// The archetypes of the first row of sprites.
const THINGS: &str =
    "player/gold/potion elixir/bread/scroll/gem/ring/blade/key/torn_map/blessing/spikes/darts/gas/net/merchant/shrine";
/// The classes of each further row: a row for each theme, in its colour.
const CLASSES: [Class; 6] = [Class::Brute, Class::Skirmisher, Class::Archer, Class::Caster, Class::Swarm, Class::Boss];
const THEMES: [&str; 7] = ["crypt", "warren", "mire", "forge", "glacier", "archive", "abyss"];
/// The side at which a boss is shown, in cells.
const BOSS_SIDE: f32 = 1.9;

/// The colour of each lock and its key; a digit says the same.
const LOCKS: [u32; 6] = [0xe8_c04a, 0x62_b0f0, 0xf0_7a5a, 0x7c_d070, 0xc8_8af0, 0xf0_f0f0];

/// The tileset, an array texture with a layer for each tile.
pub fn tileset() -> Image {
    let mut tiles = picture(include_bytes!("../assets/tiles.png"));
    tiles.reinterpret_stacked_2d_as_array(TILES).expect("the tiles have one size");
    tiles
}

/// All sprites.
pub fn sprites() -> Image {
    picture(include_bytes!("../assets/sprites.png"))
}

fn picture(png: &[u8]) -> Image {
    let (format, usage) = (ImageType::Extension("png"), RenderAssetUsages::default());
    let picture = Image::from_buffer(png, format, CompressedImageFormats::NONE, true, ImageSampler::Default, usage);
    picture.expect("the picture is a PNG")
}

/// Where a thing is among the sprites.
pub fn thing(archetype: &str) -> Rect {
    let column = THINGS.split('/').position(|names| names.split(' ').any(|name| name == archetype));
    at(column.unwrap_or(1), 0)
}

/// Where a class of monsters is among the sprites on floors of a theme, and the side at which it is shown, in cells.
pub fn monster(class: Class, theme: &str) -> (Rect, f32) {
    let column = CLASSES.iter().position(|other| *other == class).unwrap_or(1);
    let row = THEMES.iter().position(|other| *other == theme).unwrap_or(0);
    (at(column, 1 + row), if class == Class::Boss { BOSS_SIDE } else { 1.0 })
}

fn at(column: usize, row: usize) -> Rect {
    Rect::from_center_size((Vec2::new(column as f32, row as f32) + 0.5) * PITCH, Vec2::splat(SPRITE))
}

/// The look of a theme of the built-in pack. Other themes are grey.
pub fn look(theme: &str) -> Look {
    Pack::tower().look(theme)
}

/// What a tile is multiplied with to have the theme's colour.
pub fn tint(look: &Look, tile: u16) -> Vec3 {
    let painted = PAINTED.iter().find(|(painted, ..)| *painted == tile);
    painted.map_or(Vec3::ONE, |(_, paint, share)| rgb(look.colour(*paint)) * *share / GREY)
}

/// The colour of a lock, as 0xRRGGBB.
pub fn lock(id: u32) -> u32 {
    LOCKS[id.saturating_sub(1) as usize % LOCKS.len()]
}

/// The parts of 0xRRGGBB, each of at most 1.
pub fn rgb(colour: u32) -> Vec3 {
    let [_, r, g, b] = colour.to_be_bytes().map(|part| f32::from(part) / 255.0);
    Vec3::new(r, g, b)
}
