//! One floor in play: its rules, without any drawing or input.

use std::{
    collections::{BTreeSet, HashMap, HashSet, VecDeque},
    fmt,
    sync::Arc,
};

use bevy::prelude::*;
use floor_client::{
    Floor, Terrain,
    v1::{Item, Point, Spawn},
};

use crate::fov;

/// How far the player sees, in cells.
pub const SIGHT: i32 = 11;
/// How far a search finds secret doors, in cells.
const SEARCH: i32 = 2;
/// The four neighbours of a cell.
const STEPS: [IVec2; 4] = [IVec2::X, IVec2::Y, IVec2::NEG_X, IVec2::NEG_Y];

/// What the player knows of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sight {
    Unknown,
    Remembered,
    Visible,
}

/// A monster that stands in its place.
#[derive(Debug)]
pub struct Monster {
    pub archetype: String,
    /// Strikes until it falls.
    pub health: u32,
}

/// The floor that the player is on.
#[derive(Resource, Debug)]
pub struct Level {
    pub floor: Arc<Floor>,
    pub player: UVec2,
    /// The locks whose key the player has.
    pub keys: BTreeSet<u32>,
    pub items: HashMap<UVec2, Item>,
    pub monsters: HashMap<UVec2, Monster>,
    pub traps: HashMap<UVec2, String>,
    locks: HashMap<UVec2, u32>,
    open: HashSet<UVec2>,
    found: HashSet<UVec2>,
    sight: Vec<Sight>,
}

/// What came of an action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    Blocked,
    Walked,
    OpenedDoor,
    Unlocked,
    NeedsKey,
    Struck { archetype: String, falls: bool },
    PickedUp { archetype: String, value: u32 },
    Trapped(String),
    Searched { found: usize },
    ReachedExit,
}

impl Level {
    pub fn new(floor: Arc<Floor>) -> Self {
        let wire = floor.wire();
        let mut level = Self {
            player: cell(Some(floor.entry())),
            keys: BTreeSet::new(),
            items: wire.items.iter().map(|item| (cell(item.at), item.clone())).collect(),
            monsters: wire.spawns.iter().map(|spawn| (cell(spawn.at), monster(spawn))).collect(),
            traps: wire.traps.iter().map(|trap| (cell(trap.at), trap.archetype.clone())).collect(),
            locks: wire.locks.iter().map(|lock| (cell(lock.at), lock.id)).collect(),
            open: HashSet::new(),
            found: HashSet::new(),
            sight: vec![Sight::Unknown; floor.terrain().len()],
            floor,
        };
        level.look();
        level
    }

    /// Walks to a neighbour. Opens a door or strikes a monster in the way instead.
    pub fn step(&mut self, step: IVec2) -> Outcome {
        let Some(to) = self.neighbour(self.player, step) else { return Outcome::Blocked };
        if let Some(monster) = self.monsters.get_mut(&to) {
            monster.health -= 1;
            let (archetype, falls) = (monster.archetype.clone(), monster.health == 0);
            if falls {
                self.monsters.remove(&to);
            }
            return Outcome::Struck { archetype, falls };
        }
        if self.is_closed_door(to) {
            let lock = self.locks.get(&to);
            if lock.is_some_and(|lock| !self.keys.contains(lock)) {
                return Outcome::NeedsKey;
            }
            let outcome = if lock.is_some() { Outcome::Unlocked } else { Outcome::OpenedDoor };
            self.open.insert(to);
            self.look();
            return outcome;
        }
        if !self.is_enterable(to) {
            return Outcome::Blocked;
        }
        self.player = to;
        self.look();
        if to == cell(Some(self.floor.exit())) {
            Outcome::ReachedExit
        } else if let Some(item) = self.items.remove(&to) {
            if item.opens_lock != 0 {
                self.keys.insert(item.opens_lock);
            }
            Outcome::PickedUp { archetype: item.archetype, value: item.value }
        } else if let Some(trap) = self.traps.get(&to) {
            Outcome::Trapped(trap.clone())
        } else {
            Outcome::Walked
        }
    }

    /// Finds the secret doors nearby.
    pub fn search(&mut self) -> Outcome {
        let near = (-SEARCH..=SEARCH).flat_map(|y| (-SEARCH..=SEARCH).map(move |x| IVec2::new(x, y)));
        let near = near.filter_map(|by| self.neighbour(self.player, by));
        let secret: Vec<UVec2> = near.filter(|at| self.terrain(*at) == Terrain::SecretDoor).collect();
        let found = secret.into_iter().filter(|at| self.found.insert(*at)).count();
        self.look();
        Outcome::Searched { found }
    }

    /// The terrain as the player knows it: an unfound secret door is a wall.
    pub fn seen_terrain(&self, at: UVec2) -> Terrain {
        match self.terrain(at) {
            Terrain::SecretDoor if !self.found.contains(&at) => Terrain::Wall,
            terrain => terrain,
        }
    }

    pub fn sight(&self, at: UVec2) -> Sight {
        self.sight[self.index(at)]
    }

    /// Whether `at` is a known door that is not open.
    pub fn is_closed_door(&self, at: UVec2) -> bool {
        let is_door = matches!(self.seen_terrain(at), Terrain::Door | Terrain::LockedDoor | Terrain::SecretDoor);
        is_door && !self.open.contains(&at)
    }

    /// The shortest way to the exit, or to the nearest key if that must be fetched first. Ends with the next cell.
    pub fn plan(&self) -> Vec<UVec2> {
        let mut from = HashMap::from([(self.player, self.player)]);
        let mut queue = VecDeque::from([self.player]);
        let mut nearest_key = None;
        let exit = cell(Some(self.floor.exit()));
        while let Some(at) = queue.pop_front().filter(|_| !from.contains_key(&exit)) {
            if self.items.get(&at).is_some_and(|item| item.opens_lock != 0) {
                nearest_key = nearest_key.or(Some(at));
            }
            for to in STEPS.into_iter().filter_map(|step| self.neighbour(at, step)) {
                if self.can_pass(to) && !from.contains_key(&to) {
                    from.insert(to, at);
                    queue.push_back(to);
                }
            }
        }
        let goal = if from.contains_key(&exit) { Some(exit) } else { nearest_key };
        std::iter::successors(goal, |at| from.get(at).copied()).take_while(|at| *at != self.player).collect()
    }

    /// Whether the player can get into a cell, by opening a door if need be.
    fn can_pass(&self, at: UVec2) -> bool {
        let has_key = || self.locks.get(&at).is_none_or(|lock| self.keys.contains(lock));
        self.is_enterable(at) || (self.is_closed_door(at) && has_key())
    }

    fn is_enterable(&self, at: UVec2) -> bool {
        self.open.contains(&at) || (self.floor.passable(at.x, at.y) && !self.is_closed_door(at))
    }

    fn is_opaque(&self, at: UVec2) -> bool {
        let solid = matches!(self.seen_terrain(at), Terrain::Wall | Terrain::Pillar | Terrain::Unspecified);
        solid || self.is_closed_door(at)
    }

    fn look(&mut self) {
        for sight in self.sight.iter_mut().filter(|sight| **sight == Sight::Visible) {
            *sight = Sight::Remembered;
        }
        let mut visible = Vec::new();
        let inside = |at: IVec2| self.neighbour(UVec2::ZERO, at);
        let is_opaque = |at| inside(at).is_none_or(|at| self.is_opaque(at));
        fov::see_from(self.player.as_ivec2(), SIGHT, is_opaque, |at| visible.extend(inside(at)));
        for at in visible {
            let index = self.index(at);
            self.sight[index] = Sight::Visible;
        }
    }

    /// The cell at an offset, `None` outside the floor.
    pub fn neighbour(&self, at: UVec2, by: IVec2) -> Option<UVec2> {
        let to = at.checked_add_signed(by)?;
        (to.x < self.floor.width() && to.y < self.floor.height()).then_some(to)
    }

    fn terrain(&self, at: UVec2) -> Terrain {
        self.floor.terrain_at(at.x, at.y).unwrap_or(Terrain::Wall)
    }

    fn index(&self, at: UVec2) -> usize {
        (at.y * self.floor.width() + at.x) as usize
    }
}

impl fmt::Display for Outcome {
    /// What the player reads. Empty if nothing is worth a word.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plain = |name: &str| name.replace('_', " ");
        match self {
            Self::Blocked | Self::Walked | Self::ReachedExit => Ok(()),
            Self::OpenedDoor => write!(f, "The door opens."),
            Self::Unlocked => write!(f, "The key fits. The door opens."),
            Self::NeedsKey => write!(f, "Locked. Its key lies elsewhere on this floor."),
            Self::Struck { archetype, falls: true } => write!(f, "The {} falls.", plain(archetype)),
            Self::Struck { archetype, falls: false } => write!(f, "You strike the {}.", plain(archetype)),
            Self::PickedUp { archetype, value: 0 } => write!(f, "You take a {}.", plain(archetype)),
            Self::PickedUp { archetype, value } => write!(f, "You take {}, worth {value}.", plain(archetype)),
            Self::Trapped(trap) => write!(f, "A trap: {}!", plain(trap)),
            Self::Searched { found: 0 } => write!(f, "You search and find nothing."),
            Self::Searched { .. } => write!(f, "You find a secret door!"),
        }
    }
}

fn monster(spawn: &Spawn) -> Monster {
    Monster { archetype: spawn.archetype.clone(), health: (1 + spawn.level / 6).min(4) }
}

/// A point of the wire. The client has checked that it is there.
pub fn cell(at: Option<Point>) -> UVec2 {
    at.map_or(UVec2::ZERO, |at| UVec2::new(at.x, at.y))
}
