//! The pictures of `assets`: `tiles.png` has the tiles below one another, `sprites.png` the beings and things.

use bevy::{
    asset::RenderAssetUsages,
    image::{CompressedImageFormats, ImageSampler, ImageType},
    prelude::*,
};

// The tiles: the numbers of `Terrain`, then these.
pub const WALL_FRONT: u16 = 16;
pub const OPEN_DOOR: u16 = 17;
pub const WORN_FLOOR: u16 = 18;
pub const CRACKED_FLOOR: u16 = 19;
const TILES: u32 = 20;

/// The side of a sprite with its outline, and the distance from one sprite to the next, in pixels.
const SPRITE: f32 = 18.0;
const PITCH: f32 = 20.0;

/// The archetypes of the first row of sprites.
const THINGS: &str = "player/gold/potion elixir/bread/scroll/gem/ring/blade/key/torn_map/blessing/spikes/darts/gas/net";
/// The archetypes of each further row: a row for each theme, in its colour.
const MONSTERS: &str = "ghoul ogre troll golem yeti gargoyle demon/\
    skeleton goblin lizardman salamander wolf duelist shade/\
    bone_archer slinger spitter fire_imp ice_archer quill gazer/\
    acolyte shaman bog_witch pyromancer frost_seer scribe warlock/rat jackal leech ember bat bookworm imp/\
    lich goblin_king hydra magma_lord frost_wyrm archivist fallen_one";
/// The column of a monster that this game does not know.
const UNKNOWN: usize = 1;
/// The column of the bosses, and the side at which they are shown, in cells.
const BOSS: usize = 5;
const BOSS_SIDE: f32 = 1.9;

/// The colour of the monsters of each theme.
const THEMES: [u32; 7] = [0xb0bea0, 0x70a854, 0x58a094, 0xe47038, 0xa8ccec, 0xc4a470, 0xb05cc4];

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

/// Where an archetype is among the sprites on floors of a theme, and the side at which it is shown, in cells.
pub fn sprite(archetype: &str, theme: usize) -> (Rect, f32) {
    let find = |names: &str| names.split('/').position(|names| names.split(' ').any(|name| name == archetype));
    let (column, row) = match find(THINGS) {
        Some(thing) => (thing, 0),
        None => (find(MONSTERS).unwrap_or(UNKNOWN), 1 + theme % THEMES.len()),
    };
    let middle = (Vec2::new(column as f32, row as f32) + 0.5) * PITCH;
    let side = if (column, row > 0) == (BOSS, true) { BOSS_SIDE } else { 1.0 };
    (Rect::from_center_size(middle, Vec2::splat(SPRITE)), side)
}

/// The light of a theme: white with a share of its colour.
pub fn tint(theme: usize) -> Vec3 {
    let [_, r, g, b] = THEMES[theme % THEMES.len()].to_be_bytes().map(|value| f32::from(value) / 255.0);
    Vec3::ONE.lerp(Vec3::new(r, g, b), 0.3)
}
