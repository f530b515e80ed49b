//! Draws what does not move: what the player remembers to lie on the floor, digits of locks, and numbers of the last turn.

use bevy::prelude::*;
use climb_rules::Door;

use crate::{
    art::{self, Pictures},
    play::{Current, Rules},
    view,
};

const HURT: u32 = 0xff_594d;
const HEALED: u32 = 0x80_f280;
const STRUCK: u32 = 0xff_ffff;

/// Draws all things anew after each turn. There are few.
pub struct ThingsPlugin;

impl Plugin for ThingsPlugin {
    fn build(&self, app: &mut App) {
        let draw = (clear, (draw_things, draw_digits, draw_changes)).chain().after(Rules);
        app.add_systems(Update, draw.run_if(resource_exists_and_changed::<Current>));
    }
}

#[derive(Component)]
struct Thing;

fn clear(things: Query<Entity, With<Thing>>, mut commands: Commands) {
    things.iter().for_each(|thing| commands.entity(thing).despawn());
}

fn draw_things(level: Res<Current>, pictures: Res<Pictures>, mut commands: Commands) {
    let items = level.items().map(|(index, at)| (at, &*level.floor.items()[index].archetype));
    let traps = level.traps().map(|(index, at)| (at, &*level.floor.traps()[index].archetype));
    let merchants = level.merchants().iter().map(|at| (*at, "merchant"));
    let shrines = level.shrines().map(|at| (at, "shrine"));
    let things = items.chain(traps).chain(merchants).chain(shrines);
    for (at, archetype) in things.filter(|(at, _)| level.known().contains(*at)) {
        let sprite = Sprite { color: view::shade(&level, at), ..pictures.thing(archetype) };
        commands.spawn((Thing, sprite, Transform::from_translation(view::place(&level, at).extend(1.0))));
    }
}

/// Writes the digit of each lock on its door and, in a corner, on its key.
fn draw_digits(level: Res<Current>, mut commands: Commands) {
    let keys = level.items().map(|(index, at)| (at, level.floor.items()[index].opens_lock, Vec2::new(9.0, -9.0)));
    let doors = level.doors().iter().filter_map(|(at, door)| match door {
        Door::Locked(lock) => Some((*at, *lock, Vec2::ZERO)),
        _ => None,
    });
    let locks = keys.filter(|(_, lock, _)| *lock != 0).chain(doors);
    for (at, lock, corner) in locks.filter(|(at, ..)| level.known().contains(*at)) {
        let place = (view::place(&level, at) + corner).extend(1.1);
        commands.spawn((Thing, art::sign(lock.to_string(), art::lock(lock), place)));
    }
}

/// Writes beside who was hurt or healed by how much.
fn draw_changes(level: Res<Current>, mut commands: Commands) {
    for news in level.news.iter().filter(|news| news.change != 0) {
        let colour = match news.change {
            1.. => HEALED,
            _ if news.at == level.at() => HURT,
            _ => STRUCK,
        };
        let place = (view::place(&level, news.at) + Vec2::new(-18.0, 14.0)).extend(3.0);
        commands.spawn((Thing, art::sign(format!("{:+}", news.change), colour, place)));
    }
}
