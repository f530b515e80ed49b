//! The parts of a floor as Python objects, made when they are read.

use pyo3::prelude::*;

/// Defines a class with read-only attributes.
macro_rules! part {
    ($(#[$doc:meta])* $Name:ident { $($(#[$field_doc:meta])* $field:ident: $type:ty,)+ }) => {
        $(#[$doc])*
        #[pyclass(frozen, eq, get_all, module = "floor_gen")]
        #[derive(Debug, Clone, Copy, PartialEq)]
        pub struct $Name { $($(#[$field_doc])* pub $field: $type,)+ }

        #[pymethods]
        impl $Name {
            fn __repr__(&self) -> String {
                format!("{self:?}")
            }
        }
    };
}

part! {
    /// A cell: x to the right, y down, from 0.
    Point {
        /// Column.
        x: u16,
        /// Row.
        y: u16,
    }
}

part! {
    /// A room and the bounding box of its cells, without walls and doors.
    Room {
        /// Its index in `Floor.rooms`. `Floor.region` has id + 1 in each of its cells.
        id: u8,
        /// Least x and least y of its cells.
        min: Point,
        /// Greatest x and greatest y of its cells, inclusive.
        max: Point,
        /// The number of its role.
        role: u8,
        /// A passable cell of it.
        center: Point,
    }
}

part! {
    /// A connection between two rooms, usable in both directions.
    Connection {
        /// Room id.
        from_room: u8,
        /// Room id.
        to_room: u8,
        /// The lock on it, 0 = open.
        lock_id: u8,
        /// Leads through a secret door.
        secret: bool,
    }
}

part! {
    /// A monster.
    Spawn {
        /// Its cell.
        at: Point,
        /// The name of its type.
        archetype: &'static str,
        /// Its strength.
        level: u16,
    }
}

part! {
    /// An object to pick up: loot or a key.
    Item {
        /// Its cell.
        at: Point,
        /// The name of its type.
        archetype: &'static str,
        /// Its value, 0 for a key.
        value: u32,
        /// The lock that it opens, 0 = not a key.
        opens_lock: u8,
    }
}

part! {
    /// A lock on one door.
    Lock {
        /// From 1, without gaps.
        id: u8,
        /// Its locked door.
        at: Point,
    }
}

part! {
    /// A trap on a passable cell.
    Trap {
        /// Its cell.
        at: Point,
        /// The name of its type.
        archetype: &'static str,
        /// Its danger.
        level: u16,
    }
}

part! {
    /// Measures of the floor as a whole.
    Metrics {
        /// Steps from the entry to the exit, by way of the keys that are needed.
        critical_path: u32,
        /// Cells that are passable without a key and without searching.
        passable_cells: u32,
        /// Independent cycles in the graph of rooms and connections.
        loops: u32,
        /// In thousandths.
        difficulty: u32,
    }
}

impl From<floor_gen::Point> for Point {
    fn from(at: floor_gen::Point) -> Self {
        Self { x: at.x, y: at.y }
    }
}

impl From<&floor_gen::Room> for Room {
    fn from(room: &floor_gen::Room) -> Self {
        Self {
            id: room.id,
            min: room.min.into(),
            max: room.max.into(),
            role: room.role as u8,
            center: room.center.into(),
        }
    }
}

impl From<&floor_gen::Connection> for Connection {
    fn from(c: &floor_gen::Connection) -> Self {
        Self { from_room: c.from_room, to_room: c.to_room, lock_id: c.lock_id, secret: c.secret }
    }
}

impl From<&floor_gen::Spawn> for Spawn {
    fn from(spawn: &floor_gen::Spawn) -> Self {
        Self { at: spawn.at.into(), archetype: spawn.archetype, level: spawn.level }
    }
}

impl From<&floor_gen::Item> for Item {
    fn from(item: &floor_gen::Item) -> Self {
        Self { at: item.at.into(), archetype: item.archetype, value: item.value, opens_lock: item.opens_lock }
    }
}

impl From<&floor_gen::Lock> for Lock {
    fn from(lock: &floor_gen::Lock) -> Self {
        Self { id: lock.id, at: lock.at.into() }
    }
}

impl From<&floor_gen::Trap> for Trap {
    fn from(trap: &floor_gen::Trap) -> Self {
        Self { at: trap.at.into(), archetype: trap.archetype, level: trap.level }
    }
}

impl From<&floor_gen::Metrics> for Metrics {
    fn from(metrics: &floor_gen::Metrics) -> Self {
        Self {
            critical_path: metrics.critical_path,
            passable_cells: metrics.passable_cells,
            loops: metrics.loops,
            difficulty: metrics.difficulty,
        }
    }
}
