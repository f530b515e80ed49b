//! Takes a picture of a scene of the game, for the manual and for CI.

use std::path::PathBuf;

use bevy::{
    prelude::*,
    render::view::screenshot::{Screenshot, ScreenshotCaptured, save_to_disk},
};
use clap::ValueEnum;
use climb_rules::Level;

use crate::{
    input::Autopilot,
    play::{Current, GameState},
};

/// Frames for which the game stands still before the picture, so that everything has come to rest.
const STILL: u32 = 20;

/// What a picture shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Scene {
    Title,
    /// Two monsters or more are after the player, and one is beside.
    Fight,
    Shop,
    Death,
    Victory,
}

/// Waits for the scene, writes a PNG file, and quits.
pub struct PicturePlugin {
    pub scene: Scene,
    pub file: PathBuf,
}

impl Plugin for PicturePlugin {
    fn build(&self, app: &mut App) {
        let (scene, file) = (self.scene, self.file.clone());
        let take = move |mut frames: Local<u32>,
                         state: Res<State<GameState>>,
                         level: Option<Res<Current>>,
                         mut commands: Commands| {
            if *frames > 0 || level.is_some_and(|level| scene.is_on(*state.get(), &level)) {
                *frames += 1;
                commands.remove_resource::<Autopilot>();
            }
            if *frames == STILL {
                commands.spawn(Screenshot::primary_window()).observe(save_to_disk(file.clone())).observe(quit);
            }
        };
        app.add_systems(PostUpdate, take);
    }
}

fn quit(_: On<ScreenshotCaptured>, mut exit: MessageWriter<AppExit>) {
    exit.write(AppExit::Success);
}

impl Scene {
    fn is_on(self, state: GameState, level: &Level) -> bool {
        let near = level.monsters.iter().filter(|one| one.is_hunting() && level.visible.contains(&one.at));
        match self {
            Self::Title => state == GameState::Title && level.hero.turns > 20,
            Self::Death => state == GameState::Dead,
            Self::Victory => state == GameState::Won,
            Self::Shop => state == GameState::Climbing && level.merchant().is_some(),
            Self::Fight => {
                let is_beside = near.clone().any(|one| one.at.manhattan_distance(level.player) == 1);
                state == GameState::Climbing && is_beside && near.count() > 1
            }
        }
    }
}
