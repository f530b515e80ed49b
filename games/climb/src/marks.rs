//! What is written on the floor: the digits of locks and keys, the health and mood of monsters, and rising numbers.

use bevy::prelude::*;
use climb_rules::Outcome;

use crate::{
    art,
    play::{Current, Entered, Happened},
    view::{CELL, Drawing, Shown, map},
};

/// Seconds for which a number rises, and how far, in pixels.
const RISE: (f32, f32) = (0.8, 34.0);
/// The bar of a monster's health, in pixels.
const BAR: Vec2 = Vec2::new(28.0, 4.0);
const HURT: Color = Color::srgb(1.0, 0.35, 0.3);
const HEALED: Color = Color::srgb(0.5, 0.95, 0.5);
const STRUCK: Color = Color::WHITE;
const ALERT: Color = Color::srgb(1.0, 0.85, 0.3);
const NIGHT: Color = Color::srgba(0.03, 0.03, 0.05, 0.85);

/// Writes on the floor that [`crate::view::ViewPlugin`] draws.
pub struct MarksPlugin;

impl Plugin for MarksPlugin {
    fn build(&self, app: &mut App) {
        let systems = (attach.run_if(on_message::<Entered>), show_marks, show_numbers, rise);
        app.add_systems(Update, systems.after(Drawing).run_if(resource_exists::<Current>));
    }
}

/// The mood of a monster, as a sign beside it.
#[derive(Component)]
struct Mark(usize);

/// The health of a monster that was struck.
#[derive(Component)]
struct Bar(usize);

/// The age of a rising number, in seconds.
#[derive(Component)]
struct Rising(f32);

fn text(text: impl Into<String>, size: f32, colour: Color) -> impl Bundle {
    (Text2d::new(text), TextFont::from_font_size(FontSize::Px(size)), TextColor(colour))
}

/// A digit on a dark square.
fn digit(lock: u32) -> impl Bundle {
    (
        Sprite::from_color(NIGHT, Vec2::splat(15.0)),
        children![(text(lock.to_string(), 15.0, art::lock(lock)), Transform::from_xyz(0.0, 0.0, 0.1))],
    )
}

/// Writes the digits of keys and doors on a new floor. Gives each monster its mark and its bar.
fn attach(level: Res<Current>, shown: Query<(Entity, &Shown)>, mut commands: Commands) {
    for (at, lock) in &level.locks {
        let place = map(&level).to_world(*at).extend(1.2);
        commands.spawn((Shown::Lock(*at), digit(*lock), Transform::from_translation(place)));
    }
    for (entity, shown) in &shown {
        let mut entity = commands.entity(entity);
        match shown {
            Shown::Item(at) => {
                if let Some(item) = level.items.get(at).filter(|item| item.opens_lock != 0) {
                    entity.with_child((digit(item.opens_lock), Transform::from_xyz(9.0, -9.0, 0.1)));
                }
            }
            Shown::Monster(index) => {
                entity.with_child((Mark(*index), text("", 24.0, ALERT), Transform::from_xyz(13.0, 13.0, 0.3)));
                entity.with_child((
                    Bar(*index),
                    Sprite::from_color(HURT, Vec2::ZERO),
                    Transform::from_xyz(0.0, 20.0, 0.2),
                ));
            }
            _ => {}
        }
    }
}

/// Keeps marks and bars as their monsters are.
fn show_marks(level: Res<Current>, mut marks: Query<(&Mark, &mut Text2d)>, mut bars: Query<(&Bar, &mut Sprite)>) {
    for (Mark(index), mut text) in &mut marks {
        let mark = level.monsters.get(*index).map_or("", |monster| monster.mark());
        if text.0 != mark {
            text.0 = mark.to_owned();
        }
    }
    for (Bar(index), mut sprite) in &mut bars {
        let Some(monster) = level.monsters.get(*index) else { continue };
        let share = monster.health as f32 / monster.most_health as f32;
        sprite.custom_size = Some(if share < 1.0 { BAR * Vec2::new(share, 1.0) } else { Vec2::ZERO });
    }
}

/// Lets the numbers of a turn rise from who is struck, hit or healed.
fn show_numbers(level: Res<Current>, mut happened: MessageReader<Happened>, mut commands: Commands) {
    for Happened(outcome) in happened.read() {
        let (at, number, colour) = match outcome {
            Outcome::Struck { at, damage, .. } => (*at, format!("{damage}"), STRUCK),
            Outcome::Hit { damage, .. } | Outcome::Poisoned(damage) => (level.player, format!("-{damage}"), HURT),
            Outcome::Trapped { damage: 1.., .. } => (level.player, "trap!".to_owned(), HURT),
            Outcome::Drank(healed) | Outcome::Prayed(healed) => (level.player, format!("+{healed}"), HEALED),
            _ => continue,
        };
        let place = map(&level).to_world(at) + Vec2::Y * CELL as f32 / 2.0;
        commands.spawn((Rising(0.0), text(number, 20.0, colour), Transform::from_translation(place.extend(5.0))));
    }
}

fn rise(
    time: Res<Time>,
    mut numbers: Query<(Entity, &mut Rising, &mut Transform, &mut TextColor)>,
    mut commands: Commands,
) {
    for (entity, mut rising, mut transform, mut colour) in &mut numbers {
        rising.0 += time.delta_secs();
        transform.translation.y += RISE.1 / RISE.0 * time.delta_secs();
        colour.0.set_alpha(1.0 - rising.0 / RISE.0);
        if rising.0 > RISE.0 {
            commands.entity(entity).despawn();
        }
    }
}
