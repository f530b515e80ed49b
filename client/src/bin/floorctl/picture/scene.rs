//! What each cell of a floor shows.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use floor_client::{Floor, RoomRole, Terrain};

use super::{
    overlay::{Overlay, Overlays},
    paths::{Cell, Goal, cell},
};

/// A floor, and what stands where.
#[derive(Debug)]
pub(crate) struct Scene<'a> {
    pub(crate) floor: &'a Floor,
    pub(crate) overlay: Overlay,
    things: BTreeMap<Cell, Thing>,
    locks: BTreeMap<Cell, u32>,
    letters: BTreeMap<&'a str, char>,
}

/// Something that stands on a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Thing {
    /// A monster, by the letter of its archetype.
    Monster(char),
    /// The key of a lock.
    Key(u32),
    Loot,
    Trap,
}

/// What a cell shows at a glance: what stands on it, else what it is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Mark {
    /// Wall that touches nothing but wall, diagonals included: the space between.
    Rock,
    Terrain(Terrain),
    /// The door of a lock.
    Locked(u32),
    Thing(Thing),
    /// Bare ground on the critical path.
    Step(Goal),
    /// Ground that a lock keeps shut; in legends alone, for such a cell shows what it is.
    Behind(u32),
    /// A room's id and outline; in legends alone.
    Outline,
}

impl<'a> Scene<'a> {
    pub(crate) fn new(floor: &'a Floor) -> Self {
        Self::with_letters(floor, letters(archetypes(floor)))
    }

    /// Two floors in which the same monsters have the same letters.
    pub(crate) fn pair(one: &'a Floor, other: &'a Floor) -> (Self, Self) {
        let letters = letters(archetypes(one).chain(archetypes(other)));
        (Self::with_letters(one, letters.clone()), Self::with_letters(other, letters))
    }

    fn with_letters(floor: &'a Floor, letters: BTreeMap<&'a str, char>) -> Self {
        let wire = floor.wire();
        let spawns = wire.spawns.iter().map(|spawn| (spawn.at, Thing::Monster(letters[spawn.archetype.as_str()])));
        let items = wire.items.iter().map(|item| match item.opens_lock {
            0 => (item.at, Thing::Loot),
            lock => (item.at, Thing::Key(lock)),
        });
        let traps = wire.traps.iter().map(|trap| (trap.at, Thing::Trap));
        let things = traps.chain(spawns).chain(items).map(|(at, thing)| (cell(at), thing)).collect();
        let locks = wire.locks.iter().map(|lock| (cell(lock.at), lock.id)).collect();
        Self { floor, overlay: Overlay::default(), things, locks, letters }
    }

    /// The scene with overlays laid over it.
    pub(crate) fn overlaid(mut self, overlays: Overlays) -> Self {
        let stairs = [cell(Some(self.floor.entry())), cell(Some(self.floor.exit()))];
        let taken = self.things.keys().chain(self.locks.keys()).copied().chain(stairs).collect::<BTreeSet<_>>();
        self.overlay = overlays.of(self.floor, &taken);
        self
    }

    pub(crate) fn mark(&self, x: u32, y: u32) -> Mark {
        match (self.thing(x, y), self.floor.terrain_at(x, y)) {
            (Some(thing), _) => Mark::Thing(thing),
            (None, Some(Terrain::LockedDoor)) => Mark::Locked(self.lock(x, y)),
            (None, Some(Terrain::Wall) | None) if self.is_rock(x, y) => Mark::Rock,
            (None, terrain) => {
                let terrain = terrain.unwrap_or(Terrain::Wall);
                let step = self.overlay.step((x, y)).filter(|_| is_ground(terrain));
                step.map_or(Mark::Terrain(terrain), Mark::Step)
            }
        }
    }

    /// A digit of a number that an overlay writes on the cell.
    pub(crate) fn label(&self, x: u32, y: u32) -> Option<char> {
        self.overlay.label((x, y))
    }

    /// The room of a cell whose rooms are shown, and which of their colours it has.
    pub(crate) fn outlined(&self, x: u32, y: u32) -> Option<usize> {
        Some(self.overlay.rooms.get(&self.floor.room_at(x, y)?.id)?.colour)
    }

    /// What a cell's room is for, as far as its ground tells: not while the colour of the ground tells of locks.
    pub(crate) fn tinted_for(&self, x: u32, y: u32) -> RoomRole {
        if self.overlay.locks.is_empty() { self.floor.role_at(x, y) } else { RoomRole::Unspecified }
    }

    /// The lock that keeps a cell shut, if locks are shown.
    pub(crate) fn behind(&self, x: u32, y: u32) -> Option<u32> {
        self.overlay.behind((y * self.floor.width() + x) as usize)
    }

    /// The rows from the first to the last that show anything but rock: what a terminal need not scroll past is left
    /// out.
    pub(crate) fn rows(&self) -> Range<u32> {
        let shows = |y: &u32| (0..self.floor.width()).any(|x| self.mark(x, *y) != Mark::Rock);
        let mut rows = 0..self.floor.height();
        let first = rows.by_ref().find(shows).unwrap_or(0);
        let last = rows.rev().find(shows).unwrap_or(first);
        first..last + 1
    }

    pub(crate) fn thing(&self, x: u32, y: u32) -> Option<Thing> {
        self.things.get(&(x, y)).copied()
    }

    /// The lock of a locked door, 0 if the floor names none.
    pub(crate) fn lock(&self, x: u32, y: u32) -> u32 {
        self.locks.get(&(x, y)).copied().unwrap_or(0)
    }

    pub(crate) fn letter(&self, archetype: &str) -> char {
        self.letters.get(archetype).copied().unwrap_or(ANY_MONSTER)
    }

    pub(crate) fn is_rock(&self, x: u32, y: u32) -> bool {
        let near = |at: u32| at.saturating_sub(1)..=at + 1;
        near(y).all(|y| near(x).all(|x| matches!(self.floor.terrain_at(x, y), Some(Terrain::Wall) | None)))
    }
}

fn archetypes(floor: &Floor) -> impl Iterator<Item = &str> {
    floor.wire().spawns.iter().map(|spawn| spawn.archetype.as_str())
}

/// Whether a cell is there to be walked on and nothing else.
pub(crate) const fn is_ground(terrain: Terrain) -> bool {
    matches!(terrain, Terrain::Floor | Terrain::Grass | Terrain::Rubble | Terrain::ShallowWater | Terrain::Bridge)
}

/// Stands for monsters beyond the 26th archetype.
const ANY_MONSTER: char = '@';

/// A letter for each archetype: the first of its own that is free, in alphabetical order of the names, so that the same
/// monsters have the same letters on every floor that holds the same ones.
fn letters<'a>(archetypes: impl Iterator<Item = &'a str>) -> BTreeMap<&'a str, char> {
    let mut letters = archetypes.map(|name| (name, ANY_MONSTER)).collect::<BTreeMap<_, _>>();
    let mut free = ('a'..='z').collect::<Vec<_>>();
    for (name, letter) in &mut letters {
        let own = name.chars().filter_map(|c| free.iter().position(|letter| *letter == c.to_ascii_lowercase())).next();
        if let Some(index) = own.or_else(|| (!free.is_empty()).then_some(0)) {
            *letter = free.remove(index);
        }
    }
    letters
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_archetype_has_its_own_letter() {
        let letters = letters(["rat", "goblin", "ghoul", "rat", "gg"].into_iter());
        assert_eq!(letters["gg"], 'g');
        assert_eq!(letters["ghoul"], 'h');
        assert_eq!(letters["goblin"], 'o');
        assert_eq!(letters["rat"], 'r');
    }
}
