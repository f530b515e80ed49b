//! Opens the window and plays.

use std::path::PathBuf;

use bevy::{
    prelude::*,
    render::view::screenshot::{Screenshot, ScreenshotCaptured, save_to_disk},
};
use clap::Parser;
use climb::{
    hud::HudPlugin,
    input::read_keys,
    play::{Action, Autopilot, PlayPlugin},
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
    /// Starts at once and walks to each exit by itself.
    #[arg(long)]
    demo: bool,
    /// Writes a picture of the window as a PNG file, and quits.
    #[arg(long, value_name = "FILE")]
    screenshot: Option<PathBuf>,
    /// The frame of the picture.
    #[arg(long, default_value_t = 120, requires = "screenshot")]
    frames: u32,
}

/// Frames from one step of the demo to the next.
const DEMO_PACE: u32 = 5;

fn main() -> Result<(), ClientError> {
    let args = Args::parse();
    let floors = if args.offline { FloorClientPlugin::offline() } else { FloorClientPlugin::new(&args.server)? };
    let window = Window { title: "Climb".to_owned(), resolution: (1024, 704).into(), ..default() };
    let mut app = App::new();
    app.add_plugins((
        DefaultPlugins
            .set(WindowPlugin { primary_window: Some(window), ..default() })
            .set(ImagePlugin::default_nearest()),
        // The trace says how long the server took.
        floors.with_options(CallOptions::default().retries(3).trace(true)),
        PlayPlugin { first: FloorSpec { seed: args.seed, number: args.floor, ..FloorSpec::default() } },
        ViewPlugin,
        HudPlugin,
    ));
    app.add_systems(PreUpdate, read_keys.after(bevy::input::InputSystems));
    if args.demo {
        app.insert_resource(Autopilot { every: DEMO_PACE, ..default() });
        app.world_mut().write_message(Action::Confirm);
    }
    if let Some(file) = args.screenshot {
        app.add_systems(Update, move |mut frame: Local<u32>, mut commands: Commands| {
            *frame += 1;
            if *frame == args.frames {
                let quit =
                    |_: On<ScreenshotCaptured>, mut exit: MessageWriter<AppExit>| _ = exit.write(AppExit::Success);
                commands.spawn(Screenshot::primary_window()).observe(save_to_disk(file.clone())).observe(quit);
            }
        });
    }
    app.run();
    Ok(())
}
