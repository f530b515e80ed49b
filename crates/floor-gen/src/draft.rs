//! Rooms and connections of a floor under construction.

use crate::floor::{Point, RoomRole};
use crate::pack::content::NameId;

/// The most rooms of a floor: room ids are a byte on the wire, and 0 stands for none.
pub(crate) const MAX_ROOMS: usize = 255;

/// A room under construction.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RoomDraft {
    pub(crate) min: Point,
    pub(crate) max: Point,
    /// A cell of it that stays passable.
    pub(crate) center: usize,
    /// Cells.
    pub(crate) area: u32,
    pub(crate) role: RoomRole,
    /// The part of the floor between locks; rooms of one zone reach each other without a key.
    pub(crate) zone: u8,
    /// Steps from the entry, from room center to room center.
    pub(crate) depth: u32,
    /// Failed tries to attach another room to it.
    pub(crate) failed_attachments: u8,
    /// Part of a vault: nothing is added to it, and no door is cut into its walls.
    pub(crate) set_piece: bool,
    /// Its scenery is a part of the layout.
    pub(crate) is_decorated: bool,
    /// What it is furnished as: the name of a furniture set of the pack.
    pub(crate) set: Option<NameId>,
}

/// A connection under construction.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ConnectionDraft {
    pub(crate) from: u8,
    pub(crate) to: u8,
    /// The cell next to `from` that a lock or a secret door takes; `None` where two rooms lie open to each other.
    pub(crate) gate: Option<u32>,
    /// The lock that closes it, 0 = none.
    pub(crate) lock: u8,
    pub(crate) secret: bool,
}

impl RoomDraft {
    /// A plain room.
    pub(crate) const fn new(min: Point, max: Point, center: usize, area: u32) -> Self {
        let role = RoomRole::Combat;
        let (set_piece, is_decorated) = (false, false);
        Self {
            min,
            max,
            center,
            area,
            role,
            zone: 0,
            depth: 0,
            failed_attachments: 0,
            set_piece,
            is_decorated,
            set: None,
        }
    }

    /// A room to whose cells [`Self::add_cell`] adds.
    pub(crate) const fn without_cells(role: RoomRole) -> Self {
        let (none, first) = (Point { x: u16::MAX, y: u16::MAX }, Point { x: 0, y: 0 });
        Self { role, ..Self::new(none, first, 0, 0) }
    }

    pub(crate) fn add_cell(&mut self, x: u16, y: u16) {
        self.min = Point { x: self.min.x.min(x), y: self.min.y.min(y) };
        self.max = Point { x: self.max.x.max(x), y: self.max.y.max(y) };
        self.area += 1;
    }

    pub(crate) const fn width(&self) -> usize {
        (self.max.x - self.min.x + 1) as usize
    }

    pub(crate) const fn height(&self) -> usize {
        (self.max.y - self.min.y + 1) as usize
    }
}

impl ConnectionDraft {
    /// A connection without lock or secret.
    pub(crate) const fn open(from: u8, to: u8, gate: Option<u32>) -> Self {
        Self { from, to, gate, lock: 0, secret: false }
    }

    /// Whether the room is one of its ends.
    pub(crate) const fn touches(&self, room: u8) -> bool {
        self.from == room || self.to == room
    }
}
