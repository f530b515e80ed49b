//! Takes a picture of a scene of the game, for the manual and for CI.

use std::path::PathBuf;

use bevy::{
    prelude::*,
    render::view::screenshot::{Screenshot, ScreenshotCaptured, save_to_disk},
};
use clap::ValueEnum;
use climb_rules::{Level, Mood, Sight};

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
    Walk,
    Fight,
    /// The player stands before a locked door.
    Door,
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
        app.add_systems(
            Update,
            move |mut frames: Local<u32>,
                  state: Res<State<GameState>>,
                  level: Option<Res<Current>>,
                  mut commands: Commands| {
                if *frames == 0 && !level.is_some_and(|level| scene.is_on(*state.get(), &level)) {
                    return;
                }
                *frames += 1;
                commands.remove_resource::<Autopilot>();
                if *frames == STILL {
                    commands.spawn(Screenshot::primary_window()).observe(save_to_disk(file.clone())).observe(quit);
                }
            },
        );
    }
}

fn quit(_: On<ScreenshotCaptured>, mut exit: MessageWriter<AppExit>) {
    exit.write(AppExit::Success);
}

impl Scene {
    fn is_on(self, state: GameState, level: &Level) -> bool {
        match self {
            Self::Title => state == GameState::Title && level.hero.turns > 20,
            Self::Death => state == GameState::Dead,
            Self::Victory => state == GameState::Won,
            _ if state != GameState::Climbing => false,
            Self::Walk => level.hero.turns > 60 && !is_hunted(level),
            Self::Fight => is_hunted(level) && level.monsters.iter().any(|monster| is_beside(level, monster.at)),
            Self::Door => level.locks.keys().any(|at| is_beside(level, *at) && level.is_closed_door(*at)),
            Self::Shop => level.merchant().is_some(),
        }
    }
}

fn is_hunted(level: &Level) -> bool {
    let hunters =
        level.monsters.iter().filter(|monster| monster.is_alive() && matches!(monster.mood, Mood::Hunting(_)));
    hunters.filter(|monster| level.sight(monster.at) == Sight::Visible).count() > 1
}

fn is_beside(level: &Level, at: UVec2) -> bool {
    at.manhattan_distance(level.player) == 1
}
