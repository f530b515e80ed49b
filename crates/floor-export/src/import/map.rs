//! What a map says, whichever editor wrote it.

use floor_proto::v1::Point;

use super::{Class, Fields};

pub(super) struct Map {
    pub(super) width: u32,
    pub(super) height: u32,
    /// The numbers of terrain and the marks of rooms, row-major.
    pub(super) terrain: Vec<u8>,
    pub(super) region: Vec<u8>,
    /// What the floor states about itself.
    pub(super) fields: Fields,
    pub(super) objects: Vec<Object>,
}

impl Map {
    /// The room of a cell.
    pub(super) fn room_at(&self, at: Point) -> Option<u32> {
        self.region[(at.y * self.width + at.x) as usize].checked_sub(1).map(u32::from)
    }
}

/// A thing on a map.
pub(super) struct Object {
    pub(super) class: Class,
    /// Its cell, that of its middle.
    pub(super) at: Point,
    pub(super) outline: Outline,
    pub(super) fields: Fields,
}

/// The shape of a thing, in cells. It says the same as the cells and the fields, or the map contradicts itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outline {
    /// The first and the last cell of a rectangle.
    Area([(i64, i64); 2]),
    /// The cells at both ends.
    Line([Option<Point>; 2]),
    Other,
}
