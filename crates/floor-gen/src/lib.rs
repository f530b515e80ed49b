//! Procedural tower floors as a pure function: a [`FloorSpec`] in, a [`Floor`] out.
//!
//! Floor `number` of tower `seed` depends only on its resolved spec and on [`GENERATOR_VERSION`]. The generator uses
//! integer arithmetic and reads no clock and no hash-map order, so the floor is the same on every platform. Every spec
//! in range gives a floor that a player can finish: [`validate`] checks it and shares no code with the generator.
//!
//! ```
//! use floor_gen::{FloorSpec, Generator, Kind, validate::validate};
//!
//! // A generator reuses its memory from floor to floor: make one for each thread.
//! let mut generator = Generator::new();
//!
//! // The tower's schedule decides the kind of floor 7; the size is the default.
//! let floor = generator.generate(&FloorSpec::resolve(42, 7, 0, 0, None)?);
//! assert_eq!(floor.terrain.len(), 100 * 100);
//! assert_eq!(validate(&floor), Ok(()));
//!
//! // A caller can also ask for a kind and a size.
//! let cave = generator.generate(&FloorSpec::resolve(42, 7, 64, 48, Some(Kind::Cavern))?);
//! assert_eq!(cave, floor_gen::generate(&cave.spec));
//! # Ok::<(), floor_gen::SpecError>(())
//! ```
//!
//! docs/generator.md shows each kind and explains how it is made. The crate needs `alloc` but not `std`.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod arena;
mod cave;
mod curve;
mod distance_map;
mod draft;
pub mod explain;
pub mod floor;
mod form;
mod generator;
mod graph;
mod joint;
mod kinds;
mod mask;
mod observer;
pub mod pack;
mod plan;
pub mod rng;
mod role;
mod runs;
mod shape;
pub mod spec;
mod stages;
mod terrain;
pub mod validate;

pub use floor::{
    Behaviour, Connection, Floor, Furniture, Item, Lock, Metrics, Names, Point, Room, RoomRole, Spawn, Terrain, Text,
    Trap,
};
pub use generator::{Generator, generate};
pub use pack::{Pack, Theme};
pub use spec::{FloorSpec, Kind, PackHash, SpecError, View};

/// Part of every storage key. It rises by one with every release that changes a byte of any floor; CHANGELOG.md
/// says what each version changed.
pub const GENERATOR_VERSION: u32 = 5;
