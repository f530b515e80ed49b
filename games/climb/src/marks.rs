//! What is written on the floor: the digits of locks and keys, the health and mood of monsters, and rising numbers.

use bevy::prelude::*;
use climb_rules::Mood;

use crate::{
    art,
    play::Current,
    view::{CELL, Shown, map},
};

/// Seconds for which a number rises, and how far, in pixels.
const RISE: (f32, f32) = (0.8, 34.0);
/// The bar of a monster's health, in pixels.
const BAR: Vec2 = Vec2::new(28.0, 4.0);
const HURT: Color = Color::srgb(1.0, 0.35, 0.3);
const HEALED: Color = Color::srgb(0.5, 0.95, 0.5);
const ALERT: Color = Color::srgb(1.0, 0.85, 0.3);
const NIGHT: Color = Color::srgba(0.03, 0.03, 0.05, 0.85);

/// Writes on the floor that [`crate::view::ViewPlugin`] draws.
pub struct MarksPlugin;

impl Plugin for MarksPlugin {
    fn build(&self, app: &mut App) {
        let show = (show_marks, show_changes).run_if(resource_exists_and_changed::<Current>);
        app.add_observer(attach).add_systems(PostUpdate, (show, rise).chain());
    }
}

/// The mood of a monster as a sign, or its health as a bar.
#[derive(Component)]
struct MarkOf(usize);

/// The age of a rising number, in seconds.
#[derive(Component)]
struct Rising(f32);

fn text(text: String, size: f32, colour: Color) -> impl Bundle {
    (Text2d::new(text), TextFont::from_font_size(FontSize::Px(size)), TextColor(colour))
}

/// Writes the digit of a key or a door, and gives a monster its mark and its bar.
fn attach(added: On<Add, Shown>, shown: Query<&Shown>, level: Res<Current>, mut commands: Commands) {
    let Ok(shown) = shown.get(added.entity) else { return };
    let mut thing = commands.entity(added.entity);
    let lock = match shown {
        Shown::Lock(at) => level.locks.get(at).copied(),
        Shown::Item(at) => level.items.get(at).map(|item| item.opens_lock).filter(|lock| *lock != 0),
        Shown::Monster(index) => {
            thing.with_child((MarkOf(*index), text(String::new(), 24.0, ALERT), Transform::from_xyz(13.0, 13.0, 0.3)));
            let bar = Sprite::from_color(HURT, Vec2::ZERO);
            thing.with_child((MarkOf(*index), bar, Transform::from_xyz(0.0, 20.0, 0.2)));
            None
        }
        _ => None,
    };
    if let Some(lock) = lock {
        let corner = if matches!(shown, Shown::Item(_)) { Vec3::new(9.0, -9.0, 0.1) } else { Vec3::ZERO };
        let plate = (Sprite::from_color(NIGHT, Vec2::splat(15.0)), Transform::from_translation(corner));
        let digit = (
            text(lock.to_string(), 15.0, Srgba::from_vec3(art::rgb(art::lock(lock))).into()),
            Transform::from_xyz(0.0, 0.0, 0.1),
        );
        thing.with_child((plate, children![digit]));
    }
}

/// Keeps signs and bars as their monsters are.
fn show_marks(level: Res<Current>, mut marks: Query<(&MarkOf, AnyOf<(&mut Text2d, &mut Sprite)>)>) {
    for (MarkOf(index), (sign, bar)) in &mut marks {
        let monster = &level.monsters[*index];
        if let Some(mut sign) = sign {
            sign.0 = match monster.mood {
                Mood::Asleep => "z".to_owned(),
                Mood::Calm => String::new(),
                Mood::Hunting(_) => "!".to_owned(),
                Mood::Fleeing => "?".to_owned(),
            };
        }
        if let Some(mut bar) = bar {
            let share = monster.health as f32 / monster.most_health as f32;
            bar.custom_size = Some(if share < 1.0 { BAR * Vec2::new(share, 1.0) } else { Vec2::ZERO });
        }
    }
}

/// Lets numbers rise from who is hurt or healed.
fn show_changes(level: Res<Current>, mut commands: Commands) {
    for news in level.news.iter().filter(|news| news.change != 0) {
        let colour = match news.change {
            1.. => HEALED,
            _ if news.at == level.player => HURT,
            _ => Color::WHITE,
        };
        let place = map(&level).to_world(news.at) + Vec2::Y * CELL as f32 / 2.0;
        let number = text(format!("{:+}", news.change), 20.0, colour);
        commands.spawn((Rising(0.0), number, Transform::from_translation(place.extend(5.0))));
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
