//! The pictures of `assets`, the colours of a floor's theme, and signs: `tiles.png` has the tiles below one another,
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

/// The side at which a cell is shown, in pixels.
pub const CELL: u32 = 32;
/// The side of a sprite with its outline, and the distance from one sprite to the next, in pixels.
const SPRITE: f32 = 18.0;
const PITCH: f32 = 20.0;

/// The archetypes of the first row of sprites.
const THINGS: &str =
    "player/gold/potion elixir/bread/scroll/gem/ring/blade/key/torn_map/blessing/spikes/darts/gas/net/merchant/shrine";
/// The themes of the further rows. Each has the classes of monsters in the order of [`Class`].
const THEMES: [&str; 7] = ["crypt", "warren", "mire", "forge", "glacier", "archive", "abyss"];
/// The side at which a boss is shown, in cells.
const BOSS_SIDE: f32 = 1.9;

/// Behind words and signs.
pub const NIGHT: Color = Color::srgba(0.03, 0.03, 0.05, 0.85);
/// The colour of each lock and its key; a digit says the same.
const LOCKS: [u32; 6] = [0xe8_c04a, 0x62_b0f0, 0xf0_7a5a, 0x7c_d070, 0xc8_8af0, 0xf0_f0f0];

#[derive(Resource)]
pub struct Pictures {
    /// An array texture with a layer for each tile.
    pub tileset: Handle<Image>,
    sprites: Handle<Image>,
}

impl FromWorld for Pictures {
    fn from_world(world: &mut World) -> Self {
        let mut images = world.resource_mut::<Assets<Image>>();
        let mut tiles = picture(include_bytes!("../assets/tiles.png"));
        tiles.reinterpret_stacked_2d_as_array(TILES).expect("the tiles have one size");
        Self { tileset: images.add(tiles), sprites: images.add(picture(include_bytes!("../assets/sprites.png"))) }
    }
}

impl Pictures {
    /// The player, an item, a trap or a place.
    pub fn thing(&self, archetype: &str) -> Sprite {
        let column = THINGS.split('/').position(|names| names.split(' ').any(|name| name == archetype));
        self.sprite(column.unwrap_or(1), 0, 1.0)
    }

    /// A monster of a class, on floors of a theme.
    pub fn monster(&self, class: Class, theme: &str) -> Sprite {
        let row = THEMES.iter().position(|other| *other == theme).unwrap_or(0);
        self.sprite(class as usize, 1 + row, if class == Class::Boss { BOSS_SIDE } else { 1.0 })
    }

    fn sprite(&self, column: usize, row: usize, side: f32) -> Sprite {
        let centre = (Vec2::new(column as f32, row as f32) + 0.5) * PITCH;
        Sprite {
            image: self.sprites.clone(),
            rect: Some(Rect::from_center_size(centre, Vec2::splat(SPRITE))),
            custom_size: Some(Vec2::splat(side * CELL as f32)),
            ..default()
        }
    }
}

fn picture(png: &[u8]) -> Image {
    let (format, usage) = (ImageType::Extension("png"), RenderAssetUsages::default());
    let picture = Image::from_buffer(png, format, CompressedImageFormats::NONE, true, ImageSampler::Default, usage);
    picture.expect("the picture is a PNG")
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

/// A few letters or digits on a dark plate.
pub fn sign(letters: impl Into<String>, colour: u32, at: Vec3) -> impl Bundle {
    let letters = letters.into();
    let plate = Sprite::from_color(NIGHT, Vec2::new(6.0 + 9.0 * letters.len() as f32, 15.0));
    let ink = TextColor(Srgba::from_vec3(rgb(colour)).into());
    let letters = (Text2d::new(letters), size(15.0), ink, Transform::from_xyz(0.0, 0.0, 0.1));
    (plate, Transform::from_translation(at), children![letters])
}

/// Letters of a height in pixels.
pub fn size(height: f32) -> TextFont {
    TextFont::from_font_size(FontSize::Px(height))
}

/// The parts of 0xRRGGBB, each of at most 1.
pub fn rgb(colour: u32) -> Vec3 {
    let [_, r, g, b] = colour.to_be_bytes().map(|part| f32::from(part) / 255.0);
    Vec3::new(r, g, b)
}
