#![doc = include_str!("../README.md")]

pub mod art;
pub mod fov;
pub mod hud;
pub mod input;
pub mod level;
pub mod play;
pub mod view;
