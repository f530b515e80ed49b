//! Plays ten floors without a window: from the entry by way of the keys to the exit, against the generator in the game
//! and against a real server.

use std::{
    env, thread,
    time::{Duration, Instant},
};

use bevy::{prelude::*, state::app::StatesPlugin};
use climb::{
    level::{Level, Outcome, Sight},
    play::{Action, Autopilot, GameState, Journey, PlayPlugin},
};
use floor_client::{FloorSpec, Terrain, plugin::FloorClientPlugin};

/// The floors of the climb. The tenth is that of a boss.
const FLOORS: u32 = 10;
/// Limit of the test. A climb takes a few seconds.
const LIMIT: Duration = Duration::from_secs(120);

fn game(plugin: FloorClientPlugin) -> App {
    let mut app = App::new();
    let first = FloorSpec { seed: 42, number: 1, ..FloorSpec::default() };
    app.add_plugins((MinimalPlugins, StatesPlugin, plugin, PlayPlugin { first }));
    app
}

fn run_until(app: &mut App, mut done: impl FnMut(&World) -> bool) {
    let started = Instant::now();
    while !done(app.world()) {
        let journey = app.world().resource::<Journey>();
        assert!(started.elapsed() < LIMIT, "stuck on floor {}: {}", journey.request.0.number, journey.trouble);
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
    app.insert_resource(Autopilot { every: 1, ..default() });
    app.world_mut().write_message(Action::Confirm);
    run_until(&mut app, |world| world.resource::<Journey>().request.0.number > FLOORS);
    let journey = app.world().resource::<Journey>();
    assert!(journey.steps > 50 * FLOORS, "{journey:?}");
    assert!(app.world().resource::<Level>().floor.spec().number == FLOORS);
    app
}

#[test]
fn ten_floors_offline() {
    let app = climb(game(FloorClientPlugin::offline()));
    assert!(app.world().resource::<Journey>().served.starts_with("generated in "));
}

#[test]
fn ten_floors_from_a_server() {
    let Ok(url) = env::var("FLOOR_SERVER") else {
        println!("skipped: FLOOR_SERVER does not name a server");
        return;
    };
    let app = climb(game(FloorClientPlugin::new(&url).unwrap()));
    assert_ne!(app.world().resource::<Journey>().served, "");
}

#[test]
fn a_game_without_its_server_says_so_and_tries_again() {
    let mut app = game(FloorClientPlugin::new("127.0.0.1:1").unwrap());
    for _ in 0..2 {
        app.world_mut().write_message(Action::Confirm);
        run_until(&mut app, |world| state(world) == GameState::Loading);
        run_until(&mut app, |world| state(world) == GameState::Failed);
        let trouble = &app.world().resource::<Journey>().trouble;
        assert!(trouble.contains("cannot reach the floor server"), "{trouble}");
    }
}

#[test]
fn a_search_finds_a_secret_door_that_looked_like_a_wall() {
    let mut app = game(FloorClientPlugin::offline());
    app.world_mut().write_message(Action::Confirm);
    // Some floor of the first few has a secret door.
    for number in 1.. {
        app.world_mut().resource_mut::<Journey>().request.0.number = number;
        app.world_mut().resource_mut::<NextState<GameState>>().set(GameState::Loading);
        run_until(&mut app, |world| {
            world.get_resource::<Level>().is_some_and(|level| level.floor.spec().number == number)
        });
        let mut level = app.world_mut().resource_mut::<Level>();
        let width = level.floor.width();
        let Some(index) = level.floor.terrain().iter().position(|terrain| *terrain == Terrain::SecretDoor) else {
            continue;
        };
        let door = UVec2::new(index as u32 % width, index as u32 / width);
        let beside = [IVec2::X, IVec2::Y, IVec2::NEG_X, IVec2::NEG_Y];
        let beside = beside.into_iter().filter_map(|by| level.neighbour(door, by));
        level.player = beside.into_iter().find(|at| level.floor.passable(at.x, at.y)).unwrap();
        let step = door.as_ivec2() - level.player.as_ivec2();
        assert_eq!((level.seen_terrain(door), level.step(step)), (Terrain::Wall, Outcome::Blocked));
        assert!(matches!(level.search(), Outcome::Searched { found: 1.. }));
        assert_eq!((level.step(step), level.step(step)), (Outcome::OpenedDoor, Outcome::Walked));
        assert_eq!((level.player, level.sight(door)), (door, Sight::Visible));
        return;
    }
}
