//! Opens the window and plays.

use std::path::PathBuf;

use bevy::prelude::*;
use clap::Parser;
use climb::{
    hud::HudPlugin,
    input::{Autopilot, InputPlugin},
    marks::MarksPlugin,
    minimap::MinimapPlugin,
    picture::{PicturePlugin, Scene},
    play::{Order, PlayPlugin},
    view::ViewPlugin,
};
use floor_client::{CallOptions, ClientError, FloorSpec, limits, plugin::FloorClientPlugin};

/// Climb a tower, floor by floor.
#[derive(Parser, Debug)]
struct Args {
    /// The floor server.
    #[arg(long, default_value = "http://127.0.0.1:50051", value_name = "URL")]
    server: String,
    /// Generates the floors in the game instead.
    #[arg(long, conflicts_with = "server")]
    offline: bool,
    /// The tower.
    #[arg(long, default_value_t = 42)]
    seed: u64,
    /// The floor to start on.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=i64::from(limits::MAX_FLOOR)))]
    floor: u32,
    /// Starts at once and plays by itself.
    #[arg(long)]
    demo: bool,
    /// Writes a picture of a scene as a PNG file, and quits.
    #[arg(long, value_name = "FILE")]
    screenshot: Option<PathBuf>,
    /// The scene of the picture.
    #[arg(long, value_enum, default_value_t = Scene::Fight, requires = "screenshot")]
    scene: Scene,
}

fn main() -> Result<(), ClientError> {
    let args = Args::parse();
    let floors = if args.offline { FloorClientPlugin::offline() } else { FloorClientPlugin::new(&args.server)? };
    let window = Window { title: "Climb".to_owned(), resolution: (1024, 704).into(), ..default() };
    let window = WindowPlugin { primary_window: Some(window), ..default() };
    let mut app = App::new();
    app.add_plugins(DefaultPlugins.set(window).set(ImagePlugin::default_nearest()))
        // The trace says how long the server took.
        .add_plugins(floors.with_options(CallOptions::default().retries(3).trace(true)))
        .add_plugins(PlayPlugin { first: FloorSpec::new(args.seed, args.floor).with_size(64, 48) })
        .add_plugins((InputPlugin, ViewPlugin, MarksPlugin, HudPlugin, MinimapPlugin));
    if args.demo {
        app.init_resource::<Autopilot>();
        app.world_mut().write_message(Order::Confirm);
    }
    if let Some(file) = args.screenshot {
        app.add_plugins(PicturePlugin { scene: args.scene, file });
    }
    app.run();
    Ok(())
}
