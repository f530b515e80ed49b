//! Keys and gamepads to orders.

use GamepadButton::{DPadDown, DPadLeft, DPadRight, DPadUp, East, North, RightTrigger, South, Start, West};
use KeyCode::{
    ArrowDown, ArrowLeft, ArrowRight, ArrowUp, Digit1, Digit2, Digit3, Enter, KeyA, KeyD, KeyQ, KeyS, KeyW, Space,
};
use bevy::{
    input::{InputSystems, common_conditions::input_just_pressed},
    prelude::*,
};
use climb_rules::{Act, Direction, Ware};

use crate::play::Order;

/// Time from one step to the next while a key or the stick is held, in seconds.
const REPEAT: f32 = 0.13;

/// The keys and the button of each order.
const CONTROLS: [(Order, [KeyCode; 2], GamepadButton); 10] = [
    (Order::Turn(Act::Step(Direction::North)), [ArrowUp, KeyW], DPadUp),
    (Order::Turn(Act::Step(Direction::South)), [ArrowDown, KeyS], DPadDown),
    (Order::Turn(Act::Step(Direction::West)), [ArrowLeft, KeyA], DPadLeft),
    (Order::Turn(Act::Step(Direction::East)), [ArrowRight, KeyD], DPadRight),
    (Order::Confirm, [Enter, Enter], Start),
    (Order::Turn(Act::Search), [Space, Space], South),
    (Order::Turn(Act::Drink), [KeyQ, KeyQ], East),
    (Order::Turn(Act::Buy(Ware::Potion)), [Digit1, Digit1], West),
    (Order::Turn(Act::Buy(Ware::Blade)), [Digit2, Digit2], North),
    (Order::Turn(Act::Buy(Ware::Mail)), [Digit3, Digit3], RightTrigger),
];

/// Reads keys and gamepads.
pub struct InputPlugin;

impl Plugin for InputPlugin {
    fn build(&self, app: &mut App) {
        let quit = |mut exit: MessageWriter<AppExit>| _ = exit.write_default();
        let systems = (read, quit.run_if(input_just_pressed(KeyCode::Escape)));
        app.add_systems(PreUpdate, systems.after(InputSystems));
    }
}

fn read(
    keys: Res<ButtonInput<KeyCode>>,
    pads: Query<&Gamepad>,
    time: Res<Time>,
    mut since: Local<f32>,
    mut orders: MessageWriter<Order>,
) {
    *since += time.delta_secs();
    for (order, codes, button) in CONTROLS {
        let is_pressed = keys.any_just_pressed(codes) || pads.iter().any(|pad| pad.just_pressed(button));
        let is_held = || keys.any_pressed(codes) || pads.iter().any(|pad| pad.pressed(button));
        let again = |step| is_held() || pads.iter().any(|pad| leans(pad, step));
        let repeats = matches!(order, Order::Turn(Act::Step(step)) if *since >= REPEAT && again(step));
        if is_pressed || repeats {
            *since = 0.0;
            orders.write(order);
        }
    }
}

/// Whether the left stick leans that way. Its y axis points up, to the north.
fn leans(pad: &Gamepad, step: Direction) -> bool {
    let way = match step {
        Direction::North => Vec2::Y,
        Direction::West => Vec2::NEG_X,
        Direction::East => Vec2::X,
        Direction::South => Vec2::NEG_Y,
    };
    pad.left_stick().dot(way) > 0.7
}
