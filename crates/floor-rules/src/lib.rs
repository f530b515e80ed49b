//! The rules of one floor in play: a floor, a hero and acts in, the hero and events out, the same on every machine. So
//! a server plays a climb again from the bytes of its acts ([`replay`]) and sees whether it is true.
//!
//! A [`Level`] is a floor in play. [`Level::act`] plays a turn and says what came of it as [`Event`]s, or refuses the
//! act and changes nothing. A game makes pictures and sentences of that.
//!
//! ```
//! use floor_rules::{Act, Direction, Floor, Hero, Level, Point, Refusal, replay};
//!
//! // The numbers of `floors.v1.Terrain`: 1 is a wall, 2 floor, 6 and 7 are the stairs.
//! let floor = Floor {
//!     width: 5,
//!     height: 3,
//!     terrain: vec![1, 1, 1, 1, 1, 1, 6, 2, 7, 1, 1, 1, 1, 1, 1],
//!     region: vec![0; 15],
//!     entry: Point::new(1, 1),
//!     exit: Point::new(3, 1),
//!     ..Floor::default()
//! };
//! let seed = 42;
//! let mut level = Level::new(&floor, Hero::default(), seed)?;
//! assert_eq!(level.act(Act::Step(Direction::North)), Err(Refusal::Blocked));
//! let log = [Act::Search, Act::Step(Direction::East), Act::Step(Direction::East)].map(Act::to_byte);
//! let level = replay(&floor, &Hero::default(), seed, &log)?;
//! assert_eq!(level.next_hero().map(|hero| hero.turns), Some(3));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! **A floor is plain data.** [`Floor`] holds what the rules need of a floor, in the numbers and names of `floors.v1`.
//! So the crate names neither the generator nor the wire: who has a `floor_gen::Floor` or a decoded message copies it
//! into this struct, field by field, and a client in WebAssembly brings no protobuf along.
//!
//! **Exact.** Integers only, and none of the machine's width is drawn from or hashed. Sums that a foreign floor or hero
//! could overflow stay at the greatest number.
//!
//! **Rolls** are a pseudorandom function of a seed of 128 bits, which the server gives with the floor and may keep, and
//! of the number of rolls so far. Who has seen any number of rolls foresees no other.
//!
//! A turn takes some microseconds and allocates nothing. The crate needs `alloc` but not `std`.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod act;
mod bit_grid;
mod deeds;
mod event;
mod floor;
mod hero;
mod level;
mod minds;
mod monster;
mod point;
mod replay;
mod rolls;
mod sight;
mod things;
mod ways;

pub use act::{Act, Ware};
pub use bit_grid::BitGrid;
pub use event::{Event, Harm, MAX_ACTS, Refusal};
pub use floor::{Floor, FloorError, Item, Lock, Spawn, Trap};
pub use hero::Hero;
pub use level::{Door, Level};
pub use monster::{Behaviour, Class, Monster, Mood};
pub use point::{Direction, Point};
pub use replay::{ReplayError, replay};
pub use sight::SIGHT;

/// Rises when a rule changes: a log is replayed by the rules that it was played by.
pub const VERSION: u32 = 1;
