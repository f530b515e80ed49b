//! Takes a picture of a scene of the game, for the manual and for CI: `cargo run --example picture -- fight FILE`.

use std::path::PathBuf;

use bevy::{
    prelude::*,
    render::view::screenshot::{Screenshot, ScreenshotCaptured, save_to_disk},
};
use clap::{Parser, ValueEnum};
use climb::play::{Current, GameState, Journey, Order};
use climb_rules::{Level, bot};
use floor_client::plugin::FloorClientPlugin;

/// Frames for which the game stands still before the picture, so that everything has come to rest.
const STILL: u32 = 20;

/// Waits for a scene of the game that plays itself, writes a PNG file, and quits.
#[derive(Parser)]
struct Args {
    scene: Scene,
    file: PathBuf,
    /// The tower.
    #[arg(long, default_value_t = 42)]
    seed: u64,
    /// The floor to start on.
    #[arg(long, default_value_t = 1)]
    floor: u32,
}

/// What a picture shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Scene {
    Title,
    /// Two monsters or more are after the player, and one is beside.
    Fight,
    Shop,
    Death,
    Victory,
}

fn main() {
    let Args { scene, file, seed, floor } = Args::parse();
    let mut app = climb::game(FloorClientPlugin::offline(), seed, floor);
    if scene == Scene::Victory {
        // Who starts near the top has had no time to become strong.
        app.world_mut().resource_mut::<Journey>().hero.attack = 40;
    }
    if scene != Scene::Title {
        app.world_mut().write_message(Order::Confirm);
    }
    let take = move |mut frames: Local<u32>,
                     state: Res<State<GameState>>,
                     level: Option<Res<Current>>,
                     mut orders: MessageWriter<Order>,
                     mut commands: Commands| {
        if *frames > 0 || level.as_ref().is_some_and(|level| scene.is_on(*state.get(), level)) {
            *frames += 1;
        } else if let Some(level) = level {
            orders.write(Order::Turn(bot::choose(&level)));
        }
        if *frames == STILL {
            commands.spawn(Screenshot::primary_window()).observe(save_to_disk(file.clone())).observe(quit);
        }
    };
    app.add_systems(PostUpdate, take).run();
}

fn quit(_: On<ScreenshotCaptured>, mut exit: MessageWriter<AppExit>) {
    exit.write(AppExit::Success);
}

impl Scene {
    fn is_on(self, state: GameState, level: &Level) -> bool {
        let near = level.monsters().iter().filter(|one| one.is_hunting() && level.visible().contains(one.at));
        match self {
            Self::Title => state == GameState::Title && level.hero().turns > 20,
            Self::Death => state == GameState::Dead,
            Self::Victory => state == GameState::Won,
            Self::Shop => state == GameState::Climbing && level.merchant().is_some(),
            Self::Fight => {
                let is_beside = near.clone().any(|one| one.at.distance(level.at()) == 1);
                state == GameState::Climbing && is_beside && near.count() > 1
            }
        }
    }
}
