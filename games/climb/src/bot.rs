//! The game without a window, played by the bot of the rules: for tests, and to try a server.

use std::time::Duration;

use bevy::{app::ScheduleRunnerPlugin, prelude::*, state::app::StatesPlugin};
use climb_rules::bot;
use floor_client::FloorSpec;

use crate::{
    play::{Current, GameState, Order, PlayPlugin},
    sealed::{SealedClimb, SealedPlugin},
};

/// Time from one turn to the next, so that waiting for the server takes no processor.
const PACE: Duration = Duration::from_millis(1);

/// A bot in a sealed tower. The app prints how the climb stands. It ends when so many floors are verified, or with an
/// error when the bot has died or the server refuses.
pub fn game(tower: SealedPlugin, floors: u32) -> App {
    let mut app = App::new();
    let exit = move |climb: Res<SealedClimb>, state: Res<State<GameState>>, mut exit: MessageWriter<AppExit>| {
        if climb.verified >= floors {
            exit.write(AppExit::Success);
        } else if matches!(state.get(), GameState::Dead | GameState::Refused) {
            exit.write(AppExit::error());
        }
    };
    app.add_plugins(MinimalPlugins.set(ScheduleRunnerPlugin::run_loop(PACE)))
        .add_plugins((StatesPlugin, PlayPlugin { first: FloorSpec::new(0, 1) }, tower))
        .add_systems(OnEnter(GameState::Dead), |level: Res<Current>| println!("killed by: {}", level.foe_name()))
        .add_systems(PreUpdate, (say, give_orders, exit));
    app
}

fn say(climb: Res<SealedClimb>, mut said: Local<String>) {
    if *said != climb.words {
        println!("{}", climb.words);
        said.clone_from(&climb.words);
    }
}

fn give_orders(state: Res<State<GameState>>, level: Option<Res<Current>>, mut orders: MessageWriter<Order>) {
    match (state.get(), level) {
        (GameState::Climbing, Some(level)) => _ = orders.write(Order::Turn(bot::choose(&level))),
        (GameState::Title | GameState::Won, _) => _ = orders.write(Order::Confirm),
        _ => {}
    }
}
