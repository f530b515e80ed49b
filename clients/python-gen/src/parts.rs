//! The parts of a floor as Python objects, made when they are read.

use floor_proto::v1;
use pyo3::prelude::*;

/// Defines a class with read-only attributes.
macro_rules! part {
    ($(#[$doc:meta])* $Name:ident { $($(#[$field_doc:meta])* $field:ident: $type:ty,)+ }) => {
        $(#[$doc])*
        #[pyclass(frozen, eq, get_all, module = "floor_gen")]
        #[derive(Debug, Clone, PartialEq)]
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
        x: u32,
        /// Row.
        y: u32,
    }
}

part! {
    /// A room and the bounding box of its cells, without walls and doors.
    Room {
        /// Its index in `Floor.rooms`. `Floor.region` has id + 1 in each of its cells.
        id: u32,
        /// Least x and least y of its cells.
        min: Point,
        /// Greatest x and greatest y of its cells, inclusive.
        max: Point,
        /// The number of its role.
        role: i32,
        /// A passable cell of it.
        center: Point,
        /// What it is called. Empty for most rooms.
        name: Text,
    }
}

part! {
    /// A text in the language of its pack, with the ids to say it in another.
    Text {
        /// The text.
        text: String,
        /// The sentence.
        id: String,
        /// The parts, in the order of their places.
        parts: Vec<String>,
    }
}

part! {
    /// A piece of furniture. One can walk over it unless its cell is a pillar.
    Furniture {
        /// The name of its type.
        archetype: String,
        /// Column.
        x: u32,
        /// Row.
        y: u32,
    }
}

part! {
    /// A connection between two rooms, usable in both directions.
    Connection {
        /// Room id.
        from_room: u32,
        /// Room id.
        to_room: u32,
        /// The lock on it, 0 = open.
        lock_id: u32,
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
        archetype: String,
        /// Its strength.
        level: u32,
        /// The number of its behaviour: 1 sleeps, 2 guards, 3 patrols, 4 wanders.
        behaviour: i32,
        /// Monsters of one group act together; 0 = alone.
        group: u32,
    }
}

part! {
    /// An object to pick up: loot or a key.
    Item {
        /// Its cell.
        at: Point,
        /// The name of its type.
        archetype: String,
        /// Its value, 0 for a key.
        value: u32,
        /// The lock that it opens, 0 = not a key.
        opens_lock: u32,
    }
}

part! {
    /// A lock on one door.
    Lock {
        /// From 1, without gaps.
        id: u32,
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
        archetype: String,
        /// Its danger.
        level: u32,
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

impl From<Option<v1::Point>> for Point {
    /// Every floor of the generator has all its points.
    fn from(at: Option<v1::Point>) -> Self {
        let v1::Point { x, y } = at.unwrap_or_default();
        Self { x, y }
    }
}

impl From<&v1::Room> for Room {
    fn from(room: &v1::Room) -> Self {
        Self {
            id: room.id,
            min: room.min.into(),
            max: room.max.into(),
            role: room.role,
            center: room.center.into(),
            name: room.name.as_ref().into(),
        }
    }
}

impl From<Option<&v1::Text>> for Text {
    /// No text is an empty one.
    fn from(of: Option<&v1::Text>) -> Self {
        let v1::Text { text, id, parts } = of.cloned().unwrap_or_default();
        Self { text, id, parts }
    }
}

impl From<&v1::Connection> for Connection {
    fn from(c: &v1::Connection) -> Self {
        Self { from_room: c.from_room, to_room: c.to_room, lock_id: c.lock_id, secret: c.secret }
    }
}

impl From<&v1::Spawn> for Spawn {
    fn from(spawn: &v1::Spawn) -> Self {
        let v1::Spawn { at, ref archetype, level, behaviour, group } = *spawn;
        Self { at: at.into(), archetype: archetype.clone(), level, behaviour, group }
    }
}

impl From<&v1::Item> for Item {
    fn from(item: &v1::Item) -> Self {
        let (archetype, opens_lock) = (item.archetype.clone(), item.opens_lock);
        Self { at: item.at.into(), archetype, value: item.value, opens_lock }
    }
}

impl From<&v1::Lock> for Lock {
    fn from(lock: &v1::Lock) -> Self {
        Self { id: lock.id, at: lock.at.into() }
    }
}

impl From<&v1::Trap> for Trap {
    fn from(trap: &v1::Trap) -> Self {
        Self { at: trap.at.into(), archetype: trap.archetype.clone(), level: trap.level }
    }
}

impl From<&v1::FloorMetrics> for Metrics {
    fn from(metrics: &v1::FloorMetrics) -> Self {
        Self {
            critical_path: metrics.critical_path,
            passable_cells: metrics.passable_cells,
            loops: metrics.loops,
            difficulty: metrics.difficulty,
        }
    }
}
