//! Draws the player and the monsters: where they go, what the monsters are about, and who is hurt.

use bevy::prelude::*;
use climb_rules::{Level, Mood, Point};

use crate::{
    art::{self, Pictures},
    play::{Current, Entered, Rules},
    view,
};

/// How fast beings and the camera close in on their cell, a second.
const GLIDE: f32 = 16.0;
/// The bar of a monster's health, in pixels.
const BAR: Vec2 = Vec2::new(28.0, 4.0);
const BLOOD: Color = Color::srgb(1.0, 0.35, 0.3);
const ALERT: u32 = 0xff_d94d;

/// Draws the beings on the tiles of [`crate::view::ViewPlugin`].
pub struct BeingsPlugin;

impl Plugin for BeingsPlugin {
    fn build(&self, app: &mut App) {
        let show = show_monsters.run_if(resource_exists_and_changed::<Current>);
        let systems = (show, glide.run_if(resource_exists::<Current>)).chain();
        app.add_observer(spawn).add_systems(Update, systems.after(Rules));
    }
}

#[derive(Component, Clone, Copy)]
enum Being {
    Player,
    /// An index into the level's monsters.
    Monster(usize),
}

/// Replaces the beings by those of the new floor.
fn spawn(
    _: On<Entered>,
    level: Res<Current>,
    old: Query<Entity, With<Being>>,
    pictures: Res<Pictures>,
    mut commands: Commands,
) {
    old.iter().for_each(|being| commands.entity(being).despawn());
    commands.spawn((Being::Player, pictures.thing("player"), Transform::from_translation(goal(&level, level.at()))));
    for (index, monster) in level.monsters().iter().enumerate() {
        let sprite = pictures.monster(monster.class, level.floor.theme());
        commands.spawn((Being::Monster(index), sprite, Transform::from_translation(goal(&level, monster.at))));
    }
}

fn goal(level: &Level, at: Point) -> Vec3 {
    view::place(level, at).extend(2.0)
}

/// Shows the monsters in sight, each with a sign of its mood and, when it is hurt, a bar of its health.
fn show_monsters(
    level: Res<Current>,
    mut beings: Query<(Entity, &Being, &mut Sprite, &mut Visibility)>,
    mut commands: Commands,
) {
    for (entity, being, mut sprite, mut visibility) in &mut beings {
        let Being::Monster(index) = being else { continue };
        let monster = &level.monsters()[*index];
        let is_seen = monster.is_alive() && level.visible().contains(monster.at);
        *visibility = if is_seen { Visibility::Inherited } else { Visibility::Hidden };
        sprite.color = view::shade(&level, monster.at);
        let mut marks = commands.entity(entity);
        marks.despawn_children();
        if let Some(sign) = sign(monster.mood) {
            marks.with_child(art::sign(sign, ALERT, Vec3::new(12.0, 10.0, 0.1)));
        }
        let share = monster.health as f32 / monster.most_health as f32;
        if share < 1.0 {
            let bar = Sprite::from_color(BLOOD, BAR * Vec2::new(share, 1.0));
            marks.with_child((bar, Transform::from_xyz(0.0, 20.0, 0.3)));
        }
    }
}

fn sign(mood: Mood) -> Option<&'static str> {
    match mood {
        Mood::Asleep => Some("z"),
        Mood::Calm => None,
        Mood::Hunting(_) => Some("!"),
        Mood::Fleeing => Some("?"),
    }
}

/// Moves the beings to their cells, and the camera after the player.
fn glide(
    level: Res<Current>,
    time: Res<Time>,
    mut beings: Query<(&Being, &mut Transform), Without<Camera2d>>,
    mut camera: Single<&mut Transform, With<Camera2d>>,
) {
    for (being, mut transform) in &mut beings {
        let at = match being {
            Being::Player => level.at(),
            Being::Monster(index) => level.monsters()[*index].at,
        };
        transform.translation.smooth_nudge(&goal(&level, at), GLIDE, time.delta_secs());
        if matches!(being, Being::Player) {
            // Whole pixels, so that the texels of the tiles stay sharp.
            camera.translation = transform.translation.round();
        }
    }
}
