//! The rules of climb: what the player and the monsters of a floor can do. They know no Bevy, so their tests run within
//! seconds. README.md of the game says in which order to read the files.

pub mod bot;
pub mod fov;
mod hero;
mod level;
mod minds;
mod monster;
mod ways;

pub use hero::{Hero, Ware};
pub use level::{Action, Door, Level, News, SIGHT, cells};
pub use monster::{Class, Monster, Mood};
pub use ways::{STEPS, cell};
