//! Plays without a window: a bot presses the keys, on floors of the generator in the game and of a real server.

use std::{
    env, thread,
    time::{Duration, Instant},
};

use bevy::{
    input::{
        ButtonState, InputPlugin as Devices,
        gamepad::{RawGamepadButtonChangedEvent, RawGamepadEvent},
        keyboard::{Key, KeyboardInput, NativeKey},
    },
    prelude::*,
    state::app::StatesPlugin,
};
use climb::{
    input::InputPlugin,
    play::{Current, GameState, Journey, Order, PlayPlugin},
};
use climb_rules::{Act, bot};
use floor_client::{
    FloorSpec,
    plugin::{FloorClientPlugin, FloorFailed},
};

/// The floors of the climb. The last is that of a boss.
const FLOORS: u32 = 10;
/// Limit of the test. A climb takes a few seconds.
const LIMIT: Duration = Duration::from_secs(120);

fn game(plugin: FloorClientPlugin) -> App {
    let mut app = App::new();
    let first = FloorSpec::new(42, 1).with_size(64, 48);
    app.add_plugins((MinimalPlugins, StatesPlugin, Devices, plugin, PlayPlugin { first }, InputPlugin));
    app
}

fn run_until(app: &mut App, mut done: impl FnMut(&World) -> bool) {
    let started = Instant::now();
    while !done(app.world()) {
        assert!(started.elapsed() < LIMIT, "stuck on the way to {:?}", app.world().resource::<Journey>().request);
        app.update();
        // Leaves the processor to the thread that fetches.
        if state(app.world()) != GameState::Climbing {
            thread::sleep(Duration::from_millis(1));
        }
    }
}

fn state(world: &World) -> GameState {
    *world.resource::<State<GameState>>().get()
}

fn climb(mut app: App) -> App {
    app.world_mut().write_message(Order::Confirm);
    app.add_systems(PreUpdate, steer.run_if(in_state(GameState::Climbing)));
    run_until(&mut app, |world| matches!(state(world), GameState::Won | GameState::Dead));
    let journey = app.world().resource::<Journey>();
    let foe = &app.world().resource::<Current>().foe_name();
    let deeds = format!("floor {}: {:?}, last hurt by {foe}", journey.request.0.number, journey.hero);
    assert_eq!(state(app.world()), GameState::Won, "{deeds}");
    assert_eq!(journey.request.0.number, FLOORS + 1, "{deeds}");
    assert!(journey.hero.slain > 5 * FLOORS && journey.hero.turns > 50 * FLOORS, "{deeds}");
    println!("{deeds}");
    app
}

fn steer(level: Res<Current>, mut orders: MessageWriter<Order>) {
    orders.write(Order::Turn(bot::choose(&level)));
}

#[test]
fn ten_floors_offline_end_in_victory() {
    let app = climb(game(FloorClientPlugin::offline()));
    assert!(app.world().resource::<Journey>().served.starts_with("generated in "));
}

#[test]
fn ten_floors_from_a_server_end_in_victory() {
    let Ok(url) = env::var("FLOOR_SERVER") else {
        println!("skipped: FLOOR_SERVER does not name a server");
        return;
    };
    let app = climb(game(FloorClientPlugin::new(&url).unwrap()));
    assert_ne!(app.world().resource::<Journey>().served, "");
}

#[test]
fn who_only_waits_beside_a_monster_dies_and_starts_again() {
    let mut app = game(FloorClientPlugin::offline());
    app.world_mut().write_message(Order::Confirm);
    run_until(&mut app, |world| state(world) == GameState::Climbing);
    // Plays on until a monster is beside.
    while state(app.world()) != GameState::Dead {
        let level = app.world().resource::<Current>();
        let is_met = level.at().neighbours().any(|at| level.monster_at(at).is_some());
        let act = if is_met { Act::Search } else { bot::choose(level) };
        assert!(level.acts() < 2_000 && !level.is_left());
        app.world_mut().write_message(Order::Turn(act));
        app.update();
    }
    assert_ne!(app.world().resource::<Current>().foe_name(), "");
    app.world_mut().write_message(Order::Confirm);
    run_until(&mut app, |world| state(world) == GameState::Climbing);
    let hero = app.world().resource::<Current>().hero();
    assert_eq!((hero.health, hero.turns), (hero.most_health, 0));
}

#[test]
fn keys_are_orders() {
    let mut app = game(FloorClientPlugin::offline());
    app.world_mut().write_message(Order::Confirm);
    run_until(&mut app, |world| state(world) == GameState::Climbing);
    let mut press = |key_code| {
        for state in [ButtonState::Pressed, ButtonState::Released] {
            let (logical_key, window) = (Key::Unidentified(NativeKey::Unidentified), Entity::PLACEHOLDER);
            app.world_mut().write_message(KeyboardInput {
                key_code,
                logical_key,
                state,
                text: None,
                repeat: false,
                window,
            });
        }
        first_news(&mut app)
    };
    assert_eq!(press(KeyCode::Space), "You wait and search.");
    assert_eq!(press(KeyCode::KeyQ), "You drink a potion.");
    assert_eq!(press(KeyCode::KeyQ), "You have no potion.");
    assert_eq!(press(KeyCode::Digit1), "There is no merchant here.");
}

#[test]
fn a_gamepad_gives_orders_too() {
    let mut app = game(FloorClientPlugin::offline());
    app.world_mut().write_message(Order::Confirm);
    run_until(&mut app, |world| state(world) == GameState::Climbing);
    let pad = app.world_mut().spawn(Gamepad::default()).id();
    let press = RawGamepadButtonChangedEvent::new(pad, GamepadButton::East, 1.0);
    app.world_mut().write_message(RawGamepadEvent::Button(press));
    assert_eq!(first_news(&mut app), "You drink a potion.");
}

/// The first thing that comes of a frame.
fn first_news(app: &mut App) -> String {
    app.update();
    app.world().resource::<Current>().news[0].words.clone()
}

#[test]
fn a_game_without_its_server_says_so_and_tries_again() {
    let mut app = game(FloorClientPlugin::new("127.0.0.1:1").unwrap());
    app.world_mut().write_message(Order::Confirm);
    for _ in 0..2 {
        run_until(&mut app, |world| trouble(world).is_none());
        run_until(&mut app, |world| trouble(world).is_some());
        let trouble = trouble(app.world()).unwrap();
        assert!(trouble.contains("cannot reach the floor server"), "{trouble}");
        assert_eq!(state(app.world()), GameState::Loading);
    }
}

fn trouble(world: &World) -> Option<String> {
    let mut failed = world.try_query::<&FloorFailed>()?;
    failed.iter(world).next().map(|failed| failed.error.to_string())
}
