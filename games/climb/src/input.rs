//! Keys to actions.

use bevy::prelude::*;

use crate::play::Action;

/// Time from one step to the next while a key is held, in seconds.
const REPEAT: f32 = 0.12;

const STEPS: [(IVec2, [KeyCode; 2]); 4] = [
    (IVec2::NEG_Y, [KeyCode::ArrowUp, KeyCode::KeyW]),
    (IVec2::Y, [KeyCode::ArrowDown, KeyCode::KeyS]),
    (IVec2::NEG_X, [KeyCode::ArrowLeft, KeyCode::KeyA]),
    (IVec2::X, [KeyCode::ArrowRight, KeyCode::KeyD]),
];

/// Arrows or WASD step, space searches, return starts and tries again, escape quits.
pub fn read_keys(
    keys: Res<ButtonInput<KeyCode>>,
    time: Res<Time>,
    mut held: Local<f32>,
    mut actions: MessageWriter<Action>,
    mut exit: MessageWriter<AppExit>,
) {
    if keys.just_pressed(KeyCode::Escape) {
        exit.write(AppExit::Success);
    }
    if keys.just_pressed(KeyCode::Space) {
        actions.write(Action::Search);
    }
    if keys.just_pressed(KeyCode::Enter) {
        actions.write(Action::Confirm);
    }
    *held += time.delta_secs();
    for (step, keys_for_it) in STEPS {
        let again = keys.any_pressed(keys_for_it) && *held >= REPEAT;
        if keys.any_just_pressed(keys_for_it) || again {
            *held = 0.0;
            actions.write(Action::Step(step));
        }
    }
}
