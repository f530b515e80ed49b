//! The map in the corner: what the player has seen of the floor.

use bevy::{
    asset::RenderAssetUsages,
    prelude::*,
    render::render_resource::{Extent3d, TextureDimension, TextureFormat},
};
use climb_rules::{Door, Level, Point, cells};
use floor_client::Terrain;

use crate::{
    art,
    play::{Current, GameState, Rules},
};

/// The side of a cell on the map, in pixels.
const CELL: u32 = 3;

/// Shows the map. The key M hides it.
pub struct MinimapPlugin;

impl Plugin for MinimapPlugin {
    fn build(&self, app: &mut App) {
        let draw = draw.after(Rules).run_if(resource_exists_and_changed::<Current>);
        app.add_systems(Startup, spawn).add_systems(Update, (draw, toggle));
    }
}

#[derive(Component)]
struct Minimap;

fn spawn(mut commands: Commands) {
    let place = Node { position_type: PositionType::Absolute, top: px(40), right: px(8), ..default() };
    commands.spawn((Minimap, ImageNode::default(), place, Visibility::Hidden));
}

fn draw(
    level: Res<Current>,
    mut map: Single<(&mut ImageNode, &mut Node), With<Minimap>>,
    mut images: ResMut<Assets<Image>>,
) {
    let pixels = cells(&level.floor).flat_map(|at| {
        let [_, r, g, b] = colour(&level, at).to_be_bytes();
        [r, g, b, if level.known().contains(at) { 240 } else { 200 }]
    });
    let (width, height) = (level.floor.width(), level.floor.height());
    let extent = Extent3d { width, height, depth_or_array_layers: 1 };
    let (format, usage) = (TextureFormat::Rgba8UnormSrgb, RenderAssetUsages::default());
    // The handle of the map before drops with its image.
    map.0.image = images.add(Image::new(extent, TextureDimension::D2, pixels.collect(), format, usage));
    (map.1.width, map.1.height) = (px(width * CELL), px(height * CELL));
}

/// As 0xRRGGBB.
fn colour(level: &Level, at: Point) -> u32 {
    let is_visible = level.visible().contains(at);
    match level.seen_terrain(at) {
        _ if at == level.at() => 0xff_ffff,
        _ if !level.known().contains(at) => 0x14_141c,
        _ if is_visible && level.monster_at(at).is_some() => 0xff_4033,
        _ if level.items().any(|(_, item)| item == at) => 0xf2_cc59,
        _ if level.merchants().contains(&at) => 0xb3_66f2,
        _ if level.shrines().any(|shrine| shrine == at) => 0x66_e6ff,
        _ if let Some(Door::Locked(lock)) = level.door(at) => art::lock(lock),
        Terrain::StairsDown => 0x66_ff66,
        Terrain::Wall | Terrain::Pillar => 0x1f_1f1f,
        Terrain::Door | Terrain::SecretDoor => 0x99_6b40,
        Terrain::DeepWater | Terrain::Lava | Terrain::Chasm => 0x1f_2947,
        _ if is_visible => 0x8c_8c8c,
        _ => 0x54_5454,
    }
}

fn toggle(
    keys: Res<ButtonInput<KeyCode>>,
    state: Res<State<GameState>>,
    mut is_off: Local<bool>,
    mut map: Single<&mut Visibility, With<Minimap>>,
) {
    *is_off ^= keys.just_pressed(KeyCode::KeyM);
    let is_shown = !*is_off && *state == GameState::Climbing;
    map.set_if_neq(if is_shown { Visibility::Inherited } else { Visibility::Hidden });
}
