//! Draws the floor: its tiles by what the player sees and remembers, and a sprite for each being and thing.

use bevy::{
    prelude::*,
    sprite_render::{TileData, TilemapChunk, TilemapChunkTileData},
};
use climb_rules::{Level, SIGHT, Sight};
use floor_client::{Terrain, plugin::TileMap};

use crate::{
    art,
    play::{Current, Entered, Playing},
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
        let draw = draw_floor.run_if(on_message::<Entered>);
        let light = (light_tiles, show_things).run_if(resource_exists_and_changed::<Current>);
        app.insert_resource(ClearColor(Color::srgb(0.02, 0.02, 0.035)))
            .init_resource::<Pictures>()
            .add_systems(Startup, |mut commands: Commands| _ = commands.spawn(Camera2d))
            .add_systems(
                Update,
                (draw, light, glide).chain().in_set(Drawing).after(Playing).run_if(resource_exists::<Current>),
            );
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

/// Draws what changed in a frame.
#[derive(SystemSet, Debug, Clone, PartialEq, Eq, Hash)]
pub struct Drawing;

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
    /// Its cell, `None` if it is not to be seen.
    fn cell(self, level: &Level) -> Option<UVec2> {
        let monster = |index: usize| level.monsters.get(index).filter(|monster| monster.is_alive());
        let (at, is_there) = match self {
            Self::Player => (level.player, true),
            Self::Monster(index) => {
                let at = monster(index)?.at;
                (at, level.sight(at) == Sight::Visible)
            }
            Self::Item(at) => (at, level.items.contains_key(&at)),
            Self::Trap(at) => (at, level.traps.get(&at).is_some_and(|trap| trap.is_seen)),
            Self::Shrine(at) | Self::Merchant(at) => (at, true),
            Self::Lock(at) => (at, level.is_closed_door(at)),
        };
        (is_there && level.sight(at) != Sight::Unknown).then_some(at)
    }
}

pub fn map(level: &Level) -> TileMap {
    TileMap::new(&level.floor, CELL as f32)
}

/// Replaces the tiles and sprites by those of the new floor.
fn draw_floor(
    level: Res<Current>,
    old: Query<Entity, Or<(With<TilemapChunk>, With<Shown>)>>,
    mut camera: Single<&mut Transform, With<Camera2d>>,
    pictures: Res<Pictures>,
    mut commands: Commands,
) {
    old.iter().for_each(|entity| commands.entity(entity).despawn());
    let map = map(&level);
    commands.spawn((
        TilemapChunk {
            chunk_size: map.size,
            tile_display_size: UVec2::splat(CELL),
            tileset: pictures.tileset.clone(),
            ..default()
        },
        TilemapChunkTileData(vec![None; level.floor.terrain().len()]),
    ));
    let mut draw = |shown: Shown, (rect, side): (Rect, f32), z: f32, at: UVec2| {
        let custom_size = Some(Vec2::splat(side * CELL as f32));
        let sprite = Sprite { image: pictures.sprites.clone(), rect: Some(rect), custom_size, ..default() };
        commands.spawn((shown, sprite, Transform::from_translation(map.to_world(at).extend(z))));
    };
    draw(Shown::Player, (art::thing("player"), 1.0), 3.0, level.player);
    for at in &level.merchants {
        draw(Shown::Merchant(*at), (art::thing("merchant"), 1.1), 1.5, *at);
    }
    for at in &level.shrines {
        draw(Shown::Shrine(*at), (art::thing("shrine"), 1.1), 1.5, *at);
    }
    for (at, trap) in &level.traps {
        draw(Shown::Trap(*at), (art::thing(&trap.archetype), 1.0), 1.0, *at);
    }
    for (at, item) in &level.items {
        draw(Shown::Item(*at), (art::thing(&item.archetype), 1.0), 1.6, *at);
    }
    for (index, monster) in level.monsters.iter().enumerate() {
        draw(Shown::Monster(index), art::monster(monster.class, level.floor.theme()), 2.0, monster.at);
    }
    let start = map.to_world(level.player);
    camera.translation = start.extend(camera.translation.z);
}

/// Lights each cell by its distance from the player, and what is remembered dimly.
fn light_tiles(level: Res<Current>, mut chunk: Single<&mut TilemapChunkTileData>) {
    let (map, look) = (map(&level), art::look(level.floor.theme()));
    for at in level.cells() {
        let tile = tile(&level, at);
        let lock = level.locks.get(&at).filter(|_| level.is_closed_door(at)).map(|lock| art::lock(*lock));
        let of_lock = lock.map_or(Vec3::ONE, |colour| colour.to_srgba().to_vec3());
        let Vec3 { x, y, z } = (light(&level, at) * art::tint(&look, tile) * of_lock).min(Vec3::ONE);
        chunk[map.chunk_index(at)] = (level.sight(at) != Sight::Unknown)
            .then(|| TileData { color: Color::srgb(x, y, z), ..TileData::from_tileset_index(tile) });
    }
}

fn light(level: &Level, at: UVec2) -> Vec3 {
    match level.sight(at) {
        Sight::Unknown => Vec3::ZERO,
        Sight::Remembered => MEMORY,
        Sight::Visible => {
            let far = at.as_vec2().distance(level.player.as_vec2()) / SIGHT as f32;
            TORCH * (1.0 - 0.75 * far).max(0.3)
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

/// Shows monsters in sight, and everything else also from memory. A shrine that has healed is dark.
fn show_things(level: Res<Current>, mut things: Query<(&Shown, &mut Sprite, &mut Visibility)>) {
    for (shown, mut sprite, mut visibility) in &mut things {
        let cell = shown.cell(&level);
        visibility.set_if_neq(if cell.is_some() { Visibility::Inherited } else { Visibility::Hidden });
        let is_spent = matches!(shown, Shown::Shrine(at) if !level.shrines.contains(at));
        let light = cell.map_or(Vec3::ONE, |at| light(&level, at));
        let Vec3 { x, y, z } = light.clamp(Vec3::splat(0.5), Vec3::ONE) * if is_spent { 0.4 } else { 1.0 };
        if !matches!(shown, Shown::Lock(_)) {
            sprite.color = Color::srgb(x, y, z);
        }
    }
}

/// Moves the sprites to their cells, and the camera after the player.
fn glide(
    level: Res<Current>,
    time: Res<Time>,
    mut beings: Query<(&Shown, &mut Transform), Without<Camera2d>>,
    mut camera: Single<&mut Transform, With<Camera2d>>,
) {
    let map = map(&level);
    let share = 1.0 - (-GLIDE * time.delta_secs()).exp();
    for (shown, mut transform) in &mut beings {
        let at = match shown {
            Shown::Player => level.player,
            Shown::Monster(index) => level.monsters.get(*index).map_or(UVec2::ZERO, |monster| monster.at),
            _ => continue,
        };
        let to = transform.translation.xy().lerp(map.to_world(at), share);
        transform.translation = to.extend(transform.translation.z);
        if matches!(shown, Shown::Player) {
            // Whole pixels, so that the texels of the tiles stay sharp.
            camera.translation = to.round().extend(camera.translation.z);
        }
    }
}
