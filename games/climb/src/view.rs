//! Draws the tiles of the floor, by what the player sees and remembers.

use bevy::{
    prelude::*,
    sprite_render::{TileData, TilemapChunk, TilemapChunkTileData},
};
use climb_rules::{Door, Level, Point, SIGHT, cells};
use floor_client::{Terrain, plugin::TileMap};

use crate::{
    art::{self, CELL, Pictures},
    play::{Current, Entered, Rules},
};

/// The light of the player's torch, and of what is remembered.
const TORCH: Vec3 = Vec3::new(1.18, 1.06, 0.92);
const MEMORY: Vec3 = Vec3::new(0.13, 0.15, 0.22);
/// The least light on what lies or moves on the tiles.
const GLIMMER: f32 = 0.5;

/// Draws the tiles. Needs a window and a renderer.
pub struct ViewPlugin;

impl Plugin for ViewPlugin {
    fn build(&self, app: &mut App) {
        app.init_resource::<Pictures>()
            .insert_resource(ClearColor(Color::srgb(0.02, 0.02, 0.035)))
            .add_observer(lay_tiles)
            .add_systems(Startup, |mut commands: Commands| _ = commands.spawn(Camera2d))
            .add_systems(Update, light_tiles.after(Rules).run_if(resource_exists_and_changed::<Current>));
    }
}

/// Where a cell lies in the world.
pub fn place(level: &Level, at: Point) -> Vec2 {
    map(level).to_world(cell(at))
}

/// The light on what is in a cell.
pub fn shade(level: &Level, at: Point) -> Color {
    Srgba::from_vec3(light(level, at).clamp(Vec3::splat(GLIMMER), Vec3::ONE)).into()
}

fn cell(at: Point) -> UVec2 {
    UVec2::new(at.x.into(), at.y.into())
}

fn map(level: &Level) -> TileMap {
    TileMap::new(&level.floor, CELL as f32)
}

/// Replaces the tiles by those of the new floor.
fn lay_tiles(
    _: On<Entered>,
    level: Res<Current>,
    old: Query<Entity, With<TilemapChunk>>,
    pictures: Res<Pictures>,
    mut commands: Commands,
) {
    old.iter().for_each(|chunk| commands.entity(chunk).despawn());
    let chunk = TilemapChunk {
        chunk_size: map(&level).size,
        tile_display_size: UVec2::splat(CELL),
        tileset: pictures.tileset.clone(),
        ..default()
    };
    commands.spawn((chunk, TilemapChunkTileData(vec![None; level.floor.terrain().len()])));
}

/// Lights each known cell: by its distance from the player, or dimly if it is out of sight.
fn light_tiles(level: Res<Current>, mut chunk: Single<&mut TilemapChunkTileData>) {
    let (map, look) = (map(&level), art::look(level.floor.theme()));
    for at in cells(&level.floor) {
        let tile = tile(&level, at);
        let of_lock = match level.door(at) {
            Some(Door::Locked(lock)) => art::rgb(art::lock(lock)),
            _ => Vec3::ONE,
        };
        let light = (light(&level, at) * art::tint(&look, tile) * of_lock).min(Vec3::ONE);
        let lit = TileData { color: Srgba::from_vec3(light).into(), ..TileData::from_tileset_index(tile) };
        chunk[map.chunk_index(cell(at))] = level.known().contains(at).then_some(lit);
    }
}

fn light(level: &Level, at: Point) -> Vec3 {
    let far = cell(at).as_vec2().distance(cell(level.at()).as_vec2()) / SIGHT as f32;
    if level.visible().contains(at) { TORCH * (1.0 - 0.75 * far).max(0.3) } else { MEMORY }
}

/// The layer of the tileset for a cell.
fn tile(level: &Level, at: Point) -> u16 {
    let Point { x, y } = at;
    let is_wall = |at: Point| matches!(level.seen_terrain(at), Terrain::Wall | Terrain::Unspecified);
    let pattern = |by_x, by_y| u32::from(x) * by_x + u32::from(y) * by_y + u32::from(x) * u32::from(y);
    match level.seen_terrain(at) {
        _ if level.door(at) == Some(Door::Open) => art::OPEN_DOOR,
        Terrain::SecretDoor => Terrain::Door as u16,
        Terrain::Floor if pattern(7, 13).is_multiple_of(29) => art::CRACKED_FLOOR,
        Terrain::Floor if pattern(5, 3).is_multiple_of(7) => art::WORN_FLOOR,
        _ if is_wall(at) && !is_wall(Point::new(x, y + 1)) => art::WALL_FRONT,
        _ if is_wall(at) => Terrain::Wall as u16,
        terrain => terrain as u16,
    }
}
