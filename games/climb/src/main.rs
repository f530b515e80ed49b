//! Opens the window and plays.

use clap::Parser;
use floor_client::{ClientError, limits, plugin::FloorClientPlugin};

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
}

fn main() -> Result<(), ClientError> {
    let args = Args::parse();
    let floors = if args.offline { FloorClientPlugin::offline() } else { FloorClientPlugin::new(&args.server)? };
    climb::game(floors, args.seed, args.floor).run();
    Ok(())
}
