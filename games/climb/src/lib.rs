#![doc = include_str!("../README.md")]

pub mod art;
pub mod beings;
pub mod bot;
pub mod hud;
pub mod input;
pub mod minimap;
pub mod play;
pub mod sealed;
pub mod things;
pub mod view;

use bevy::prelude::*;
use floor_client::{CallOptions, FloorSpec, plugin::FloorClientPlugin};

/// The game in a window, which climbs a tower from one of its floors.
pub fn game(floors: FloorClientPlugin, seed: u64, floor: u32) -> App {
    let window = Window { title: "Climb".to_owned(), resolution: (1024, 704).into(), ..default() };
    let window = WindowPlugin { primary_window: Some(window), ..default() };
    let mut app = App::new();
    app.add_plugins(DefaultPlugins.set(window).set(ImagePlugin::default_nearest()))
        // The trace says how long the server took.
        .add_plugins(floors.with_options(CallOptions::default().retries(3).trace(true)))
        .add_plugins(play::PlayPlugin { first: FloorSpec::new(seed, floor).with_size(64, 48) })
        .add_plugins((input::InputPlugin, view::ViewPlugin, things::ThingsPlugin, beings::BeingsPlugin))
        .add_plugins((hud::HudPlugin, minimap::MinimapPlugin));
    app
}
