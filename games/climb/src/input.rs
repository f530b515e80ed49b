//! Keys to orders, and the bot's fingers on the keys.

use bevy::{input::InputSystems, prelude::*};
use climb_rules::{Action, Ware, bot};

use crate::{
    pad::{REPEAT, read_pads},
    play::{Current, GameState, Order},
};

/// The bot waits this many times its pace before it confirms, so that one can read the screen.
const READING: u32 = 30;

const STEPS: [(IVec2, [KeyCode; 2]); 4] = [
    (IVec2::NEG_Y, [KeyCode::ArrowUp, KeyCode::KeyW]),
    (IVec2::Y, [KeyCode::ArrowDown, KeyCode::KeyS]),
    (IVec2::NEG_X, [KeyCode::ArrowLeft, KeyCode::KeyA]),
    (IVec2::X, [KeyCode::ArrowRight, KeyCode::KeyD]),
];

const ORDERS: [(Order, KeyCode); 6] = [
    (Order::Confirm, KeyCode::Enter),
    (Order::Turn(Action::Search), KeyCode::Space),
    (Order::Turn(Action::Drink), KeyCode::KeyQ),
    (Order::Turn(Action::Buy(Ware::Potion)), KeyCode::Digit1),
    (Order::Turn(Action::Buy(Ware::Blade)), KeyCode::Digit2),
    (Order::Turn(Action::Buy(Ware::Mail)), KeyCode::Digit3),
];

/// Plays by itself: presses the key for one action in `every` frames.
#[derive(Resource, Debug)]
pub struct Autopilot {
    pub every: u32,
}

/// Reads keys and gamepads.
pub struct InputPlugin;

impl Plugin for InputPlugin {
    fn build(&self, app: &mut App) {
        let press = press_keys.run_if(resource_exists::<Autopilot>);
        app.add_systems(PreUpdate, ((press, read_keys).chain(), read_pads).after(InputSystems));
    }
}

/// Arrows and WASD step, the other orders have a key each, escape quits.
fn read_keys(
    keys: Res<ButtonInput<KeyCode>>,
    time: Res<Time>,
    mut held: Local<f32>,
    mut orders: MessageWriter<Order>,
    mut exit: MessageWriter<AppExit>,
) {
    if keys.just_pressed(KeyCode::Escape) {
        exit.write(AppExit::Success);
    }
    orders.write_batch(ORDERS.into_iter().filter(|(_, key)| keys.just_pressed(*key)).map(|(order, _)| order));
    *held += time.delta_secs();
    for (step, step_keys) in STEPS {
        let again = keys.any_pressed(step_keys) && *held >= REPEAT;
        if keys.any_just_pressed(step_keys) || again {
            *held = 0.0;
            orders.write(Order::Turn(Action::Step(step)));
        }
    }
}

fn press_keys(
    pilot: Res<Autopilot>,
    mut frame: Local<u32>,
    mut keys: ResMut<ButtonInput<KeyCode>>,
    state: Res<State<GameState>>,
    level: Option<Res<Current>>,
) {
    keys.reset_all();
    *frame += 1;
    let is_due = |frames: u32| frame.is_multiple_of(frames);
    match (state.get(), level) {
        (GameState::Loading, _) => {}
        (GameState::Climbing, Some(level)) if is_due(pilot.every) => keys.press(key_for(bot::choose(&level))),
        (GameState::Climbing, _) => {}
        _ if is_due(READING * pilot.every) => keys.press(KeyCode::Enter),
        _ => {}
    }
}

fn key_for(action: Action) -> KeyCode {
    let step = STEPS.iter().find(|(step, _)| action == Action::Step(*step)).map(|(_, keys)| keys[0]);
    let order = ORDERS.iter().find(|(order, _)| *order == Order::Turn(action)).map(|(_, key)| *key);
    step.or(order).unwrap_or(KeyCode::Space)
}
