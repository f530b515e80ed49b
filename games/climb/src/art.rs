//! The pictures, drawn in code: a texture for each kind of tile, and a sprite for each kind of being and thing.

use bevy::{
    asset::RenderAssetUsages,
    prelude::*,
    render::render_resource::{Extent3d, TextureDimension, TextureFormat, TextureViewDescriptor, TextureViewDimension},
};
use floor_client::Terrain;

/// The side of a tile's texture, in texels.
const TILE: u32 = 16;
/// The side of a sprite: the drawing at twice its size, and a margin for its outline.
pub const SPRITE: u32 = 18;

// The layers of the tileset: the numbers of `Terrain`, then these.
pub const WALL_FRONT: u16 = 16;
pub const OPEN_DOOR: u16 = 17;
pub const WORN_FLOOR: u16 = 18;
pub const CRACKED_FLOOR: u16 = 19;
const LAYERS: u16 = 20;

type Rgb = [f32; 3];
const STONE: Rgb = [140.0, 132.0, 126.0];
const DARK: Rgb = [58.0, 52.0, 60.0];
const BRICK: Rgb = [168.0, 152.0, 140.0];
const WOOD: Rgb = [132.0, 88.0, 48.0];
const BRASS: Rgb = [230.0, 184.0, 70.0];
const WATER: Rgb = [64.0, 118.0, 168.0];

/// The colour of the monsters of each theme.
const THEMES: [u32; 7] = [0xb0bea0, 0x70a854, 0x58a094, 0xe47038, 0xa8ccec, 0xc4a470, 0xb05cc4];

/// The tileset, an array texture with a layer for each terrain.
pub fn tileset() -> Image {
    let texels = (0..LAYERS).flat_map(|tile| (0..TILE * TILE).map(move |at| (tile, at % TILE, at / TILE)));
    let data = texels.flat_map(|(tile, x, y)| texel(tile, x as i32, y as i32)).collect();
    let size = Extent3d { width: TILE, height: TILE, depth_or_array_layers: LAYERS.into() };
    let mut image = image(size, data);
    image.texture_view_descriptor =
        Some(TextureViewDescriptor { dimension: Some(TextureViewDimension::D2Array), ..default() });
    image
}

/// One texel of a layer. North is at the top.
fn texel(layer: u16, x: i32, y: i32) -> [u8; 4] {
    let grain = noise(layer, x, y);
    let rim = x == 0 || y == 0;
    let flag = |worn: f32| scale(STONE, if rim { 0.8 } else { 0.9 + 0.1 * grain - worn });
    let stair = |step: i32| scale(STONE, if y % 4 == 0 { 0.5 } else { 1.45 - 0.3 * step as f32 });
    let (middle_x, middle_y) = ((x as f32 - 7.5).abs(), (y as f32 - 7.5).abs());
    let plank = if middle_x > 6.0 || y < 1 {
        0.6
    } else if x % 4 == 1 {
        0.75
    } else {
        1.0 + 0.12 * grain
    };
    let wave = ((x as f32 * 0.8 + (y as f32 * 0.9).sin() * 2.0).sin() + 1.0) * 0.1;
    let colour = match (layer, Terrain::try_from(i32::from(layer)).unwrap_or_default()) {
        (WORN_FLOOR, _) => flag(if middle_x * middle_x + middle_y * middle_y < 20.0 { 0.06 } else { 0.0 }),
        (CRACKED_FLOOR, _) => flag(if x + y / 3 == 8 || (y > 8 && x - y / 2 == 4) { 0.28 } else { 0.0 }),
        (WALL_FRONT, _) if y < 2 => scale(DARK, 1.6),
        (WALL_FRONT, _) if y % 4 == 3 || (x + y / 4 % 2 * 4) % 8 == 7 => scale(BRICK, 0.5),
        (WALL_FRONT, _) => scale(BRICK, 1.05 - 0.03 * y as f32 + 0.12 * grain),
        (OPEN_DOOR, _) => {
            if middle_x > 6.0 {
                scale(WOOD, 0.8)
            } else {
                flag(0.25)
            }
        }
        (_, Terrain::Wall) => scale(DARK, if grain > 0.9 { 1.15 } else { 0.95 + 0.08 * grain }),
        (_, Terrain::Door) if x == 11 && middle_y < 1.0 => BRASS,
        (_, Terrain::LockedDoor) if middle_x < 1.0 && middle_y < 1.6 => DARK,
        (_, Terrain::LockedDoor) if middle_x < 3.0 && middle_y < 3.6 => BRASS,
        (_, Terrain::LockedDoor) if y == 3 || y == 12 => scale(STONE, 0.8),
        (_, Terrain::Door) => scale(WOOD, plank),
        (_, Terrain::LockedDoor) => scale(WOOD, 0.7 * plank),
        (_, Terrain::StairsUp) => stair(y / 4),
        (_, Terrain::StairsDown) => mix(stair(3 - y / 4), BRASS, 0.45),
        (_, Terrain::ShallowWater) => mix(scale(WATER, 1.15 + wave), flag(0.0), 0.25),
        (_, Terrain::DeepWater) => scale(WATER, 0.55 + wave),
        (_, Terrain::Lava) => mix([196.0, 52.0, 16.0], [255.0, 196.0, 64.0], wave * 4.0 - 0.2 + 0.3 * grain),
        (_, Terrain::Chasm) => scale(DARK, if y < 2 { 0.9 - 0.2 * y as f32 } else { 0.3 + 0.2 * grain }),
        (_, Terrain::Bridge) => scale(WOOD, if y % 4 == 0 { 0.45 } else { 0.95 + 0.15 * grain }),
        (_, Terrain::Grass) if grain > 0.72 || noise(layer, x, y + 1) > 0.78 => [104.0, 158.0, 70.0],
        (_, Terrain::Grass) => mix([64.0, 100.0, 52.0], flag(0.0), 0.2),
        (_, Terrain::Rubble) if noise(layer, x / 3, y / 3) > 0.5 => scale(STONE, 1.25 - 0.15 * (y % 3) as f32),
        (_, Terrain::Rubble) => flag(0.2),
        (_, Terrain::Pillar) if middle_x * middle_x + middle_y * middle_y < 38.0 => {
            scale(BRICK, 1.3 - 0.05 * (x + y) as f32 + 0.08 * grain)
        }
        (_, Terrain::Pillar) if x + y > 15 => flag(0.35),
        _ => flag(0.0),
    };
    let [r, g, b] = colour.map(|value| value.clamp(0.0, 255.0) as u8);
    [r, g, b, 255]
}

fn scale(colour: Rgb, by: f32) -> Rgb {
    colour.map(|value| value * by)
}

fn mix(a: Rgb, b: Rgb, share: f32) -> Rgb {
    std::array::from_fn(|i| a[i] * (1.0 - share) + b[i] * share)
}

/// 0 to 1, the same for the same texel.
fn noise(layer: u16, x: i32, y: i32) -> f32 {
    let mixed = (u32::from(layer) * 0x9e37 + x as u32 * 0x85eb + y as u32 * 0xc2b2 + 1).wrapping_mul(0x9e37_79b1);
    let mixed = (mixed ^ (mixed >> 15)).wrapping_mul(0x85eb_ca6b);
    ((mixed >> 8) & 0xff) as f32 / 255.0
}

/// The archetypes of each drawing, in the order of columns and bands.
const ARCHETYPES: &str = "player/ghoul ogre troll golem yeti gargoyle demon/\
    skeleton goblin lizardman salamander wolf duelist shade/\
    bone_archer slinger spitter fire_imp ice_archer quill gazer/\
    acolyte shaman bog_witch pyromancer frost_seer scribe warlock/rat jackal leech ember bat bookworm imp/\
    lich goblin_king hydra magma_lord frost_wyrm archivist fallen_one/\
    gold/potion elixir/bread/scroll/gem/ring/blade/key/torn_map/blessing/spikes darts gas net";
/// The drawing of a boss, which is shown larger.
pub const BOSS: usize = 6;
/// The drawing of an archetype that this game does not know: an ordinary monster.
const UNKNOWN: usize = 2;

/// Drawings in a band of [`DRAWINGS`].
const BAND: usize = 9;
/// Eight rows a band, eight columns a drawing. `a` and `b` are the drawing's own colour, light and dark.
const DRAWINGS: [&str; 16] = [
    "..nnnn.. .aaaaaa. ..aaaa.. ..aaa... ...bb... ........ y..yy..y ........ ........",
    ".nssssn. aakaakaa ..akak.g ..aka.n. ..bbbb.. ........ yyyyyyyy ........ ...nn...",
    ".sskssk. aaaaaaaa ..aaaa.g ..aaa..n .bbbbbb. .aa..... aaaaaaaa ...yy... ...ww...",
    "..ssss.. aawkwkaa .bbbbb.g .bbbbaan ..akak.y akaa.... arraarra ..yyny.. ..wrrw..",
    ".aawwaa. .aaaaaa. abbbbbag .abbb..n ..aaaa.n aaaaaa.. aaaaaaaa .yyyyyy. .wrrrrw.",
    "saaaaaas aabaabaa .bbbb..n ..bbb.n. .bbbbbbn .aaaaaab awkwkwka ynyyynyy .wrwrrw.",
    "..aaaa.. aa.bb.aa ..a.a... ..a.a... bbbbbb.n ..a..ab. baaaaaab .yyyyyy. ..wrrw..",
    "..n..n.. .bb..bb. .aa.aa.. .aa.aa.. bbbbbb.n .a..a..b bb.bb.bb ........ ...ww...",
    "........ ........ ........ ...cc... ......gw ........ ........ ...y.... ........",
    "........ .wwwwww. ..cccc.. ..cwcc.. .....gwg .yyy.... nwwwwwwn .y.y.y.. .g...g..",
    "..nnnn.. .wkkkww. .cwcccc. ...yy... ....gwg. yy.yy... nwwkwwwn ..yyy... .g.g.g.g",
    ".nyynyn. ..wwww.. cccccccc ..y..y.. n..gwg.. y...yyyy nwkwwrwn yyywyyy. .gagagag",
    "nynyynyn ..wkkw.. .cccccc. .y....y. .ngwg... yy.yyyyy nwwkkwwn ..yyy... .gagagag",
    "nnnnnnnn ..wwww.. ..cccc.. .y....y. ..ng.... .yyy.y.y nwwwkwwn .y.y.y.. aaaaaaaa",
    ".nnnnnn. .wwkkww. ...cc... ..y..y.. .n.n.... .....y.. nwwwwwwn ...y.... bbbbbbbb",
    "........ .wwwwww. ........ ...yy... n....... ........ ........ ........ ........",
];

/// A sprite in a colour of its own, at twice the drawing's size, with an outline.
pub fn sprite(drawing: usize, own: u32) -> Image {
    let (band, column) = (drawing / BAND, drawing % BAND);
    let drawn = |x: i32, y: i32| {
        let inside = (0..8).contains(&x) && (0..8).contains(&y);
        if inside { DRAWINGS[band * 8 + y as usize].as_bytes()[column * 9 + x as usize] } else { b'.' }
    };
    // Scale2x: a corner takes the colour of its two neighbours if they agree. https://www.scale2x.it/algorithm
    let doubled = |x: i32, y: i32| {
        let (at_x, at_y) = (x.div_euclid(2), y.div_euclid(2));
        let (dx, dy) = (x.rem_euclid(2) * 2 - 1, y.rem_euclid(2) * 2 - 1);
        let (side, far_side) = (drawn(at_x + dx, at_y), drawn(at_x - dx, at_y));
        let (end, far_end) = (drawn(at_x, at_y + dy), drawn(at_x, at_y - dy));
        if side == end && side != far_end && end != far_side { side } else { drawn(at_x, at_y) }
    };
    let [_, r, g, b] = own.to_be_bytes();
    let own = [r, g, b];
    let pixel = |at: u32| {
        let (x, y) = ((at % SPRITE) as i32 - 1, (at / SPRITE) as i32 - 1);
        let shade = |colour: [u8; 3], by: f32| colour.map(|value| (f32::from(value) * by) as u8);
        let [r, g, b] = match doubled(x, y) {
            b'a' => own,
            b'b' => shade(own, 0.65),
            b'k' => [24, 20, 28],
            b'w' => [236, 232, 220],
            b's' => [232, 184, 144],
            b'n' => [122, 78, 46],
            b'y' => [244, 204, 84],
            b'r' => [206, 52, 60],
            b'g' => [150, 158, 170],
            b'c' => [96, 208, 224],
            _ => {
                let outline = [(-1, 0), (1, 0), (0, -1), (0, 1)].iter().any(|(dx, dy)| doubled(x + dx, y + dy) != b'.');
                return [12, 10, 16, if outline { 220 } else { 0 }];
            }
        };
        [r, g, b, 255]
    };
    let size = Extent3d { width: SPRITE, height: SPRITE, depth_or_array_layers: 1 };
    image(size, (0..SPRITE * SPRITE).flat_map(pixel).collect())
}

/// The drawing of an archetype, and its colour on floors of a theme.
pub fn drawing(archetype: &str, theme: usize) -> (usize, u32) {
    let named = ARCHETYPES.split('/').position(|names| names.split(' ').any(|name| name == archetype));
    let colour = match archetype {
        "player" => 0x4070c8,
        "spikes" => 0x787070,
        "darts" => 0xa8783c,
        "gas" => 0x68a848,
        "net" => 0xac9c80,
        _ => THEMES[theme % THEMES.len()],
    };
    (named.unwrap_or(UNKNOWN), colour)
}

/// The light of a theme: white with a share of its colour.
pub fn tint(theme: usize) -> Vec3 {
    let [_, r, g, b] = THEMES[theme % THEMES.len()].to_be_bytes().map(|value| f32::from(value) / 255.0);
    Vec3::ONE.lerp(Vec3::new(r, g, b), 0.3)
}

fn image(size: Extent3d, data: Vec<u8>) -> Image {
    let usage = RenderAssetUsages::MAIN_WORLD | RenderAssetUsages::RENDER_WORLD;
    Image::new(size, TextureDimension::D2, data, TextureFormat::Rgba8UnormSrgb, usage)
}
