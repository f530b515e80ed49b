//! Gamepads to orders.

use bevy::prelude::*;
use climb_rules::{Action, Ware};

use crate::play::Order;

/// Time from one step to the next while a key or the stick is held, in seconds.
pub(crate) const REPEAT: f32 = 0.13;

const STEPS: [(IVec2, GamepadButton); 4] = [
    (IVec2::NEG_Y, GamepadButton::DPadUp),
    (IVec2::Y, GamepadButton::DPadDown),
    (IVec2::NEG_X, GamepadButton::DPadLeft),
    (IVec2::X, GamepadButton::DPadRight),
];

const ORDERS: [(Order, GamepadButton); 6] = [
    (Order::Confirm, GamepadButton::Start),
    (Order::Turn(Action::Search), GamepadButton::South),
    (Order::Turn(Action::Drink), GamepadButton::East),
    (Order::Turn(Action::Buy(Ware::Potion)), GamepadButton::West),
    (Order::Turn(Action::Buy(Ware::Blade)), GamepadButton::North),
    (Order::Turn(Action::Buy(Ware::Mail)), GamepadButton::RightTrigger),
];

/// The pad and the left stick step, the other orders have a button each.
pub(crate) fn read_pads(
    pads: Query<&Gamepad>,
    time: Res<Time>,
    mut held: Local<f32>,
    mut orders: MessageWriter<Order>,
) {
    *held += time.delta_secs();
    for pad in &pads {
        orders.write_batch(ORDERS.into_iter().filter(|(_, button)| pad.just_pressed(*button)).map(|(order, _)| order));
        for (step, button) in STEPS {
            let again = (pad.pressed(button) || leans(pad, step)) && *held >= REPEAT;
            if pad.just_pressed(button) || again {
                *held = 0.0;
                orders.write(Order::Turn(Action::Step(step)));
            }
        }
    }
}

/// Whether the left stick leans that way. Its y axis points up.
fn leans(pad: &Gamepad, step: IVec2) -> bool {
    (pad.left_stick() * Vec2::new(1.0, -1.0)).dot(step.as_vec2()) > 0.7
}
