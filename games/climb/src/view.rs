//! Draws the floor: its tiles by what the player sees and remembers, and a sprite for each being and thing.

use bevy::{
    prelude::*,
    sprite_render::{TileData, TilemapChunk, TilemapChunkTileData},
};
use floor_client::{Terrain, plugin::TileMap};

use crate::{
    art,
    level::{Level, SIGHT, Sight},
    play::GameState,
};

/// The side of a cell, in pixels.
const CELL: u32 = 32;
/// How fast the player and the camera close in on their cell, a second.
const GLIDE: f32 = 16.0;
/// The light of the player's torch, and of what is remembered.
const TORCH: Vec3 = Vec3::new(1.22, 1.08, 0.90);
const MEMORY: Vec3 = Vec3::new(0.08, 0.10, 0.18);

/// Draws the game. Needs a window and a renderer.
pub struct ViewPlugin;

impl Plugin for ViewPlugin {
    fn build(&self, app: &mut App) {
        app.insert_resource(ClearColor(Color::srgb(0.02, 0.02, 0.035)))
            .init_resource::<Pictures>()
            .add_systems(Startup, |mut commands: Commands| _ = commands.spawn(Camera2d))
            .add_systems(OnEnter(GameState::Climbing), draw_floor)
            .add_systems(Update, (light_tiles, show_things).run_if(resource_exists_and_changed::<Level>))
            .add_systems(Update, glide.run_if(resource_exists::<Level>));
    }
}

#[derive(Resource)]
struct Pictures {
    tileset: Handle<Image>,
    sprites: Handle<Image>,
}

impl FromWorld for Pictures {
    fn from_world(world: &mut World) -> Self {
        let mut images = world.resource_mut::<Assets<Image>>();
        Self { tileset: images.add(art::tileset()), sprites: images.add(art::sprites()) }
    }
}

/// The sprite of the player.
#[derive(Component)]
struct Player;

/// The sprite of what stands or lies in a cell.
#[derive(Component)]
struct Thing(UVec2);

/// The theme of a floor: it lasts for ten floors (docs/protocol.md, Archetypes).
fn theme(level: &Level) -> usize {
    (level.floor.spec().number.saturating_sub(1) / 10) as usize
}

fn map(level: &Level) -> TileMap {
    TileMap::new(&level.floor, CELL as f32)
}

/// Replaces the tiles and sprites by those of the new floor.
fn draw_floor(
    level: Res<Level>,
    old: Query<Entity, Or<(With<TilemapChunk>, With<Thing>, With<Player>)>>,
    mut camera: Single<&mut Transform, With<Camera2d>>,
    pictures: Res<Pictures>,
    mut commands: Commands,
) {
    old.iter().for_each(|entity| commands.entity(entity).despawn());
    let map = map(&level);
    let tiles = vec![None; level.floor.terrain().len()];
    commands.spawn((
        TilemapChunk {
            chunk_size: map.size,
            tile_display_size: UVec2::splat(CELL),
            tileset: pictures.tileset.clone(),
            ..default()
        },
        TilemapChunkTileData(tiles),
    ));
    let sprite = |archetype: &str, z: f32, at: UVec2| {
        let (rect, side) = art::sprite(archetype, theme(&level));
        let custom_size = Some(Vec2::splat(side * CELL as f32));
        let sprite = Sprite { image: pictures.sprites.clone(), rect: Some(rect), custom_size, ..default() };
        (sprite, Transform::from_translation(map.to_world(at).extend(z)))
    };
    commands.spawn((Player, sprite("player", 3.0, level.player)));
    for (at, trap) in &level.traps {
        commands.spawn((Thing(*at), sprite(trap, 1.0, *at)));
    }
    for (at, item) in &level.items {
        commands.spawn((Thing(*at), sprite(&item.archetype, 1.5, *at)));
    }
    for (at, monster) in &level.monsters {
        commands.spawn((Thing(*at), sprite(&monster.archetype, 2.0, *at)));
    }
    let start = map.to_world(level.player);
    camera.translation = start.extend(camera.translation.z);
}

/// Lights each cell by its distance from the player, and what is remembered dimly.
fn light_tiles(level: Res<Level>, mut chunk: Single<&mut TilemapChunkTileData>) {
    let map = map(&level);
    let tint = art::tint(theme(&level));
    for at in (0..map.size.y).flat_map(|y| (0..map.size.x).map(move |x| UVec2::new(x, y))) {
        let light = (light(&level, at) * tint).min(Vec3::ONE);
        chunk[map.chunk_index(at)] = (level.sight(at) != Sight::Unknown).then(|| TileData {
            color: Color::srgb(light.x, light.y, light.z),
            ..TileData::from_tileset_index(tile(&level, at))
        });
    }
}

fn light(level: &Level, at: UVec2) -> Vec3 {
    match level.sight(at) {
        Sight::Unknown => Vec3::ZERO,
        Sight::Remembered => MEMORY,
        Sight::Visible => {
            let far = at.as_vec2().distance(level.player.as_vec2()) / SIGHT as f32;
            TORCH * (1.0 - 0.8 * far).max(0.25)
        }
    }
}

/// The layer of the tileset for a cell.
fn tile(level: &Level, at: UVec2) -> u16 {
    let is_closed = level.is_closed_door(at);
    match level.seen_terrain(at) {
        Terrain::Floor if (at.x * 7 + at.y * 13 + at.x * at.y) % 29 == 0 => art::CRACKED_FLOOR,
        Terrain::Floor if (at.x * 5 + at.y * 3 + at.x * at.y) % 7 == 0 => art::WORN_FLOOR,
        Terrain::Door | Terrain::SecretDoor if is_closed => Terrain::Door as u16,
        Terrain::Door | Terrain::SecretDoor => art::OPEN_DOOR,
        Terrain::LockedDoor if !is_closed => art::OPEN_DOOR,
        Terrain::Wall | Terrain::Unspecified => {
            let south = level.neighbour(at, IVec2::Y).map(|south| level.seen_terrain(south));
            if south.is_none_or(|south| south == Terrain::Wall) { Terrain::Wall as u16 } else { art::WALL_FRONT }
        }
        terrain => terrain as u16,
    }
}

/// Shows monsters in sight, and items and traps also from memory. Removes what is gone.
fn show_things(
    level: Res<Level>,
    mut things: Query<(Entity, &Thing, &mut Sprite, &mut Visibility)>,
    mut commands: Commands,
) {
    for (entity, Thing(at), mut sprite, mut visibility) in &mut things {
        let stays = level.items.contains_key(at) || level.traps.contains_key(at);
        if !stays && !level.monsters.contains_key(at) {
            commands.entity(entity).despawn();
        }
        let shown = level.sight(*at) == Sight::Visible || (stays && level.sight(*at) == Sight::Remembered);
        visibility.set_if_neq(if shown { Visibility::Inherited } else { Visibility::Hidden });
        let light = light(&level, *at).clamp(Vec3::splat(0.5), Vec3::ONE);
        sprite.color = Color::srgb(light.x, light.y, light.z);
    }
}

/// Moves the player's sprite to its cell, and the camera after it.
fn glide(
    level: Res<Level>,
    time: Res<Time>,
    mut player: Single<&mut Transform, (With<Player>, Without<Camera2d>)>,
    mut camera: Single<&mut Transform, With<Camera2d>>,
) {
    let goal = map(&level).to_world(level.player);
    let share = 1.0 - (-GLIDE * time.delta_secs()).exp();
    let to = player.translation.xy().lerp(goal, share);
    player.translation = to.extend(player.translation.z);
    // Whole pixels, so that the texels of the tiles stay sharp.
    camera.translation = to.round().extend(camera.translation.z);
}
