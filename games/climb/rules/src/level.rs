//! One floor in play: where everything is, and what the player can do there.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    sync::Arc,
};

use floor_client::{Floor, FloorKind, RoomRole, Terrain, v1::Item};
use glam::{IVec2, UVec2};

use crate::{Class, Hero, Monster, Mood, Outcome, Ware, fov, ways::cell};

/// How far the player sees, in cells.
pub const SIGHT: i32 = 11;
/// How far a search finds secret doors, and the player sees traps, in cells.
const SEARCH: i32 = 2;
/// Turns for which a net holds.
const NET: u32 = 3;

/// What the player does in a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Walks to a neighbour. Opens a door or strikes a monster in the way instead.
    Step(IVec2),
    /// Waits, and finds the secret doors nearby.
    Search,
    Drink,
    Buy(Ware),
}

/// What the player knows of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sight {
    Unknown,
    Remembered,
    Visible,
}

/// A trap that nobody has sprung.
#[derive(Debug, Clone)]
pub struct Trap {
    pub archetype: String,
    pub level: u32,
    /// Whether the player has come near enough to see it.
    pub is_seen: bool,
}

/// The floor that the player is on.
#[derive(Debug, Clone)]
pub struct Level {
    pub floor: Arc<Floor>,
    pub hero: Hero,
    pub player: UVec2,
    /// The locks whose key the player has.
    pub keys: BTreeSet<u32>,
    pub items: HashMap<UVec2, Item>,
    pub monsters: Vec<Monster>,
    pub traps: HashMap<UVec2, Trap>,
    /// Shrines that have not healed yet.
    pub shrines: HashSet<UVec2>,
    pub merchants: HashSet<UVec2>,
    pub locks: HashMap<UVec2, u32>,
    /// Turns for which the player is poisoned, and held by a net.
    pub poison: u32,
    pub held: u32,
    pub(crate) open: HashSet<UVec2>,
    pub(crate) rng: fastrand::Rng,
    found: HashSet<UVec2>,
    sight: Vec<Sight>,
}

impl Level {
    pub fn new(floor: Arc<Floor>, hero: Hero) -> Self {
        let wire = floor.wire();
        let trap = |trap: &floor_client::v1::Trap| Trap {
            archetype: trap.archetype.clone(),
            level: trap.level,
            is_seen: false,
        };
        let rooms = |role: RoomRole| {
            let of_role = floor.rooms().iter().filter(move |room| room.role() == role);
            of_role.map(|room| cell(room.center)).collect()
        };
        let mut level = Self {
            player: cell(Some(floor.entry())),
            keys: BTreeSet::new(),
            items: wire.items.iter().map(|item| (cell(item.at), item.clone())).collect(),
            monsters: wire.spawns.iter().map(Monster::new).collect(),
            traps: wire.traps.iter().map(|wire| (cell(wire.at), trap(wire))).collect(),
            shrines: rooms(RoomRole::Shrine),
            merchants: rooms(RoomRole::Shop),
            locks: wire.locks.iter().map(|lock| (cell(lock.at), lock.id)).collect(),
            poison: 0,
            held: 0,
            open: HashSet::new(),
            rng: fastrand::Rng::with_seed(floor.content_hash() ^ u64::from(hero.turns)),
            found: HashSet::new(),
            sight: vec![Sight::Unknown; floor.terrain().len()],
            floor,
            hero,
        };
        level.look();
        level
    }

    /// A turn: the player's action, then what poison and monsters do. The last outcome is `Died` if the player dies.
    pub fn act(&mut self, action: Action) -> Vec<Outcome> {
        let mut outcomes = vec![match action {
            Action::Step(step) => self.step(step),
            Action::Search => self.search(),
            Action::Drink => self.hero.drink().map_or(Outcome::NoPotion, Outcome::Drank),
            Action::Buy(ware) => self.buy(ware),
        }];
        if outcomes[0].takes_time() {
            self.hero.turns += 1;
            if self.poison > 0 {
                self.poison -= 1;
                self.hero.health = self.hero.health.saturating_sub(1);
                outcomes.push(Outcome::Poisoned(1));
            }
            self.monsters_act(&mut outcomes);
        }
        if self.hero.health == 0 {
            let killer = outcomes.iter().rev().find_map(Outcome::killer).unwrap_or("the tower").to_owned();
            outcomes.push(Outcome::Died { by: killer });
        }
        outcomes
    }

    fn step(&mut self, step: IVec2) -> Outcome {
        let Some(to) = self.neighbour(self.player, step) else { return Outcome::Blocked };
        if let Some(monster) = self.monster_at(to) {
            return self.strike(monster);
        }
        if self.held > 0 {
            self.held -= 1;
            return Outcome::Held;
        }
        if self.is_closed_door(to) {
            return self.open_door(to);
        }
        if !self.is_enterable(to) {
            return Outcome::Blocked;
        }
        if let Some(boss) = self.bar().filter(|_| to == self.exit()) {
            return Outcome::Barred(boss.archetype.clone());
        }
        self.player = to;
        self.look();
        self.arrive()
    }

    /// A sleeper takes twice the damage.
    fn strike(&mut self, index: usize) -> Outcome {
        let might = self.hero.attack + self.rng.u32(0..=1);
        let monster = &mut self.monsters[index];
        let damage = if monster.mood == Mood::Asleep { 2 * might } else { might };
        monster.health = monster.health.saturating_sub(damage);
        let (at, archetype, falls) = (monster.at, monster.archetype.clone(), !monster.is_alive());
        self.hero.slain += u32::from(falls);
        self.rouse(index);
        if falls {
            self.scatter(index);
        }
        Outcome::Struck { at, archetype, damage, falls }
    }

    fn open_door(&mut self, at: UVec2) -> Outcome {
        let lock = self.locks.get(&at).copied();
        if let Some(lock) = lock.filter(|lock| !self.keys.contains(lock)) {
            return Outcome::NeedsKey(lock);
        }
        self.open.insert(at);
        self.look();
        lock.map_or(Outcome::OpenedDoor, Outcome::Unlocked)
    }

    /// What the player finds on the cell.
    fn arrive(&mut self) -> Outcome {
        let at = self.player;
        let is_hurt = self.hero.health < self.hero.most_health;
        if at == self.exit() {
            Outcome::ReachedExit
        } else if let Some(item) = self.items.remove(&at) {
            self.take(item)
        } else if is_hurt && self.shrines.remove(&at) {
            Outcome::Prayed(self.hero.heal(u32::MAX))
        } else if let Some(trap) = self.traps.remove(&at) {
            self.spring(trap)
        } else {
            Outcome::Walked
        }
    }

    fn take(&mut self, Item { archetype, value, opens_lock, .. }: Item) -> Outcome {
        match archetype.as_str() {
            _ if opens_lock != 0 => {
                self.keys.insert(opens_lock);
                return Outcome::Key(opens_lock);
            }
            "scroll" => self.reveal(),
            "torn_map" => _ = self.find(|_| true),
            other => self.hero.take(other, value),
        }
        Outcome::PickedUp { archetype, value }
    }

    fn spring(&mut self, Trap { archetype, level, .. }: Trap) -> Outcome {
        let damage = match archetype.as_str() {
            "net" => {
                self.held = NET;
                0
            }
            "gas" => {
                self.poison += 3 + level / 2;
                0
            }
            "darts" => self.hero.hurt(3 + level / 2),
            _ => self.hero.hurt(4 + level / 2),
        };
        Outcome::Trapped { archetype, damage }
    }

    fn buy(&mut self, ware: Ware) -> Outcome {
        let price = self.hero.price(ware);
        match (self.merchant(), self.hero.gold >= price) {
            (None, _) => Outcome::NoMerchant,
            (Some(_), false) => Outcome::TooDear(price),
            (Some(_), true) => {
                self.hero.buy(ware);
                Outcome::Bought(ware)
            }
        }
    }

    /// The merchant beside the player.
    pub fn merchant(&self) -> Option<UVec2> {
        self.merchants.iter().copied().find(|at| at.manhattan_distance(self.player) <= 1)
    }

    fn search(&mut self) -> Outcome {
        let player = self.player.as_ivec2();
        let found = self.find(|at| (at.as_ivec2() - player).abs().max_element() <= SEARCH);
        self.look();
        Outcome::Searched { found }
    }

    /// Finds the secret doors of some cells. Returns how many.
    fn find(&mut self, is_searched: impl Fn(UVec2) -> bool) -> usize {
        let secret = self.cells().filter(|at| is_searched(*at) && self.terrain(*at) == Terrain::SecretDoor);
        let secret: Vec<_> = secret.collect();
        secret.into_iter().filter(|at| self.found.insert(*at)).count()
    }

    /// Maps the floor: all but rock.
    fn reveal(&mut self) {
        for at in self.cells() {
            let index = self.index(at);
            if self.sight[index] == Sight::Unknown && self.floor.passable(at.x, at.y) {
                self.sight[index] = Sight::Remembered;
            }
        }
    }

    pub fn cells(&self) -> impl Iterator<Item = UVec2> + use<> {
        let size = self.size();
        (0..size.y).flat_map(move |y| (0..size.x).map(move |x| UVec2::new(x, y)))
    }

    pub fn size(&self) -> UVec2 {
        UVec2::new(self.floor.width(), self.floor.height())
    }

    pub fn exit(&self) -> UVec2 {
        cell(Some(self.floor.exit()))
    }

    /// The boss that bars the stairs of its floor.
    pub fn bar(&self) -> Option<&Monster> {
        let boss = self.monsters.iter().find(|monster| monster.is_alive() && monster.class == Class::Boss);
        boss.filter(|_| self.floor.kind() == FloorKind::Boss)
    }

    /// The living monster in a cell, as an index into `monsters`.
    pub fn monster_at(&self, at: UVec2) -> Option<usize> {
        self.monsters.iter().position(|monster| monster.at == at && monster.is_alive())
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

    /// Whether the player can get into a cell, by opening a door if need be.
    pub fn can_pass(&self, at: UVec2) -> bool {
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

    pub(crate) fn look(&mut self) {
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
            let is_near = (at.as_ivec2() - self.player.as_ivec2()).abs().max_element() <= SEARCH;
            if let Some(trap) = self.traps.get_mut(&at).filter(|_| is_near) {
                trap.is_seen = true;
            }
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
