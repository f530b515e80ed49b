//! Plays without a window: a bot presses the keys, on floors of the generator in the game and of a real server.

use std::{
    env, fs,
    io::copy,
    net::{Shutdown, TcpListener, TcpStream},
    path::PathBuf,
    sync::{Arc, Mutex},
    thread,
    time::{Duration, Instant},
};

use base64::{Engine as _, prelude::BASE64_STANDARD};
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
    bot as headless,
    input::InputPlugin,
    play::{Current, GameState, Journey, Order, PlayPlugin},
    sealed::{SealedClimb, SealedPlugin},
};
use climb_rules::{Act, bot};
use floor_client::{
    FloorClient, FloorSpec,
    plugin::{FloorClientPlugin, FloorFailed},
    v1::Receipt,
};
use floor_climb::VerifyingKey;

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

/// A way to a server that can be cut.
#[derive(Clone)]
struct Wire {
    address: String,
    /// The ends of its connections. None while it is cut.
    ends: Arc<Mutex<Option<Vec<TcpStream>>>>,
}

impl Wire {
    fn to(server: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (wire, server) = (Self { address, ends: Arc::default() }, server.trim_start_matches("http://").to_owned());
        let ends = wire.ends.clone();
        thread::spawn(move || {
            for near in listener.incoming().map(Result::unwrap) {
                let Some(ends) = &mut *ends.lock().unwrap() else { continue };
                let far = TcpStream::connect(&server).unwrap();
                for (from, to) in [(&near, &far), (&far, &near)] {
                    let (mut from, mut to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
                    ends.push(from.try_clone().unwrap());
                    thread::spawn(move || copy(&mut from, &mut to));
                }
            }
        });
        wire.mend();
        wire
    }

    fn cut(&self) {
        let ends = self.ends.lock().unwrap().take().unwrap_or_default();
        ends.iter().for_each(|end| _ = end.shutdown(Shutdown::Both));
    }

    fn mend(&self) {
        *self.ends.lock().unwrap() = Some(Vec::new());
    }
}

/// A game in a sealed tower in which its bot climbs at least two floors, and a folder for the receipts.
fn sealed(server: &str, receipts: &str) -> (App, PathBuf) {
    let receipts = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(receipts);
    let _ = fs::remove_dir_all(&receipts);
    fs::create_dir_all(&receipts).unwrap();
    // What is in a tower follows from the server's key, and in some the bot dies on the first floor or the second.
    for tower in ["a", "b", "c", "d", "e", "f", "g", "h"] {
        let tower = Some(tower.to_owned());
        let tower = SealedPlugin::new(server.to_owned(), tower, "Ada".to_owned(), receipts.clone()).unwrap();
        let mut app = headless::game(tower.clone(), u32::MAX);
        let has_ended = |world: &World| matches!(state(world), GameState::Dead | GameState::Refused);
        run_until(&mut app, |world| has_ended(world) || verified(2)(world));
        assert_ne!(state(app.world()), GameState::Refused, "{}", words(app.world()));
        if state(app.world()) != GameState::Dead {
            return (headless::game(tower, u32::MAX), receipts);
        }
    }
    panic!("the bot dies in every tower");
}

fn words(world: &World) -> &str {
    &world.resource::<SealedClimb>().words
}

fn verified(floors: u32) -> impl Fn(&World) -> bool {
    move |world| world.resource::<SealedClimb>().verified == floors
}

#[test]
fn a_verified_climb_survives_a_cut_wire_and_leaves_receipts() {
    let Ok(url) = env::var("FLOOR_SERVER") else {
        println!("skipped: FLOOR_SERVER does not name a server");
        return;
    };
    let wire = Wire::to(&url);
    let (mut app, receipts) = sealed(&wire.address, "receipts");
    run_until(&mut app, verified(1));
    wire.cut();
    run_until(&mut app, |world| words(world).ends_with("the game tries again."));
    assert_eq!(state(app.world()), GameState::Loading, "{}", words(app.world()));
    wire.mend();
    run_until(&mut app, |world| verified(2)(world) && state(world) == GameState::Climbing);

    let key = public_key(&url);
    let prefix = format!("climb-{}-", app.world().resource::<SealedClimb>().tower);
    for floor in 1..=3 {
        let mut saved = fs::read_dir(&receipts).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let name = saved.find(|name| name.ends_with(&format!("-{floor}.json"))).unwrap();
        let climb = floor_climb::verify(&read(&receipts.join(&name)), &key).unwrap();
        assert_eq!(name, format!("{prefix}{}-{floor}.json", climb.started_ms));
        assert_eq!((climb.floor, climb.player.as_str()), (floor, "Ada"));
        let hero = floor_climb::hero(&climb.hero.unwrap());
        assert_eq!(floor == 3, hero == app.world().resource::<Journey>().hero, "{hero:?}");
    }
}

#[test]
fn the_tower_of_the_day_is_named_after_it() {
    let Ok(url) = env::var("FLOOR_SERVER") else {
        println!("skipped: FLOOR_SERVER does not name a server");
        return;
    };
    let daily = SealedPlugin::new(url, None, String::new(), env!("CARGO_TARGET_TMPDIR").into()).unwrap();
    let mut app = headless::game(daily, 1);
    run_until(&mut app, |world| state(world) == GameState::Climbing);
    let (climb, level) = (app.world().resource::<SealedClimb>(), app.world().resource::<Current>());
    assert!(climb.tower.starts_with("20"), "{}", climb.tower);
    assert_eq!((level.floor.spec().seed, level.floor.width()), (0, 100));
}

/// A receipt from its file.
fn read(path: &std::path::Path) -> Receipt {
    let json: serde_json::Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    let [climb, signature] =
        ["climb", "signature"].map(|key| BASE64_STANDARD.decode(json[key].as_str().unwrap()).unwrap());
    Receipt { climb, signature, key: json["key"].as_u64().unwrap() as u32 }
}

/// That of the server's receipts.
fn public_key(url: &str) -> VerifyingKey {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let info = runtime.block_on(async { FloorClient::connect(url).await.unwrap().server_info().await.unwrap() });
    VerifyingKey::from_bytes(info.receipt_keys[0].public_key.as_slice().try_into().unwrap()).unwrap()
}

#[test]
fn a_verified_climb_that_the_server_refuses_ends_and_another_begins() {
    let Ok(url) = env::var("FLOOR_SERVER") else {
        println!("skipped: FLOOR_SERVER does not name a server");
        return;
    };
    let (mut app, _) = sealed(&url, "refused");
    // An act after the last one.
    let cheat = |level: Option<ResMut<Current>>| {
        if let Some(mut level) = level.filter(|level| level.is_left()) {
            level.log.push(Act::Search.to_byte());
        }
    };
    app.add_systems(PreUpdate, cheat);
    run_until(&mut app, |world| state(world) == GameState::Refused);
    let why = words(app.world());
    assert!(why.starts_with("The server does not go on with this climb: INVALID_ARGUMENT: "), "{why}");
    app.world_mut().write_message(Order::Confirm);
    run_until(&mut app, |world| state(world) == GameState::Climbing);
    assert_eq!(app.world().resource::<Current>().hero().turns, 0);
}
