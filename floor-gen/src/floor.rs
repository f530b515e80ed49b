//! What a generated floor is made of. Plain data: the numbers of the enums are those of `floors.v1`.

use alloc::vec::Vec;

use crate::spec::FloorSpec;
use crate::theme::Theme;

/// A finished floor. Grids are row-major: the cell at `(x, y)` is index `y * width + x`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Floor {
    /// The spec it was made from.
    pub spec: FloorSpec,
    /// What its depth looks like. Follows from the spec's number, so it needs no place on the wire.
    pub theme: Theme,
    /// `width * height` cells.
    pub terrain: Vec<Terrain>,
    /// `width * height` cells: room id + 1, 0 = no room.
    pub region: Vec<u8>,
    /// Stairs up: where a climber arrives.
    pub entry: Point,
    /// Stairs to the next floor.
    pub exit: Point,
    /// Room `i` has id `i`; at most 255.
    pub rooms: Vec<Room>,
    /// Ways between rooms.
    pub connections: Vec<Connection>,
    /// Monsters.
    pub spawns: Vec<Spawn>,
    /// Loot and keys.
    pub items: Vec<Item>,
    /// Lock `i` has id `i + 1`.
    pub locks: Vec<Lock>,
    /// Traps.
    pub traps: Vec<Trap>,
    /// Computed from the finished floor.
    pub metrics: Metrics,
}

/// A cell: x right, y down, 0-based.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Point {
    /// Column.
    pub x: u16,
    /// Row.
    pub y: u16,
}

/// What a cell is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Terrain {
    /// Rock or masonry.
    Wall = 1,
    /// Bare floor.
    Floor = 2,
    /// An open way between rooms.
    Door = 3,
    /// Opens for a walker who holds its key.
    LockedDoor = 4,
    /// Found only by a walker who searches.
    SecretDoor = 5,
    /// The one entry.
    StairsUp = 6,
    /// The one exit.
    StairsDown = 7,
    /// Wet but passable.
    ShallowWater = 8,
    /// Impassable.
    DeepWater = 9,
    /// Impassable.
    Lava = 10,
    /// Impassable.
    Chasm = 11,
    /// Passable, over something that is not.
    Bridge = 12,
    /// Passable.
    Grass = 13,
    /// Passable.
    Rubble = 14,
    /// Impassable, but in a room.
    Pillar = 15,
}

impl Terrain {
    /// Every terrain, in the order of its number.
    pub const ALL: [Self; 15] = [
        Self::Wall,
        Self::Floor,
        Self::Door,
        Self::LockedDoor,
        Self::SecretDoor,
        Self::StairsUp,
        Self::StairsDown,
        Self::ShallowWater,
        Self::DeepWater,
        Self::Lava,
        Self::Chasm,
        Self::Bridge,
        Self::Grass,
        Self::Rubble,
        Self::Pillar,
    ];

    /// Whether a walker without keys who never searches may stand here.
    #[must_use]
    pub const fn passable(self) -> bool {
        matches!(
            self,
            Self::Floor
                | Self::Door
                | Self::StairsUp
                | Self::StairsDown
                | Self::ShallowWater
                | Self::Bridge
                | Self::Grass
                | Self::Rubble
        )
    }
}

/// A room and the box around its own cells, walls and doors not included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// Its index in [`Floor::rooms`].
    pub id: u8,
    /// Least x and least y of its cells.
    pub min: Point,
    /// Greatest x and greatest y of its cells, inclusive.
    pub max: Point,
    /// What it is for.
    pub role: RoomRole,
    /// A passable cell of it.
    pub center: Point,
}

/// What a room is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum RoomRole {
    /// Holds the stairs up.
    Entry = 1,
    /// Holds the stairs down.
    Exit = 2,
    /// Monsters.
    Combat = 3,
    /// Loot.
    Treasure = 4,
    /// Holds a key.
    Key = 5,
    /// A rest.
    Shrine = 6,
    /// A trader.
    Shop = 7,
    /// The arena of a boss.
    Boss = 8,
    /// Loot behind a lock.
    Vault = 9,
    /// Reached by searching alone.
    Secret = 10,
    /// A junction or corridor large enough to be a room.
    Passage = 11,
}

/// A way between two rooms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Connection {
    /// Room id.
    pub from_room: u8,
    /// Room id.
    pub to_room: u8,
    /// The lock that closes it, 0 = open.
    pub lock_id: u8,
    /// Whether it takes searching to find.
    pub secret: bool,
}

/// A monster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spawn {
    /// Where.
    pub at: Point,
    /// Which, a name the game gives meaning to.
    pub archetype: &'static str,
    /// How strong.
    pub level: u16,
}

/// A thing to pick up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Item {
    /// Where.
    pub at: Point,
    /// What, a name the game gives meaning to.
    pub archetype: &'static str,
    /// Worth.
    pub value: u32,
    /// The lock it opens, 0 = not a key.
    pub opens_lock: u8,
}

/// A lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lock {
    /// From 1.
    pub id: u8,
    /// The [`Terrain::LockedDoor`] it closes.
    pub at: Point,
}

/// A trap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trap {
    /// Where.
    pub at: Point,
    /// Which, a name the game gives meaning to.
    pub archetype: &'static str,
    /// How strong.
    pub level: u16,
}

/// Measures of a finished floor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Metrics {
    /// Steps from entry by the keys that the way out needs, in lock order, to exit.
    pub critical_path: u32,
    /// Cells whose terrain is [`Terrain::passable`].
    pub passable_cells: u32,
    /// Connections - rooms + connected pieces.
    pub loops: u32,
    /// Thousandths.
    pub difficulty: u32,
}
