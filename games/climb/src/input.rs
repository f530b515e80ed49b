//! Keys, gamepads and the bot to orders.

use GamepadButton::{DPadDown, DPadLeft, DPadRight, DPadUp, East, North, RightTrigger, South, Start, West};
use KeyCode::{
    ArrowDown, ArrowLeft, ArrowRight, ArrowUp, Digit1, Digit2, Digit3, Enter, KeyA, KeyD, KeyQ, KeyS, KeyW, Space,
};
use bevy::{input::InputSystems, prelude::*};
use climb_rules::{Action, Ware, bot};

use crate::play::{Current, GameState, Order};

/// Time from one step to the next while a key or the stick is held, in seconds.
const REPEAT: f32 = 0.13;
/// Frames from one action of the demo's bot to the next.
const PACE: u32 = 6;
/// The bot waits this many times longer before it confirms, so that one can read the screen.
const READING: u32 = 30;

/// The keys and the button of each order.
const CONTROLS: [(Order, [KeyCode; 2], GamepadButton); 10] = [
    (Order::Turn(Action::Step(IVec2::NEG_Y)), [ArrowUp, KeyW], DPadUp),
    (Order::Turn(Action::Step(IVec2::Y)), [ArrowDown, KeyS], DPadDown),
    (Order::Turn(Action::Step(IVec2::NEG_X)), [ArrowLeft, KeyA], DPadLeft),
    (Order::Turn(Action::Step(IVec2::X)), [ArrowRight, KeyD], DPadRight),
    (Order::Confirm, [Enter, Enter], Start),
    (Order::Turn(Action::Search), [Space, Space], South),
    (Order::Turn(Action::Drink), [KeyQ, KeyQ], East),
    (Order::Turn(Action::Buy(Ware::Potion)), [Digit1, Digit1], West),
    (Order::Turn(Action::Buy(Ware::Blade)), [Digit2, Digit2], North),
    (Order::Turn(Action::Buy(Ware::Mail)), [Digit3, Digit3], RightTrigger),
];

/// The bot gives the orders: one in so many frames.
#[derive(Resource, Debug)]
pub struct Autopilot(pub u32);

impl Default for Autopilot {
    fn default() -> Self {
        Self(PACE)
    }
}

/// Reads keys and gamepads.
pub struct InputPlugin;

impl Plugin for InputPlugin {
    fn build(&self, app: &mut App) {
        let pilot = resource_exists::<Autopilot>;
        let systems = (read.run_if(not(pilot)), steer.run_if(pilot), quit);
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
        let repeats = matches!(order, Order::Turn(Action::Step(step)) if *since >= REPEAT && again(step));
        if is_pressed || repeats {
            *since = 0.0;
            orders.write(order);
        }
    }
}

/// Whether the left stick leans that way. Its y axis points up.
fn leans(pad: &Gamepad, step: IVec2) -> bool {
    (pad.left_stick() * Vec2::new(1.0, -1.0)).dot(step.as_vec2()) > 0.7
}

fn steer(
    pilot: Res<Autopilot>,
    mut frame: Local<u32>,
    mut orders: MessageWriter<Order>,
    state: Res<State<GameState>>,
    level: Option<Res<Current>>,
) {
    *frame += 1;
    let is_climbing = *state == GameState::Climbing;
    let pause = if is_climbing { pilot.0 } else { READING * pilot.0 };
    if *state != GameState::Loading && frame.is_multiple_of(pause) {
        let turn = level.filter(|_| is_climbing).map(|level| Order::Turn(bot::choose(&level)));
        orders.write(turn.unwrap_or(Order::Confirm));
    }
}

fn quit(keys: Res<ButtonInput<KeyCode>>, mut exit: MessageWriter<AppExit>) {
    if keys.just_pressed(KeyCode::Escape) {
        exit.write(AppExit::Success);
    }
}
