#![doc = include_str!("../README.md")]

pub mod art;
pub mod hud;
pub mod input;
pub mod marks;
pub mod minimap;
pub mod picture;
pub mod play;
pub mod view;
