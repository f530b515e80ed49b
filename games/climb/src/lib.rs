//! A small game on the floor server: climb a tower, floor by floor.
//!
//! [`play::PlayPlugin`] is the game. It draws nothing and reads no keyboard, so a test can run it. [`view::ViewPlugin`]
//! draws it, [`hud::HudPlugin`] writes the words, and [`input`] turns keys into actions.

pub mod art;
pub mod fov;
pub mod hud;
pub mod input;
pub mod level;
pub mod play;
pub mod view;
