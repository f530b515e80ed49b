//! Checks a finished floor against every rule, from its data alone. It shares no code with the stages, not even the
//! list of passable terrain, so that one mistake cannot hide in both.

mod contents;
mod metrics;
mod structure;
#[cfg(test)]
mod tests;
mod violation;
mod walker;

use alloc::vec::Vec;
use core::fmt;

pub use violation::Violation;

use crate::floor::{Floor, Point, Terrain};
use walker::Walker;

/// Checks `floor` against every rule of docs/protocol.md.
///
/// # Errors
/// Every violation, in the order of the checks. A floor whose grids have the wrong size, or whose parts lie outside it,
/// is checked no further.
pub fn validate(floor: &Floor<'_>) -> Result<(), Vec<Violation>> {
    let mut found = Vec::new();
    structure::check_frame(floor, &mut found);
    if !found.is_empty() {
        return Err(found);
    }
    structure::check_rooms(floor, &mut found);
    structure::check_locks(floor, &mut found);
    let explorer = Walker::explore(floor, false, None);
    let searcher = Walker::explore(floor, true, None);
    contents::check_reach(floor, &explorer, &searcher, &mut found);
    contents::check_things(floor, &searcher, &mut found);
    contents::check_furniture(floor, &mut found);
    contents::check_groups_and_landing(floor, &mut found);
    metrics::check(floor, &explorer, &mut found);
    if found.is_empty() { Ok(()) } else { Err(found) }
}

/// Checks that floor `n` of a tower and floor `n + 1` of the same tower and size fit together.
///
/// # Errors
/// The cells of the two stairs, if they differ.
pub fn validate_pair(below: &Floor<'_>, above: &Floor<'_>) -> Result<(), StairsApart> {
    let (down, up) = (below.exit, above.entry);
    if down == up { Ok(()) } else { Err(StairsApart { down, up }) }
}

/// The stairs between two floors are not one cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StairsApart {
    /// The stairs to the next floor, on the lower one.
    pub down: Point,
    /// The stairs on which a climber arrives, on the upper one.
    pub up: Point,
}

impl fmt::Display for StairsApart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { down, up } = self;
        write!(f, "the stairs to the next floor lie at ({}, {}), and there at ({}, {})", down.x, down.y, up.x, up.y)
    }
}

impl core::error::Error for StairsApart {}

/// The terrain at a point inside the floor.
fn terrain_at(floor: &Floor<'_>, at: Point) -> Terrain {
    floor.terrain[index(floor, at)]
}

/// The index of a point in the grids.
fn index(floor: &Floor<'_>, at: Point) -> usize {
    usize::from(at.y) * usize::from(floor.spec.width()) + usize::from(at.x)
}

/// Every cell and its position.
fn cells(floor: &Floor<'_>) -> impl Iterator<Item = (Point, Terrain)> {
    let width = usize::from(floor.spec.width());
    floor
        .terrain
        .iter()
        .enumerate()
        .map(move |(i, &cell)| (Point { x: (i % width) as u16, y: (i / width) as u16 }, cell))
}

/// Every spawn, item and trap, each with its name in a violation.
fn things(floor: &Floor<'_>) -> impl Iterator<Item = (&'static str, Point)> {
    let spawns = floor.spawns.iter().map(|spawn| ("spawn", spawn.at));
    let items = floor.items.iter().map(|item| ("item", item.at));
    let traps = floor.traps.iter().map(|trap| ("trap", trap.at));
    spawns.chain(items).chain(traps)
}
