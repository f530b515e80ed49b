//! What the rules need of a floor, in the numbers and names of `floors.v1`; and whether they can play on it.

use alloc::vec::Vec;
use core::fmt;

use crate::{bit_grid::BitGrid, point::Point};

/// The greatest side, in cells.
const MAX_SIDE: u16 = 512;

/// A floor. Grids are row-major.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Floor<'a> {
    /// Cells from west to east, 1 ..= 512.
    pub width: u16,
    /// Cells from north to south, 1 ..= 512.
    pub height: u16,
    /// `width * height` numbers of `Terrain`. Nobody enters or sees through an unknown one.
    pub terrain: Vec<u8>,
    /// `width * height` cells: room id + 1, 0 = no room.
    pub region: Vec<u8>,
    /// Where the hero arrives.
    pub entry: Point,
    /// The stairs to the next floor.
    pub exit: Point,
    /// Whether it is a floor of the kind `BOSS`, whose boss bars the stairs.
    pub is_of_boss: bool,
    /// The centres of the rooms with the role `SHRINE`.
    pub shrines: Vec<Point>,
    /// The centres of the rooms with the role `SHOP`, where a merchant is.
    pub shops: Vec<Point>,
    /// Monsters.
    pub spawns: Vec<Spawn<'a>>,
    /// Loot and keys.
    pub items: Vec<Item<'a>>,
    /// The locks of its locked doors.
    pub locks: Vec<Lock>,
    /// Traps.
    pub traps: Vec<Trap<'a>>,
}

/// A monster on arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spawn<'a> {
    /// Its cell.
    pub at: Point,
    /// The name of its kind.
    pub archetype: &'a str,
    /// Its strength.
    pub level: u32,
    /// The number of its `Behaviour`.
    pub behaviour: u8,
    /// Monsters of one group act together; 0: it is alone.
    pub group: u32,
}

/// Loot, or a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Item<'a> {
    /// Its cell.
    pub at: Point,
    /// The name of its kind.
    pub archetype: &'a str,
    /// In gold.
    pub value: u32,
    /// The id of the lock that it opens; 0: it is no key.
    pub opens_lock: u32,
}

/// A lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lock {
    /// Which keys name.
    pub id: u32,
    /// Its door.
    pub at: Point,
}

/// A trap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trap<'a> {
    /// Its cell.
    pub at: Point,
    /// The name of its kind.
    pub archetype: &'a str,
    /// Its strength.
    pub level: u32,
}

/// What the rules know of the numbers of `Terrain`.
pub(crate) mod terrain {
    pub(crate) const DOOR: u8 = 3;
    pub(crate) const LOCKED_DOOR: u8 = 4;
    pub(crate) const SECRET_DOOR: u8 = 5;

    /// Whether everybody can enter it: floor, a door, stairs up and down, shallow water, a bridge, grass, rubble.
    pub(crate) const fn is_passable(terrain: u8) -> bool {
        matches!(terrain, 2 | DOOR | 6 | 7 | 8 | 12 | 13 | 14)
    }

    pub(crate) const fn is_door(terrain: u8) -> bool {
        matches!(terrain, DOOR | LOCKED_DOOR | SECRET_DOOR)
    }

    /// Whether one sees over it: what one can walk on but doors; water, lava and chasms.
    pub(crate) const fn is_open(terrain: u8) -> bool {
        (is_passable(terrain) && !is_door(terrain)) || matches!(terrain, 9..=11)
    }
}

/// Why the rules cannot play on a floor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FloorError {
    /// A side is not in 1 ..= 512, or a grid does not have `width * height` cells.
    Size,
    /// Something is outside the floor.
    Outside(&'static str, Point),
    /// A cell of the border can be entered, so that a step could lead out.
    Border(Point),
    /// Nobody can enter the cell of the entry or of a monster.
    Blocked(&'static str, Point),
    /// Two monsters share a cell, or one is on the entry.
    Crowded(Point),
    /// A lock whose cell is no locked door, or has another lock.
    Lock(Point),
}

impl fmt::Display for FloorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Size => write!(f, "a side of the floor is not in 1 ..= {MAX_SIDE}, or a grid has another size"),
            Self::Outside(what, at) => write!(f, "the {what} at {at} is outside the floor"),
            Self::Border(at) => write!(f, "the border of the floor is open at {at}"),
            Self::Blocked(what, at) => write!(f, "nobody can enter the cell of the {what} at {at}"),
            Self::Crowded(at) => write!(f, "a monster shares its cell {at} with another or with the hero"),
            Self::Lock(at) => write!(f, "the lock at {at} is not the only one of a locked door"),
        }
    }
}

impl core::error::Error for FloorError {}

impl Floor<'_> {
    /// Whether the rules can play here: whatever the floor is, they do not panic on it then.
    pub(crate) fn check(&self) -> Result<(), FloorError> {
        let cells = usize::from(self.width) * usize::from(self.height);
        let has_sides = [self.width, self.height].iter().all(|side| (1..=MAX_SIDE).contains(side));
        if !has_sides || [&self.terrain, &self.region].iter().any(|grid| grid.len() != cells) {
            return Err(FloorError::Size);
        }
        self.check_places()?;
        let can_be_entered = |at| terrain::is_passable(self.terrain(at)) || terrain::is_door(self.terrain(at));
        let is_border = |at: &Point| at.x == 0 || at.y == 0 || at.x + 1 == self.width || at.y + 1 == self.height;
        if let Some(at) = self.cells().filter(is_border).find(|at| can_be_entered(*at)) {
            return Err(FloorError::Border(at));
        }
        let mut taken = BitGrid::new(self.width, self.height);
        for (what, at) in [("entry", self.entry)].into_iter().chain(self.spawns.iter().map(|it| ("monster", it.at))) {
            if !terrain::is_passable(self.terrain(at)) {
                return Err(FloorError::Blocked(what, at));
            }
            if taken.contains(at) {
                return Err(FloorError::Crowded(at));
            }
            taken.set(at, true);
        }
        for Lock { at, .. } in &self.locks {
            // No passable cell is a locked door.
            if self.terrain(*at) != terrain::LOCKED_DOOR || taken.contains(*at) {
                return Err(FloorError::Lock(*at));
            }
            taken.set(*at, true);
        }
        Ok(())
    }

    fn check_places(&self) -> Result<(), FloorError> {
        let places = [("entry", self.entry), ("exit", self.exit)].into_iter();
        let places = places.chain(self.shrines.iter().map(|at| ("shrine", *at)));
        let places = places.chain(self.shops.iter().map(|at| ("shop", *at)));
        let places = places.chain(self.spawns.iter().map(|spawn| ("monster", spawn.at)));
        let places = places.chain(self.items.iter().map(|item| ("item", item.at)));
        let places = places.chain(self.locks.iter().map(|lock| ("lock", lock.at)));
        let mut places = places.chain(self.traps.iter().map(|trap| ("trap", trap.at)));
        match places.find(|(_, at)| at.x >= self.width || at.y >= self.height) {
            Some((what, at)) => Err(FloorError::Outside(what, at)),
            None => Ok(()),
        }
    }

    /// All cells, row by row.
    pub(crate) fn cells(&self) -> impl Iterator<Item = Point> + use<> {
        let (width, height) = (self.width, self.height);
        (0..height).flat_map(move |y| (0..width).map(move |x| Point::new(x, y)))
    }

    /// The terrain of a cell of the floor.
    pub(crate) fn terrain(&self, at: Point) -> u8 {
        self.terrain[at.index(self.width)]
    }
}
