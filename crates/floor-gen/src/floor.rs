//! The parts of a generated floor, as plain data. The numbers of the enums are those of `floors.v1`.

use alloc::string::String;
use alloc::vec::Vec;

pub use crate::role::RoomRole;
use crate::spec::FloorSpec;
pub use crate::terrain::Terrain;

/// A finished floor. Grids are row-major: the cell at `(x, y)` is index `y * width + x`. Its names are those of its pack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Floor<'p> {
    /// The spec it was made from.
    pub spec: FloorSpec,
    /// The name of its theme, which decides monsters, terrain and dangers. It follows from the number.
    pub theme: &'p str,
    /// `width * height` cells.
    pub terrain: Vec<Terrain>,
    /// `width * height` cells: room id + 1, 0 = no room.
    pub region: Vec<u8>,
    /// Stairs up, where a player arrives.
    pub entry: Point,
    /// Stairs to the next floor.
    pub exit: Point,
    /// Where a player arrives who fell through a chasm of the floor above and cannot stand on the cell under it:
    /// a passable cell that is reached without a key or a search.
    pub landing: Point,
    /// Room `i` has id `i`; at most 255.
    pub rooms: Vec<Room>,
    /// Connections between rooms.
    pub connections: Vec<Connection>,
    /// Monsters.
    pub spawns: Vec<Spawn<&'p str>>,
    /// Loot and keys.
    pub items: Vec<Item<&'p str>>,
    /// Lock `i` has id `i + 1`.
    pub locks: Vec<Lock>,
    /// Traps.
    pub traps: Vec<Trap<&'p str>>,
    /// What rooms are furnished with, by the name of the type, then by row and column.
    pub furniture: Vec<Furniture<&'p str>>,
    /// The id of the room that the floor is remembered by.
    pub landmark: Option<u8>,
    /// What the floor and its rooms are called.
    pub names: Names<'p>,
    /// Measured on the finished floor.
    pub metrics: Metrics,
}

/// A cell: `x` grows to the east, `y` to the south, both from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Point {
    /// Column.
    pub x: u16,
    /// Row.
    pub y: u16,
}

/// A room and the bounding box of its cells, without walls and doors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// Its index in [`Floor::rooms`].
    pub id: u8,
    /// Least x and least y of its cells.
    pub min: Point,
    /// Greatest x and greatest y of its cells, inclusive.
    pub max: Point,
    /// Its purpose.
    pub role: RoomRole,
    /// A passable cell of it.
    pub center: Point,
}

/// A connection between two rooms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Connection {
    /// Room id.
    pub from_room: u8,
    /// Room id.
    pub to_room: u8,
    /// The lock that closes it; 0: none.
    pub lock_id: u8,
    /// Whether only a search finds it.
    pub secret: bool,
}

/// A monster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spawn<A = &'static str> {
    /// Its cell.
    pub at: Point,
    /// The kind of monster, a name that the game interprets.
    pub archetype: A,
    /// Its strength.
    pub level: u16,
    /// What it does until it meets a player.
    pub behaviour: Behaviour,
    /// Monsters of one group stand together and act together; 0: it is alone.
    pub group: u8,
}

/// What a monster does until it meets a player. The numbers are those of `floors.v1.Behaviour`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Behaviour {
    /// Sleeps where it stands.
    Sleeps = 1,
    /// Stays by what it guards: a lock, a key, the stairs down, a treasure.
    Guards = 2,
    /// Walks along a corridor or a ring of rooms.
    Patrols = 3,
    /// Walks about in its room.
    Wanders = 4,
}

impl Behaviour {
    /// Every behaviour, in the order of its number.
    pub const ALL: [Self; 4] = [Self::Sleeps, Self::Guards, Self::Patrols, Self::Wanders];

    /// Its name in lower case.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sleeps => "sleeps",
            Self::Guards => "guards",
            Self::Patrols => "patrols",
            Self::Wanders => "wanders",
        }
    }

    /// The behaviour of that number, if there is one.
    #[must_use]
    pub fn from_number(number: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|behaviour| *behaviour as u32 == number)
    }

    /// The behaviour whose [`name`](Self::name) is exactly `name`, if there is one.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|behaviour| behaviour.name() == name)
    }
}

/// A thing that a player picks up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Item<A = &'static str> {
    /// Its cell.
    pub at: Point,
    /// The kind of item, a name that the game interprets.
    pub archetype: A,
    /// Its worth; 0 for a key.
    pub value: u32,
    /// The lock that it opens; 0: it is no key.
    pub opens_lock: u8,
}

/// A lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lock {
    /// Counted from 1.
    pub id: u8,
    /// The [`Terrain::LockedDoor`] that it closes.
    pub at: Point,
}

/// A trap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trap<A = &'static str> {
    /// Its cell.
    pub at: Point,
    /// The kind of trap, a name that the game interprets.
    pub archetype: A,
    /// Its strength.
    pub level: u16,
}

/// A piece of furniture on a cell of a room. One can walk over it unless its cell is a [`Terrain::Pillar`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Furniture<A = &'static str> {
    /// The type, a name that the game interprets.
    pub archetype: A,
    /// Its cell.
    pub at: Point,
}

/// What a floor and its rooms are called.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Names<'p> {
    /// The name of the floor. Without text: it has none.
    pub floor: Text<'p>,
    /// A sentence that makes one want to go there.
    pub hook: Text<'p>,
    /// Rooms that have a name, by their id.
    pub rooms: Vec<(u8, Text<'p>)>,
}

/// A text in the language of its pack, with the ids that a game needs to say it in another.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Text<'p> {
    /// The text.
    pub text: String,
    /// The sentence, an id of the pack.
    pub id: &'p str,
    /// The parts in the sentence's places, ids of the pack.
    pub parts: Vec<&'p str>,
}

/// Measurements of a finished floor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Metrics {
    /// Steps of the shortest walk from the entry, by the keys that the exit needs in lock order, to the exit.
    pub critical_path: u32,
    /// Cells whose terrain is [`Terrain::passable`].
    pub passable_cells: u32,
    /// Connections minus rooms plus connected components.
    pub loops: u32,
    /// Summed levels of the monsters that one meets on the critical path, in thousandths: those in the rooms that it enters,
    /// and those outside rooms within 8 steps of it.
    pub difficulty: u32,
}
