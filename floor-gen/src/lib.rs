//! Procedural tower floors as a pure function: a [`FloorSpec`] in, a [`Floor`] out.
//!
//! Floor `number` of tower `seed` depends on its resolved spec and on [`GENERATOR_VERSION`] alone: integer arithmetic
//! only, no clock, no hash-map order, so the same floor comes out on every platform.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod arena;
mod curve;
pub mod explain;
pub mod floor;
mod generator;
mod graph;
mod kinds;
mod mask;
pub mod rng;
mod schedule;
mod shape;
pub mod spec;
mod stages;
mod theme;
pub mod validate;
pub mod vaults;
mod walk;

pub use floor::{Connection, Floor, Item, Lock, Metrics, Point, Room, RoomRole, Spawn, Terrain, Trap};
pub use generator::{Generator, generate};
pub use spec::{FloorSpec, Kind, SpecError};
pub use theme::Theme;

/// Rises with every change that alters any floor's bytes; part of every storage key.
pub const GENERATOR_VERSION: u32 = 1;
