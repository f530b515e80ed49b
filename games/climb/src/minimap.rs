//! The map in the corner: what the player has seen of the floor, a pixel or more for each cell.

use bevy::{
    asset::RenderAssetUsages,
    prelude::*,
    render::render_resource::{Extent3d, TextureDimension, TextureFormat},
    sprite::Anchor,
};
use climb_rules::{Level, Mood, Sight};
use floor_client::Terrain;

use crate::{
    art,
    hud::{BAR, Place},
    play::{Current, GameState, Playing},
};

/// The width of the map, at most, in pixels.
const WIDTH: u32 = 200;

/// Shows the map. The key M hides it.
pub struct MinimapPlugin;

impl Plugin for MinimapPlugin {
    fn build(&self, app: &mut App) {
        let draw = draw.run_if(resource_exists_and_changed::<Current>);
        app.add_systems(PostStartup, spawn).add_systems(Update, (draw, toggle).after(Playing));
    }
}

#[derive(Component)]
struct Minimap;

fn spawn(camera: Single<Entity, With<Camera2d>>, mut commands: Commands) {
    let place = Place(Anchor::TOP_RIGHT.0, Vec2::new(-8.0, -BAR - 8.0));
    commands.entity(*camera).with_child((Minimap, Sprite::default(), Anchor::TOP_RIGHT, place, Visibility::Hidden));
}

fn toggle(
    keys: Res<ButtonInput<KeyCode>>,
    state: Res<State<GameState>>,
    mut is_off: Local<bool>,
    mut map: Single<&mut Visibility, With<Minimap>>,
) {
    *is_off ^= keys.just_pressed(KeyCode::KeyM);
    let shown = !*is_off && *state.get() == GameState::Climbing;
    map.set_if_neq(if shown { Visibility::Inherited } else { Visibility::Hidden });
}

fn draw(level: Res<Current>, mut map: Single<&mut Sprite, With<Minimap>>, mut images: ResMut<Assets<Image>>) {
    let size = level.size();
    let pixels = level.cells().flat_map(|at| {
        let Vec3 { x, y, z } = colour(&level, at) * 255.0;
        let alpha = if level.sight(at) == Sight::Unknown { 200 } else { 240 };
        [x as u8, y as u8, z as u8, alpha]
    });
    let extent = Extent3d { width: size.x, height: size.y, depth_or_array_layers: 1 };
    let (format, usage) = (TextureFormat::Rgba8UnormSrgb, RenderAssetUsages::default());
    let image = Image::new(extent, TextureDimension::D2, pixels.collect(), format, usage);
    // The handle of the map before drops with its image.
    map.image = images.add(image);
    map.custom_size = Some((size * (WIDTH / size.x).max(1)).as_vec2());
}

fn colour(level: &Level, at: UVec2) -> Vec3 {
    let seen = level.sight(at);
    let hunts = level.monster_at(at).is_some_and(|index| matches!(level.monsters[index].mood, Mood::Hunting(_)));
    let door = level.locks.get(&at).filter(|_| level.is_closed_door(at));
    match (seen, level.seen_terrain(at)) {
        _ if at == level.player => Vec3::ONE,
        (Sight::Unknown, _) => Vec3::new(0.08, 0.08, 0.11),
        (Sight::Visible, _) if level.monster_at(at).is_some() => {
            if hunts {
                Vec3::new(1.0, 0.25, 0.2)
            } else {
                Vec3::new(0.7, 0.4, 0.4)
            }
        }
        _ if level.items.contains_key(&at) => Vec3::new(0.95, 0.8, 0.35),
        _ if level.merchants.contains(&at) => Vec3::new(0.7, 0.4, 0.95),
        _ if level.shrines.contains(&at) => Vec3::new(0.4, 0.9, 1.0),
        _ if let Some(lock) = door => art::lock(*lock).to_srgba().to_vec3(),
        (_, Terrain::StairsDown) => Vec3::new(0.4, 1.0, 0.4),
        (_, Terrain::Wall | Terrain::Pillar) => Vec3::splat(0.12),
        (_, Terrain::Door | Terrain::SecretDoor) => Vec3::new(0.6, 0.42, 0.25),
        (_, Terrain::DeepWater | Terrain::Lava | Terrain::Chasm) => Vec3::new(0.12, 0.16, 0.28),
        (Sight::Visible, _) => Vec3::splat(0.55),
        (Sight::Remembered, _) => Vec3::splat(0.33),
    }
}
