//! A floor in play: where everything is, and the course of a turn.

use alloc::vec::Vec;

use crate::{
    act::Act,
    bit_grid::BitGrid,
    event::{Event, Harm, MAX_ACTS, Refusal},
    floor::{Floor, FloorError, terrain},
    hero::Hero,
    monster::{Class, Monster},
    point::Point,
    rolls::Rolls,
    sight,
    things::{Loot, LootKind, Pitfall, PitfallState},
    ways::Ways,
};

/// How far a search finds secret doors, and the hero sees traps, in cells.
pub(crate) const SEARCH: u16 = 2;
/// Events of a turn besides those of monsters: a lock, an item, a trap, gas.
const OWN_EVENTS: usize = 4;

/// What stands in a doorway.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Door {
    /// Looks like a wall until it is found.
    Secret,
    /// Has a lock with this id; 0: no key opens it.
    Locked(u32),
    /// One cannot see through.
    Closed,
    /// Somebody has gone through it.
    Open,
}

/// A floor in play. Monsters, items and traps have the numbers of their places in the lists of the floor.
#[derive(Debug, Clone)]
pub struct Level {
    // What stays as the floor has it.
    pub(crate) width: u16,
    pub(crate) region: Vec<u8>,
    exit: Point,
    is_of_boss: bool,
    merchants: Vec<Point>,
    // What acts change.
    pub(crate) hero: Hero,
    pub(crate) at: Point,
    acts: u16,
    pub(crate) rolls: Rolls,
    pub(crate) poison: u32,
    pub(crate) held: u32,
    foe: Option<Harm>,
    pub(crate) known: BitGrid,
    /// By row and column.
    pub(crate) doors: Vec<(Point, Door)>,
    pub(crate) items: Vec<Loot>,
    pub(crate) traps: Vec<Pitfall>,
    /// Whether each has healed.
    pub(crate) shrines: Vec<(Point, bool)>,
    pub(crate) monsters: Vec<Monster>,
    // What follows from that.
    pub(crate) visible: BitGrid,
    /// The cells that monsters can enter, which open doors, but no locks, and know no secrets.
    pub(crate) passable: BitGrid,
    opaque: BitGrid,
    /// The cells of the monsters that live.
    pub(crate) occupied: BitGrid,
    // What a turn uses.
    /// From the hero.
    pub(crate) hero_ways: Ways,
    /// From anywhere.
    pub(crate) ways: Ways,
    pub(crate) events: Vec<Event>,
}

impl Level {
    /// The floor as a hero arrives. Rolls follow from the seed.
    ///
    /// # Errors
    /// [`FloorError`] if the rules cannot play on the floor.
    pub fn new(floor: &Floor<'_>, hero: Hero, seed: u128) -> Result<Self, FloorError> {
        floor.check()?;
        let grid = |is_in: &dyn Fn(u8) -> bool| {
            let mut grid = BitGrid::new(floor.width, floor.height);
            floor.terrain.iter().enumerate().for_each(|(index, terrain)| grid.set_index(index, is_in(*terrain)));
            grid
        };
        let none = || BitGrid::new(floor.width, floor.height);
        let monsters: Vec<_> = floor.spawns.iter().map(Monster::new).collect();
        let mut occupied = none();
        monsters.iter().for_each(|monster| occupied.set(monster.at, true));
        let mut level = Self {
            width: floor.width,
            region: floor.region.clone(),
            exit: floor.exit,
            is_of_boss: floor.is_of_boss,
            merchants: floor.shops.clone(),
            hero: Hero { health: hero.health.min(hero.most_health), ..hero },
            at: floor.entry,
            acts: 0,
            rolls: Rolls::new(seed),
            poison: 0,
            held: 0,
            foe: None,
            known: none(),
            doors: doors(floor),
            items: floor.items.iter().map(Loot::new).collect(),
            traps: floor.traps.iter().map(Pitfall::new).collect(),
            shrines: floor.shrines.iter().map(|at| (*at, false)).collect(),
            events: Vec::with_capacity(OWN_EVENTS + monsters.len()),
            monsters,
            visible: none(),
            passable: grid(&terrain::is_passable),
            opaque: grid(&|terrain| !terrain::is_open(terrain)),
            occupied,
            hero_ways: Ways::new(floor.width, floor.height),
            ways: Ways::new(floor.width, floor.height),
        };
        level.look();
        Ok(level)
    }

    /// A turn: what the hero does, then what poison and monsters do. Returns what came of it.
    ///
    /// # Errors
    /// [`Refusal`] if the act is impossible: nothing changes.
    pub fn act(&mut self, act: Act) -> Result<&[Event], Refusal> {
        self.events.clear();
        if self.is_left() || self.is_lost() {
            return Err(Refusal::Over);
        }
        if self.acts == MAX_ACTS {
            return Err(Refusal::TooManyActs);
        }
        self.do_deed(act)?;
        self.acts += 1;
        self.hero.turns = self.hero.turns.saturating_add(1);
        if !self.is_left() {
            if self.poison > 0 {
                self.poison -= 1;
                self.hurt(1, Harm::Gas);
            }
            self.monsters_act();
        }
        Ok(&self.events)
    }

    /// What came of the last act; nothing if it was refused.
    #[must_use]
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// Whether the hero has taken the stairs.
    #[must_use]
    pub fn is_left(&self) -> bool {
        self.at == self.exit
    }

    /// Whether the hero has died.
    #[must_use]
    pub const fn is_lost(&self) -> bool {
        self.hero.health == 0
    }

    /// The hero as they arrive on the next floor, rested on the stairs. `None` until they have taken them.
    #[must_use]
    pub fn next_hero(&self) -> Option<Hero> {
        let mut hero = self.hero.clone();
        hero.heal(hero.most_health / 4);
        (self.is_left() && !self.is_lost()).then_some(hero)
    }

    /// The hero.
    #[must_use]
    pub const fn hero(&self) -> &Hero {
        &self.hero
    }

    /// The hero's cell.
    #[must_use]
    pub const fn at(&self) -> Point {
        self.at
    }

    /// The acts so far on this floor.
    #[must_use]
    pub const fn acts(&self) -> u16 {
        self.acts
    }

    /// The stairs to the next floor.
    #[must_use]
    pub const fn exit(&self) -> Point {
        self.exit
    }

    /// Turns for which the hero is poisoned.
    #[must_use]
    pub const fn poison(&self) -> u32 {
        self.poison
    }

    /// Turns for which a net holds the hero.
    #[must_use]
    pub const fn held(&self) -> u32 {
        self.held
    }

    /// What hurt the hero last on this floor.
    #[must_use]
    pub const fn foe(&self) -> Option<Harm> {
        self.foe
    }

    /// The cells that the hero sees.
    #[must_use]
    pub const fn visible(&self) -> &BitGrid {
        &self.visible
    }

    /// The cells that the hero has seen.
    #[must_use]
    pub const fn known(&self) -> &BitGrid {
        &self.known
    }

    /// All monsters, those that have fallen among them.
    #[must_use]
    pub fn monsters(&self) -> &[Monster] {
        &self.monsters
    }

    /// The number of the living monster in a cell.
    #[must_use]
    pub fn monster_at(&self, at: Point) -> Option<usize> {
        let find = || self.monsters.iter().position(|monster| monster.at == at && monster.is_alive());
        if self.occupied.contains(at) { find() } else { None }
    }

    /// The items that still lie there: their numbers and cells.
    pub fn items(&self) -> impl Iterator<Item = (usize, Point)> {
        let items = self.items.iter().enumerate().filter(|(_, item)| !item.is_taken);
        items.map(|(index, item)| (index, item.at))
    }

    /// The traps that the hero has seen and that are not sprung: their numbers and cells.
    pub fn traps(&self) -> impl Iterator<Item = (usize, Point)> {
        let seen = self.traps.iter().enumerate().filter(|(_, trap)| trap.state == PitfallState::Seen);
        seen.map(|(index, trap)| (index, trap.at))
    }

    /// The shrines that have not healed yet.
    pub fn shrines(&self) -> impl Iterator<Item = Point> {
        self.shrines.iter().filter(|(_, is_used)| !is_used).map(|(at, _)| *at)
    }

    /// The merchants.
    #[must_use]
    pub fn merchants(&self) -> &[Point] {
        &self.merchants
    }

    /// The merchant beside the hero.
    #[must_use]
    pub fn merchant(&self) -> Option<Point> {
        self.merchants.iter().copied().find(|at| at.distance(self.at) <= 1)
    }

    /// The doors, row by row.
    #[must_use]
    pub fn doors(&self) -> &[(Point, Door)] {
        &self.doors
    }

    /// The door in a cell.
    #[must_use]
    pub fn door(&self, at: Point) -> Option<Door> {
        self.door_index(at).map(|index| self.doors[index].1)
    }

    /// The ids of the locks whose keys the hero took on this floor.
    pub fn keys(&self) -> impl Iterator<Item = u32> {
        let taken = self.items.iter().filter(|item| item.is_taken);
        taken.filter_map(|item| if let LootKind::Key(lock) = item.kind { Some(lock) } else { None })
    }

    /// Whether the ground of a cell, or a key to its door, lets the hero enter it. Monsters and a boss may still block it.
    #[must_use]
    pub fn can_pass(&self, at: Point) -> bool {
        let has_key = |door| matches!(door, Door::Locked(lock) if self.keys().any(|key| key == lock));
        self.passable.contains(at) || self.door(at).is_some_and(has_key)
    }

    /// The number of the boss that bars the stairs of its floor.
    #[must_use]
    pub fn bar(&self) -> Option<usize> {
        let is_boss = |monster: &Monster| monster.is_alive() && monster.class == Class::Boss;
        if self.is_of_boss { self.monsters.iter().position(is_boss) } else { None }
    }

    /// Hits the hero. Armour leaves at least 1 of a hit.
    pub(crate) fn hurt(&mut self, hit: u32, by: Harm) {
        let damage = hit.saturating_sub(self.hero.armour).max(1);
        self.hero.health = self.hero.health.saturating_sub(damage);
        self.foe = Some(by);
        self.events.push(Event::Hurt { by, damage });
    }

    /// Opens the door of a cell, if it has one.
    pub(crate) fn open(&mut self, at: Point) {
        if let Some(index) = self.door_index(at).filter(|index| self.doors[*index].1 != Door::Open) {
            self.set_door(index, Door::Open);
            self.look();
        }
    }

    pub(crate) fn set_door(&mut self, index: usize, door: Door) {
        let (at, old) = &mut self.doors[index];
        *old = door;
        self.passable.set(*at, matches!(door, Door::Closed | Door::Open));
        self.opaque.set(*at, door != Door::Open);
    }

    /// The hero sees, and remembers it.
    pub(crate) fn look(&mut self) {
        sight::see(self.at, &self.opaque, &mut self.visible);
        self.known.extend(&self.visible);
        for trap in &mut self.traps {
            let is_near = trap.at.is_within(SEARCH, self.at) && self.visible.contains(trap.at);
            if trap.state == PitfallState::Hidden && is_near {
                trap.state = PitfallState::Seen;
            }
        }
    }

    fn door_index(&self, at: Point) -> Option<usize> {
        self.doors.binary_search_by_key(&(at.y, at.x), |(at, _)| (at.y, at.x)).ok()
    }
}

fn doors(floor: &Floor<'_>) -> Vec<(Point, Door)> {
    let door = |at: Point| match floor.terrain(at) {
        terrain::DOOR => Some((at, Door::Closed)),
        terrain::SECRET_DOOR => Some((at, Door::Secret)),
        terrain::LOCKED_DOOR => Some((at, Door::Locked(0))),
        _ => None,
    };
    let mut doors: Vec<_> = floor.cells().filter_map(door).collect();
    for lock in &floor.locks {
        if let Ok(index) = doors.binary_search_by_key(&(lock.at.y, lock.at.x), |(at, _)| (at.y, at.x)) {
            doors[index].1 = Door::Locked(lock.id);
        }
    }
    doors
}
