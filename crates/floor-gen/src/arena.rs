//! The working memory of all stages. The generator reuses it from floor to floor, so a floor allocates only what it
//! returns.

use alloc::vec::Vec;

use crate::cave::Cave;
use crate::distance_map::DistanceMap;
pub(crate) use crate::draft::{ConnectionDraft, MAX_ROOMS, RoomDraft};
use crate::floor::{Furniture, Item, Lock, Metrics, Point, Spawn, Terrain, Trap};
use crate::graph::Graph;
use crate::mask::Mask;
use crate::pack::content::{NameId, StoryPart};
use crate::pack::params::Params;
use crate::plan::Plan;
use crate::runs::Runs;

/// A floor under construction.
#[derive(Debug, Default)]
pub(crate) struct Arena {
    pub(crate) width: usize,
    pub(crate) height: usize,
    /// The numbers of the floor's pack for its kind.
    pub(crate) params: Params,
    /// Row-major, as in the finished floor.
    pub(crate) terrain: Vec<Terrain>,
    /// Room id + 1, 0 = none.
    pub(crate) region: Vec<u8>,
    pub(crate) rooms: Vec<RoomDraft>,
    pub(crate) connections: Vec<ConnectionDraft>,
    /// Cells that a new room must not use: open cells, their eight neighbours, and the border.
    pub(crate) claimed: Mask,
    /// Cells that hold something or whose terrain must stay: stairs, centers, keys.
    pub(crate) reserved: Mask,
    pub(crate) graph: Graph,
    pub(crate) distances: DistanceMap,
    pub(crate) entry: usize,
    pub(crate) exit: usize,
    /// Where one lands who falls from the floor above.
    pub(crate) landing: usize,
    /// Groups of monsters so far.
    pub(crate) groups: u8,
    pub(crate) spawns: Vec<Spawn<NameId>>,
    pub(crate) items: Vec<Item<NameId>>,
    pub(crate) locks: Vec<Lock>,
    pub(crate) traps: Vec<Trap<NameId>>,
    /// Sorted once all of it is placed.
    pub(crate) furniture: Vec<Furniture<NameId>>,
    /// Scratch list of what is sorted.
    pub(crate) keys: Vec<u64>,
    /// The room that the floor is remembered by.
    pub(crate) landmark: Option<u8>,
    pub(crate) metrics: Metrics,
    /// Scratch list of rooms, such as those that may still take a neighbour.
    pub(crate) room_list: Vec<u8>,
    /// Connections from entry to exit, over the tree that the rooms form before loops are added.
    pub(crate) path: Vec<u16>,
    /// How many locks the exit needs. They have the first ids, in the order in which they are opened.
    pub(crate) required_locks: usize,
    /// The room that each lock's key must lie in; `None`: any that is reached without it.
    pub(crate) key_rooms: Vec<Option<u8>>,
    /// Dead ends outside rooms that may hold loot.
    pub(crate) dead_ends: Vec<u32>,
    /// Scratch list of cells, such as those of a corridor.
    pub(crate) cell_list: Vec<u32>,
    /// Pairs of rooms that may be joined, each with its cost.
    pub(crate) candidates: Vec<(u32, u8, u8)>,
    /// Tiles of the cycle or ear that is laid, or plots of a walk.
    pub(crate) tile_path: Vec<u32>,
    /// Cells of a vault's doors and doorways, each with its character of the vault file.
    pub(crate) vault_doors: Vec<(u32, u8)>,
    /// Plots that rooms are built on, or that are not cut up yet.
    pub(crate) plots: Vec<Plot>,
    /// For each plot, those beside it across rock.
    pub(crate) plots_beside: Vec<PlotSet>,
    /// The scenes of a story, in the order in which they are built.
    pub(crate) scenes: Vec<Scene>,
    /// Doorways that may be opened.
    pub(crate) doorways: Vec<Doorway>,
    /// Scratch list of runs.
    pub(crate) runs: Runs,
    /// Scratch sets of cells.
    pub(crate) scratch: Mask,
    pub(crate) squares: Mask,
    /// A cave before it is carved.
    pub(crate) cave: Cave,
    /// One mark for each cell, for stages that flood the floor.
    pub(crate) marks: Vec<u8>,
    /// The side from which the search for an alcove reached each cell.
    pub(crate) alcove: Vec<u8>,
}

/// A rectangle for one room, without walls.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plot {
    pub(crate) x: i32,
    pub(crate) y: i32,
    pub(crate) width: i32,
    pub(crate) height: i32,
}

/// A scene of a story's walk.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scene {
    pub(crate) plot: u8,
    /// The scene that it is entered from.
    pub(crate) after: u8,
    /// Whether a gate leads to it.
    pub(crate) begins_act: bool,
    pub(crate) part: StoryPart,
}

/// A cell of rock beside a room where a door may lead to another.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Doorway {
    /// The cheapest are opened first.
    pub(crate) cost: u32,
    pub(crate) gate: u32,
    pub(crate) from: u8,
    pub(crate) to: u8,
    /// The side of its room.
    pub(crate) side: Side,
}

impl Plot {
    pub(crate) fn holds(self, at: Point) -> bool {
        let (x, y) = (i32::from(at.x), i32::from(at.y));
        (self.x..self.x + self.width).contains(&x) && (self.y..self.y + self.height).contains(&y)
    }

    /// Smaller by so many cells on each side, or larger.
    pub(crate) const fn inset(self, by: i32) -> Self {
        Self { x: self.x + by, y: self.y + by, width: self.width - 2 * by, height: self.height - 2 * by }
    }
}

/// A set of plots, which iterates over them.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct PlotSet([u64; MAX_ROOMS.div_ceil(64)]);

impl PlotSet {
    pub(crate) fn of(plots: &[Plot], is_in: impl Fn(&Plot) -> bool) -> Self {
        let mut set = Self::default();
        for index in (0..plots.len()).filter(|&index| is_in(&plots[index])) {
            set.0[index / 64] |= 1 << (index % 64);
        }
        set
    }

    pub(crate) const fn holds(&self, plot: usize) -> bool {
        self.0[plot / 64] >> (plot % 64) & 1 == 1
    }
}

impl Iterator for PlotSet {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        let (index, word) = self.0.iter_mut().enumerate().find(|(_, word)| **word != 0)?;
        let bit = word.trailing_zeros() as usize;
        *word &= *word - 1;
        Some(index * 64 + bit)
    }
}

/// The zone of a room whose only connection is locked or secret.
pub(crate) const SEALED: u8 = u8::MAX;

/// A side of a room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    North,
    East,
    South,
    West,
}

impl Side {
    pub(crate) const ALL: [Self; 4] = [Self::North, Self::East, Self::South, Self::West];

    pub(crate) const fn opposite(self) -> Self {
        match self {
            Self::North => Self::South,
            Self::East => Self::West,
            Self::South => Self::North,
            Self::West => Self::East,
        }
    }

    /// Whether it is east or west.
    pub(crate) const fn is_level(self) -> bool {
        matches!(self, Self::East | Self::West)
    }

    /// The next place on that side, in a coarse grid of places in rows.
    pub(crate) const fn neighbour(self, place: usize, (columns, rows): (usize, usize)) -> Option<usize> {
        let (column, row) = (place % columns, place / columns);
        match self {
            Self::North if row > 0 => Some(place - columns),
            Self::South if row + 1 < rows => Some(place + columns),
            Self::West if column > 0 => Some(place - 1),
            Self::East if column + 1 < columns => Some(place + 1),
            _ => None,
        }
    }
}

impl Arena {
    /// Resets to solid rock of the size of the floor.
    pub(crate) fn reset(&mut self, plan: &Plan<'_>) {
        let spec = &plan.spec;
        self.params = *plan.params();
        self.width = usize::from(spec.width());
        self.height = usize::from(spec.height());
        let cells = self.width * self.height;
        self.terrain.clear();
        self.terrain.resize(cells, Terrain::Wall);
        self.region.clear();
        self.region.resize(cells, 0);
        self.rooms.clear();
        self.connections.clear();
        self.claimed.reset(self.width, self.height);
        self.reserved.reset(self.width, self.height);
        self.spawns.clear();
        self.items.clear();
        self.locks.clear();
        self.traps.clear();
        self.furniture.clear();
        self.landmark = None;
        self.room_list.clear();
        self.path.clear();
        self.required_locks = 0;
        self.key_rooms.clear();
        self.dead_ends.clear();
        self.metrics = Metrics::default();
        (self.entry, self.exit, self.landing) = (0, 0, 0);
        self.groups = 0;
    }

    pub(crate) const fn at(&self, x: usize, y: usize) -> usize {
        y * self.width + x
    }

    pub(crate) const fn column(&self, at: usize) -> usize {
        at % self.width
    }

    pub(crate) const fn row(&self, at: usize) -> usize {
        at / self.width
    }

    pub(crate) const fn point(&self, at: usize) -> Point {
        Point { x: self.column(at) as u16, y: self.row(at) as u16 }
    }

    /// The offset from a cell to its neighbour on that side.
    pub(crate) const fn step(&self, side: Side) -> isize {
        match side {
            Side::North => -(self.width as isize),
            Side::East => 1,
            Side::South => self.width as isize,
            Side::West => -1,
        }
    }

    /// The next `count` cells from a cell on that side.
    pub(crate) fn beyond(&self, at: usize, side: Side, count: usize) -> impl Iterator<Item = usize> + use<> {
        let step = self.step(side);
        (1..=count as isize).map(move |i| at.wrapping_add_signed(step * i))
    }

    /// The four neighbours of a cell that is not on the border.
    pub(crate) const fn neighbours(&self, at: usize) -> [usize; 4] {
        [at - self.width, at + 1, at + self.width, at - 1]
    }

    /// The eight cells around a cell that is not on the border, clockwise from the north: the four neighbours have even
    /// indices.
    pub(crate) const fn ring(&self, at: usize) -> [usize; 8] {
        let w = self.width;
        [at - w, at - w + 1, at + 1, at + w + 1, at + w, at + w - 1, at - 1, at - w - 1]
    }

    /// Opens a cell that belongs to no room, and claims it and its neighbours.
    pub(crate) fn open_cell(&mut self, at: usize, terrain: Terrain) {
        self.terrain[at] = terrain;
        let (x, y) = (self.column(at), self.row(at));
        for row in y - 1..=y + 1 {
            self.claimed.insert_row(x - 1, row, 0b111);
        }
    }

    /// The side from which rooms have their full size, in cells.
    pub(crate) const PLAIN_SIDE: usize = 100;

    /// The number of cells that a room of so many has on this floor: rooms of small floors are smaller, or such a floor
    /// would have two or three.
    pub(crate) fn scaled(&self, cells: usize) -> usize {
        cells * self.terrain.len().isqrt().min(Self::PLAIN_SIDE) / Self::PLAIN_SIDE
    }

    /// The depth of the deepest room, at least 1.
    pub(crate) fn max_depth(&self) -> u32 {
        self.rooms.iter().map(|room| room.depth).max().unwrap_or(1).max(1)
    }

    /// Whether the cell is not on the border.
    pub(crate) const fn is_inside(&self, at: usize) -> bool {
        let (x, y) = (self.column(at), self.row(at));
        x > 0 && y > 0 && x < self.width - 1 && y < self.height - 1
    }

    /// Whether a connection joins the two rooms.
    pub(crate) fn are_joined(&self, a: usize, b: usize) -> bool {
        self.connections.iter().any(|connection| connection.touches(a as u8) && connection.touches(b as u8))
    }

    /// The room that the cell belongs to.
    pub(crate) fn room_at(&self, at: usize) -> Option<usize> {
        usize::from(self.region[at]).checked_sub(1)
    }

    /// Keeps later stages from using the cell.
    pub(crate) fn reserve(&mut self, at: usize) {
        let (x, y) = (self.column(at), self.row(at));
        self.reserved.insert(x, y);
    }

    /// Undoes [`Self::reserve`].
    pub(crate) fn release(&mut self, at: usize) {
        let (x, y) = (self.column(at), self.row(at));
        self.reserved.remove(x, y);
    }

    pub(crate) fn is_reserved(&self, at: usize) -> bool {
        self.reserved.contains(self.column(at), self.row(at))
    }
}
