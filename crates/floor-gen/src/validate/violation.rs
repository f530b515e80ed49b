//! The rules that a floor can break.

use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

use crate::floor::{Floor, Point, RoomRole, Terrain};

/// One broken rule, and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Violation {
    /// A grid does not hold width * height cells.
    GridSize {
        /// Which grid.
        grid: &'static str,
        /// Cells that it holds.
        cells: usize,
    },
    /// A part lies outside the floor.
    Outside(&'static str, Point),
    /// A connection or a cell names a room that does not exist.
    NoSuchRoom(usize),
    /// A border cell is not wall.
    OpenBorder(Point),
    /// The stairs are missing, not unique, or not at the stated cell.
    Stairs {
        /// Which stairs.
        kind: Terrain,
        /// How many such cells there are.
        count: usize,
    },
    /// A room's id is not its index.
    RoomId(usize),
    /// A room's box is not the bounding box of its cells, or it has no cells.
    RoomBox(usize),
    /// A room's center is not a passable cell of it.
    RoomCenter(usize),
    /// A wall or a door is marked as a room's cell.
    RoomCell(Point),
    /// Lock ids are not 1, 2, 3 and so on, each once.
    LockId(u8),
    /// A lock's cell is no locked door, or another lock has it too.
    LockCell(Point),
    /// A locked door without a lock.
    DoorWithoutLock(Point),
    /// A lock without a key.
    LockWithoutKey(u8),
    /// A key or a connection names a lock that does not exist.
    NoSuchLock(u8),
    /// The exit cannot be reached without a search.
    ExitOutOfReach,
    /// A key cannot be reached before its lock is opened.
    KeyOutOfReach(u8),
    /// The keys that the exit needs cannot be collected in the order of their locks.
    LockOrder,
    /// The center of a room cannot be reached; for a secret room, not even by a search.
    RoomOutOfReach(usize, RoomRole),
    /// A cell of a secret room is reached without a search.
    SecretInTheOpen(Point),
    /// A spawn, item or trap lies on a cell that cannot be reached with all keys and a search.
    ThingOutOfReach(&'static str, Point),
    /// Who falls from the floor above lands on a cell that blocks, or that is reached only with a key or a search.
    LandingOutOfReach(Point),
    /// Groups of monsters are not numbered 1, 2, 3 and so on, or one has a single member.
    Group(u8),
    /// Two things lie on one cell.
    ThingsCollide(Point),
    /// A piece of furniture stands in no room, or on ground that holds none.
    FurniturePlace(Point),
    /// A piece of furniture shares its cell with another, a spawn, an item or a trap.
    FurnitureCollides(Point),
    /// The landmark is no room, or one that is closed or secret.
    Landmark(usize),
    /// A metric is not that of the floor.
    Metric {
        /// Which metric.
        name: &'static str,
        /// The value that the floor states.
        stated: u32,
        /// The value that the validator counts.
        counted: u32,
    },
}

impl Violation {
    /// The name of the broken rule.
    #[must_use]
    pub const fn rule(&self) -> &'static str {
        match self {
            Self::GridSize { .. } => "grid size",
            Self::Outside(..) => "outside",
            Self::NoSuchRoom(_) => "no such room",
            Self::OpenBorder(_) => "open border",
            Self::Stairs { .. } => "stairs",
            Self::RoomId(_) => "room id",
            Self::RoomBox(_) => "room box",
            Self::RoomCenter(_) => "room center",
            Self::RoomCell(_) => "room cell",
            Self::LockId(_) => "lock id",
            Self::LockCell(_) => "lock cell",
            Self::DoorWithoutLock(_) => "door without lock",
            Self::LockWithoutKey(_) => "lock without key",
            Self::NoSuchLock(_) => "no such lock",
            Self::ExitOutOfReach => "exit out of reach",
            Self::KeyOutOfReach(_) => "key out of reach",
            Self::LockOrder => "lock order",
            Self::RoomOutOfReach(..) => "room out of reach",
            Self::SecretInTheOpen(_) => "secret in the open",
            Self::ThingOutOfReach(..) => "thing out of reach",
            Self::LandingOutOfReach(_) => "landing out of reach",
            Self::Group(_) => "group",
            Self::ThingsCollide(_) => "things collide",
            Self::FurniturePlace(_) => "furniture place",
            Self::FurnitureCollides(_) => "furniture collides",
            Self::Landmark(_) => "landmark",
            Self::Metric { .. } => "metric",
        }
    }

    /// The cells of `floor` that break the rule. A room is its two corners, a lock its door and its keys. Empty for a
    /// violation without a cell, such as a wrong metric.
    #[must_use]
    pub fn cells(&self, floor: &Floor<'_>) -> Vec<Point> {
        let room = |room: usize| floor.rooms.get(room);
        let keys = |id: u8| floor.items.iter().filter(move |item| item.opens_lock == id).map(|item| item.at);
        let doors = |id: u8| floor.locks.iter().filter(move |lock| lock.id == id).map(|lock| lock.at);
        let width = usize::from(floor.spec.width());
        let cell = |i: usize| Point { x: (i % width) as u16, y: (i / width) as u16 };
        match *self {
            Self::GridSize { .. } | Self::Metric { .. } => Vec::new(),
            Self::Outside(_, at)
            | Self::OpenBorder(at)
            | Self::RoomCell(at)
            | Self::LockCell(at)
            | Self::DoorWithoutLock(at)
            | Self::SecretInTheOpen(at)
            | Self::ThingOutOfReach(_, at)
            | Self::LandingOutOfReach(at)
            | Self::FurniturePlace(at)
            | Self::FurnitureCollides(at)
            | Self::ThingsCollide(at) => vec![at],
            Self::Group(group) => {
                floor.spawns.iter().filter(|spawn| spawn.group == group).map(|spawn| spawn.at).collect()
            }
            Self::NoSuchRoom(room) => {
                let marked = floor.region.iter().enumerate().filter(|&(_, &mark)| usize::from(mark) == room + 1);
                marked.map(|(i, _)| cell(i)).collect()
            }
            Self::Stairs { kind, .. } => {
                let stairs = floor.terrain.iter().enumerate().filter(|&(_, &terrain)| terrain == kind);
                let stated = if kind == Terrain::StairsUp { floor.entry } else { floor.exit };
                let mut cells: Vec<Point> = stairs.map(|(i, _)| cell(i)).chain([stated]).collect();
                cells.sort_unstable();
                cells.dedup();
                cells
            }
            Self::RoomId(id) | Self::RoomBox(id) | Self::Landmark(id) => {
                room(id).map(|room| vec![room.min, room.max]).unwrap_or_default()
            }
            Self::RoomCenter(id) | Self::RoomOutOfReach(id, _) => {
                room(id).map(|room| vec![room.center]).unwrap_or_default()
            }
            Self::LockId(id) | Self::LockWithoutKey(id) => doors(id).collect(),
            Self::NoSuchLock(id) => keys(id).collect(),
            Self::KeyOutOfReach(id) => keys(id).chain(doors(id)).collect(),
            Self::ExitOutOfReach => vec![floor.exit],
            Self::LockOrder => floor.locks.iter().map(|lock| lock.at).collect(),
        }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::GridSize { grid, cells } => write!(f, "the {grid} grid holds {cells} cells"),
            Self::Outside(what, at) => write!(f, "{what} at {} lies outside the floor", Cell(*at)),
            Self::NoSuchRoom(room) => write!(f, "room {room} is named but does not exist"),
            Self::OpenBorder(at) => write!(f, "the border is open at {}", Cell(*at)),
            Self::Stairs { kind, count } => write!(f, "{count} cells of {kind:?}, or not where the floor says"),
            Self::RoomId(room) => write!(f, "room {room} has another id than its index"),
            Self::RoomBox(room) => write!(f, "the box of room {room} is not the one around its cells"),
            Self::RoomCenter(room) => write!(f, "the center of room {room} is not a passable cell of it"),
            Self::RoomCell(at) => write!(f, "the wall or door at {} is marked as a room's cell", Cell(*at)),
            Self::LockId(id) => write!(f, "lock id {id} is out of order"),
            Self::LockCell(at) => write!(f, "the lock at {} closes no door of its own", Cell(*at)),
            Self::DoorWithoutLock(at) => write!(f, "the locked door at {} has no lock", Cell(*at)),
            Self::LockWithoutKey(id) => write!(f, "lock {id} has no key"),
            Self::NoSuchLock(id) => write!(f, "lock {id} is named but does not exist"),
            Self::ExitOutOfReach => write!(f, "the exit is out of reach"),
            Self::KeyOutOfReach(id) => write!(f, "a key of lock {id} is out of reach before the lock is opened"),
            Self::LockOrder => write!(f, "the keys on the way out cannot be collected in the order of their locks"),
            Self::RoomOutOfReach(room, role) => write!(f, "the center of room {room} ({role:?}) is out of reach"),
            Self::SecretInTheOpen(at) => write!(f, "the secret cell at {} is reached without searching", Cell(*at)),
            Self::ThingOutOfReach(what, at) => write!(f, "the {what} at {} is out of reach", Cell(*at)),
            Self::LandingOutOfReach(at) => write!(f, "the landing at {} is out of reach without a key", Cell(*at)),
            Self::Group(group) => write!(f, "group {group} has one monster, or a lower one has none"),
            Self::ThingsCollide(at) => write!(f, "two things lie at {}", Cell(*at)),
            Self::FurniturePlace(at) => write!(f, "the furniture at {} stands on no ground of a room", Cell(*at)),
            Self::FurnitureCollides(at) => write!(f, "furniture stands where something else is, at {}", Cell(*at)),
            Self::Landmark(room) => write!(f, "the landmark, room {room}, does not exist, or is hidden or closed"),
            Self::Metric { name, stated, counted } => write!(f, "{name} is {counted}, not {stated}"),
        }
    }
}

impl core::error::Error for Violation {}

/// Writes a point as `(x, y)`.
struct Cell(Point);

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({}, {})", self.0.x, self.0.y)
    }
}
