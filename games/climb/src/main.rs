//! Opens the window and plays.

use std::path::PathBuf;

use bevy::prelude::AppExit;
use clap::{ArgGroup, Parser};
use climb::{bot, sealed::SealedPlugin};
use floor_client::{ClientError, limits, plugin::FloorClientPlugin};

/// Climb a tower, floor by floor.
#[derive(Parser, Debug)]
#[command(group = ArgGroup::new("verified").args(["daily", "sealed"]))]
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
    /// Climbs the tower of the day, whose floors the server verifies.
    #[arg(long, conflicts_with_all = ["offline", "seed", "floor"])]
    daily: bool,
    /// Climbs another sealed tower. Every name is one: lowercase letters, digits, '-', '_' and '.'.
    #[arg(long, conflicts_with_all = ["offline", "seed", "floor"], value_name = "TOWER")]
    sealed: Option<String>,
    /// Who climbs, for the receipts: at most 64 bytes.
    #[arg(long, requires = "verified", default_value = "", value_name = "NAME")]
    player: String,
    /// The folder of the receipts.
    #[arg(long, requires = "verified", default_value = ".", value_name = "DIR")]
    receipts: PathBuf,
    /// Lets a bot climb so many floors, without a window.
    #[arg(long, requires = "verified", value_name = "FLOORS")]
    bot: Option<u32>,
}

fn main() -> Result<AppExit, ClientError> {
    let Args { server, offline, seed, floor, daily, sealed, player, receipts, bot } = Args::parse();
    let floors = if offline { FloorClientPlugin::offline() } else { FloorClientPlugin::new(&server)? };
    if !daily && sealed.is_none() {
        return Ok(climb::game(floors, seed, floor).run());
    }
    let tower = SealedPlugin::new(server, sealed, player, receipts)?;
    Ok(match bot {
        Some(floors) => bot::game(tower, floors).run(),
        None => climb::game(floors, 0, 1).add_plugins(tower).run(),
    })
}
