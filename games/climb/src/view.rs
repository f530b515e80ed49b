//! Draws the floor: its tiles by what the player sees and remembers, and a sprite for each being and thing.

use bevy::{
    prelude::*,
    sprite_render::{TileData, TilemapChunk, TilemapChunkTileData},
};
use climb_rules::{Level, SIGHT};
use floor_client::{Terrain, plugin::TileMap};

use crate::{
    art,
    play::{Current, Entered},
};

/// The side of a cell, in pixels.
pub const CELL: u32 = 32;
/// How fast sprites and the camera close in on their cell, a second.
const GLIDE: f32 = 16.0;
/// The light of the player's torch, and of what is remembered.
const TORCH: Vec3 = Vec3::new(1.18, 1.06, 0.92);
const MEMORY: Vec3 = Vec3::new(0.13, 0.15, 0.22);

/// Draws the game. Needs a window and a renderer.
pub struct ViewPlugin;

impl Plugin for ViewPlugin {
    fn build(&self, app: &mut App) {
        let mut images = app.world_mut().resource_mut::<Assets<Image>>();
        let pictures = Pictures { tileset: images.add(art::tileset()), sprites: images.add(art::sprites()) };
        let light = (light_tiles, show_things).run_if(resource_exists_and_changed::<Current>);
        app.insert_resource(pictures)
            .insert_resource(ClearColor(Color::srgb(0.02, 0.02, 0.035)))
            .add_observer(draw_floor)
            .add_systems(Startup, |mut commands: Commands| _ = commands.spawn(Camera2d))
            .add_systems(
                PostUpdate,
                (light, glide.run_if(resource_exists::<Current>)).before(TransformSystems::Propagate),
            );
    }
}

#[derive(Resource)]
struct Pictures {
    tileset: Handle<Image>,
    sprites: Handle<Image>,
}

/// What a sprite shows.
#[derive(Component, Clone, Copy)]
pub enum Shown {
    Player,
    /// An index into the level's monsters.
    Monster(usize),
    Item(UVec2),
    Trap(UVec2),
    Shrine(UVec2),
    Merchant(UVec2),
    /// The digit of a lock, on its door.
    Lock(UVec2),
}

impl Shown {
    /// Its cell, and whether the player knows that it is there.
    fn place(self, level: &Level) -> (UVec2, bool) {
        match self {
            Self::Player => (level.player, true),
            Self::Monster(index) => {
                let monster = &level.monsters[index];
                (monster.at, monster.is_alive() && level.visible.contains(&monster.at))
            }
            Self::Item(at) => (at, level.items.contains_key(&at)),
            Self::Trap(at) => (at, level.traps.contains_key(&at) && level.seen_traps.contains(&at)),
            Self::Shrine(at) | Self::Merchant(at) => (at, true),
            Self::Lock(at) => (at, level.locks.contains_key(&at)),
        }
    }
}

pub fn map(level: &Level) -> TileMap {
    TileMap::new(&level.floor, CELL as f32)
}

/// Replaces the tiles and sprites by those of the new floor.
fn draw_floor(
    _: On<Entered>,
    level: Res<Current>,
    old: Query<Entity, Or<(With<TilemapChunk>, With<Shown>)>>,
    mut camera: Single<&mut Transform, With<Camera2d>>,
    pictures: Res<Pictures>,
    mut commands: Commands,
) {
    old.iter().for_each(|entity| commands.entity(entity).despawn());
    let map = map(&level);
    camera.translation = map.to_world(level.player).extend(camera.translation.z);
    let chunk = TilemapChunk {
        chunk_size: map.size,
        tile_display_size: UVec2::splat(CELL),
        tileset: pictures.tileset.clone(),
        ..default()
    };
    commands.spawn((chunk, TilemapChunkTileData(vec![None; level.floor.terrain().len()])));
    let mut draw = |shown: Shown, rect: Rect, side: f32, z: f32| {
        let custom_size = Some(Vec2::splat(side * CELL as f32));
        let sprite = Sprite { image: pictures.sprites.clone(), rect: Some(rect), custom_size, ..default() };
        let at = map.to_world(shown.place(&level).0);
        commands.spawn((shown, sprite, Transform::from_translation(at.extend(z))));
    };
    draw(Shown::Player, art::thing("player"), 1.0, 3.0);
    level.merchants.iter().for_each(|at| draw(Shown::Merchant(*at), art::thing("merchant"), 1.1, 1.5));
    level.shrines.iter().for_each(|at| draw(Shown::Shrine(*at), art::thing("shrine"), 1.1, 1.5));
    level.traps.iter().for_each(|(at, trap)| draw(Shown::Trap(*at), art::thing(&trap.archetype), 1.0, 1.0));
    level.items.iter().for_each(|(at, item)| draw(Shown::Item(*at), art::thing(&item.archetype), 1.0, 1.6));
    level.locks.keys().for_each(|at| draw(Shown::Lock(*at), Rect::default(), 0.0, 1.2));
    for (index, monster) in level.monsters.iter().enumerate() {
        let (rect, side) = art::monster(monster.class, level.floor.theme());
        draw(Shown::Monster(index), rect, side, 2.0);
    }
}

/// Lights each cell by its distance from the player, and what is remembered dimly.
fn light_tiles(level: Res<Current>, mut chunk: Single<&mut TilemapChunkTileData>) {
    let (map, look) = (map(&level), art::look(level.floor.theme()));
    for at in level.cells() {
        let tile = tile(&level, at);
        let of_lock = level.locks.get(&at).map_or(Vec3::ONE, |lock| art::rgb(art::lock(*lock)));
        let Vec3 { x, y, z } = (light(&level, at) * art::tint(&look, tile) * of_lock).min(Vec3::ONE);
        chunk[map.chunk_index(at)] = (level.known.contains(&at))
            .then(|| TileData { color: Color::srgb(x, y, z), ..TileData::from_tileset_index(tile) });
    }
}

fn light(level: &Level, at: UVec2) -> Vec3 {
    let far = at.as_vec2().distance(level.player.as_vec2()) / SIGHT as f32;
    if level.visible.contains(&at) { TORCH * (1.0 - 0.75 * far).max(0.3) } else { MEMORY }
}

/// The layer of the tileset for a cell.
fn tile(level: &Level, at: UVec2) -> u16 {
    let is_wall = |at: UVec2| matches!(level.seen_terrain(at), Terrain::Wall | Terrain::Unspecified);
    match level.seen_terrain(at) {
        Terrain::Floor if (at.x * 7 + at.y * 13 + at.x * at.y) % 29 == 0 => art::CRACKED_FLOOR,
        Terrain::Floor if (at.x * 5 + at.y * 3 + at.x * at.y) % 7 == 0 => art::WORN_FLOOR,
        Terrain::LockedDoor if level.is_closed_door(at) => Terrain::LockedDoor as u16,
        Terrain::Door | Terrain::SecretDoor if level.is_closed_door(at) => Terrain::Door as u16,
        Terrain::Door | Terrain::SecretDoor | Terrain::LockedDoor => art::OPEN_DOOR,
        _ if is_wall(at) && is_wall(at + UVec2::Y) => Terrain::Wall as u16,
        _ if is_wall(at) => art::WALL_FRONT,
        terrain => terrain as u16,
    }
}

/// Shows monsters in sight, and everything else also from memory. A shrine that has healed is dark.
fn show_things(level: Res<Current>, mut things: Query<(&Shown, &mut Sprite, &mut Visibility)>) {
    for (shown, mut sprite, mut visibility) in &mut things {
        let (at, is_there) = shown.place(&level);
        let is_seen = is_there && level.known.contains(&at);
        visibility.set_if_neq(if is_seen { Visibility::Inherited } else { Visibility::Hidden });
        let is_spent = matches!(shown, Shown::Shrine(at) if !level.shrines.contains(at));
        let Vec3 { x, y, z } = light(&level, at).clamp(Vec3::splat(if is_spent { 0.2 } else { 0.5 }), Vec3::ONE);
        sprite.color = Color::srgb(x, y, z);
    }
}

/// Moves the sprites to their cells, and the camera after the player.
fn glide(
    level: Res<Current>,
    time: Res<Time>,
    mut things: Query<(&Shown, &mut Transform), Without<Camera2d>>,
    mut camera: Single<&mut Transform, With<Camera2d>>,
) {
    let share = 1.0 - (-GLIDE * time.delta_secs()).exp();
    for (shown, mut transform) in &mut things {
        let goal = map(&level).to_world(shown.place(&level).0);
        let to = transform.translation.xy().lerp(goal, share);
        transform.translation = to.extend(transform.translation.z);
        if matches!(shown, Shown::Player) {
            // Whole pixels, so that the texels of the tiles stay sharp.
            camera.translation = to.round().extend(camera.translation.z);
        }
    }
}
