//! Between the rules of a floor (`floor-rules`) and the game: floors of the client, what the player reads, and a player
//! that plays by itself. It knows no Bevy, so its tests run within seconds.

pub mod bot;
mod level;
mod news;
mod ways;

pub use floor_rules::{Act, Class, Direction, Door, Hero, Mood, Point, SIGHT, VERSION, Ware};
pub use level::{Level, cells};
pub use news::News;
