//! Explains how a floor came about: an [`Observer`] is notified of each stage, and [`lock_graph`] lists the locks.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use core::cell::{Cell, RefCell};
use core::fmt::Write;

use crate::floor::{Floor, Point, RoomRole, Terrain};
use crate::graph::Components;
pub use crate::observer::Observer;

/// Counts, over many floors, which vaults of a pack they hold and why layouts were rejected.
#[derive(Debug, Default)]
pub struct Report {
    floors: Cell<u64>,
    fallbacks: Cell<u64>,
    /// The vaults of the current layout.
    current: RefCell<Vec<usize>>,
    vaults: RefCell<BTreeMap<usize, VaultCounts>>,
    rejected: RefCell<BTreeMap<&'static str, u64>>,
}

/// What became of a vault.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VaultCounts {
    /// How often it stands on a finished floor.
    pub placed: u64,
    /// Why it was drawn and does not stand there, and how often.
    pub rejected: BTreeMap<&'static str, u64>,
}

impl Report {
    /// How many floors it counted, and how many of them are fallbacks.
    #[must_use]
    pub fn floors(&self) -> (u64, u64) {
        (self.floors.get(), self.fallbacks.get())
    }

    /// What became of each vault that was drawn, by its index in [`Pack::vaults`](crate::Pack::vaults).
    #[must_use]
    pub fn vaults(&self) -> BTreeMap<usize, VaultCounts> {
        self.vaults.borrow().clone()
    }

    /// Why layouts were rejected, and how often.
    #[must_use]
    pub fn rejected(&self) -> BTreeMap<&'static str, u64> {
        self.rejected.borrow().clone()
    }
}

impl Observer for Report {
    fn attempt(&self, _number: u32) {
        self.current.borrow_mut().clear();
    }

    fn vault_placed(&self, vault: usize, _: Point, _: Point) {
        self.current.borrow_mut().push(vault);
    }

    fn vault_rejected(&self, vault: usize, why: &'static str) {
        *self.vaults.borrow_mut().entry(vault).or_default().rejected.entry(why).or_default() += 1;
    }

    fn rejected(&self, why: &'static str) {
        *self.rejected.borrow_mut().entry(why).or_default() += 1;
        for vault in self.current.borrow_mut().drain(..) {
            self.vault_rejected(vault, why);
        }
    }

    fn finished(&self, is_fallback: bool) {
        self.floors.set(self.floors.get() + 1);
        self.fallbacks.set(self.fallbacks.get() + u64::from(is_fallback));
        for vault in self.current.borrow_mut().drain(..) {
            self.vaults.borrow_mut().entry(vault).or_default().placed += 1;
        }
    }
}

/// Whether each cell is bare: whether it lies in a square of 9x9 cells of plain floor in which nothing stands.
#[must_use]
pub fn bare_cells(floor: &Floor<'_>) -> Vec<bool> {
    /// The side of such a square.
    const SQUARE: usize = 9;
    let width = usize::from(floor.spec.width());
    let mut plain: Vec<bool> = floor.terrain.iter().map(|&cell| cell == Terrain::Floor).collect();
    let things = floor.spawns.iter().map(|spawn| spawn.at).chain(floor.items.iter().map(|item| item.at));
    let things = things.chain(floor.traps.iter().map(|trap| trap.at));
    for at in things.chain(floor.furniture.iter().map(|piece| piece.at)) {
        plain[usize::from(at.y) * width + usize::from(at.x)] = false;
    }
    let (mut sides, mut bare) = (alloc::vec![0; plain.len()], alloc::vec![false; plain.len()]);
    // The border is wall. The side of the largest plain square whose last cell it is.
    for at in (width + 1..plain.len()).filter(|&at| plain[at]) {
        sides[at] = 1 + sides[at - 1].min(sides[at - width]).min(sides[at - width - 1]);
        if sides[at] >= SQUARE {
            (0..SQUARE).for_each(|up| bare[at - up * width + 1 - SQUARE..=at - up * width].fill(true));
        }
    }
    bare
}

/// The floor's locks as text, one line each: the rooms that it separates, where its key lies, and the locks in front of
/// that key.
#[must_use]
pub fn lock_graph(floor: &Floor<'_>) -> String {
    let mut text = String::new();
    for lock in &floor.locks {
        let connections = floor.connections.iter().filter(|connection| connection.lock_id == lock.id);
        let key = floor.items.iter().find(|item| item.opens_lock == lock.id);
        let key_room = key.and_then(|key| room_at(floor, key.at));
        // Writing to a String cannot fail.
        let _ = write!(text, "lock {} at ({}, {})", lock.id, lock.at.x, lock.at.y);
        for connection in connections {
            let _ =
                write!(text, ", between {} and {}", name(floor, connection.from_room), name(floor, connection.to_room));
        }
        if let (Some(key), Some(room)) = (key, key_room) {
            let _ = write!(text, "; key at ({}, {}) in {}", key.at.x, key.at.y, name(floor, room));
            let behind = locks_before(floor, room);
            text.push_str(if behind.is_empty() { ", in the open" } else { ", behind lock" });
            for lock in behind {
                let _ = write!(text, " {lock}");
            }
        }
        text.push('\n');
    }
    text
}

/// The locks between the entry and a room.
fn locks_before(floor: &Floor<'_>, room: u8) -> Vec<u8> {
    let Some(entry) = room_at(floor, floor.entry) else { return Vec::new() };
    let needed = |lock: u8| {
        let mut without = Components::singletons(floor.rooms.len());
        for open in floor.connections.iter().filter(|connection| connection.lock_id != lock && !connection.secret) {
            without.join(open.from_room.into(), open.to_room.into());
        }
        !without.connected(entry.into(), room.into())
    };
    floor.locks.iter().map(|lock| lock.id).filter(|&lock| needed(lock)).collect()
}

fn room_at(floor: &Floor<'_>, at: Point) -> Option<u8> {
    let i = usize::from(at.y) * usize::from(floor.spec.width()) + usize::from(at.x);
    floor.region[i].checked_sub(1)
}

fn name(floor: &Floor<'_>, room: u8) -> String {
    let role = floor.rooms.get(usize::from(room)).map_or(RoomRole::Passage, |room| room.role);
    alloc::format!("room {} ({role:?})", u16::from(room) + 1)
}
