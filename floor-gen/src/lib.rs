//! Procedural tower floors as a pure function: a [`FloorSpec`] in, a [`Floor`] out.
//!
//! Floor `number` of tower `seed` depends on its resolved spec and on [`GENERATOR_VERSION`] alone: integer arithmetic
//! only, no clock, no hash-map order, so the same floor comes out on every platform. Every spec in range gives a floor,
//! and every floor can be finished: [`validate`] proves it, and shares no code with what builds floors.
//!
//! ```
//! use floor_gen::{FloorSpec, Generator, Kind, validate::validate};
//!
//! // Keeps its scratch from floor to floor: make one a thread.
//! let mut generator = Generator::new();
//!
//! // The tower's schedule decides what floor 7 is like; it has the default size.
//! let floor = generator.generate(&FloorSpec::resolve(42, 7, 0, 0, None)?);
//! assert_eq!(floor.terrain.len(), 100 * 100);
//! assert_eq!(validate(&floor), Ok(()));
//!
//! // Or ask for a kind and a size.
//! let cave = generator.generate(&FloorSpec::resolve(42, 7, 64, 48, Some(Kind::Cavern))?);
//! assert_eq!(cave, floor_gen::generate(&cave.spec));
//! # Ok::<(), floor_gen::SpecError>(())
//! ```
//!
//! docs/generator.md shows what each kind looks like and tells how it is made. The crate needs `alloc`, not `std`, and
//! has no dependencies.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod arena;
mod curve;
mod distance_map;
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

pub use floor::{Connection, Floor, Item, Lock, Metrics, Point, Room, RoomRole, Spawn, Terrain, Trap};
pub use generator::{Generator, generate};
pub use spec::{FloorSpec, Kind, SpecError};
pub use theme::Theme;

/// Rises by one with every release that alters any floor's bytes; part of every storage key. docs/generator.md has the rule
/// and what each version changed.
pub const GENERATOR_VERSION: u32 = 3;
