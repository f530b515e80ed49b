//! One floor in play: where everything is, and what the player can do there.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    sync::Arc,
};

use floor_client::{
    Floor, FloorKind, RoomRole, Terrain,
    v1::{Item, Trap},
};
use glam::{IVec2, UVec2};

use crate::{Class, Hero, Monster, Mood, Ware, cell, fov};

/// How far the player sees, in cells.
pub const SIGHT: i32 = 11;
/// How far a search finds secret doors, and the player sees traps, in cells.
const SEARCH: i32 = 2;
/// Turns for which a net holds.
const NET: u32 = 3;

/// What the player does in a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Walks to a neighbour. Strikes a monster in the way instead.
    Step(IVec2),
    /// Waits, and finds the secret doors nearby.
    Search,
    Drink,
    Buy(Ware),
}

/// What stands in a doorway.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Door {
    /// Looks like a wall until it is found.
    Secret,
    /// Its key has this number.
    Locked(u32),
    Closed,
    Open,
}

/// Something that came of a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct News {
    /// What the player reads.
    pub words: String,
    pub at: UVec2,
    /// By how much the health of who stands there rose or fell.
    pub change: i32,
}

/// The floor that the player is on.
#[derive(Debug, Clone)]
pub struct Level {
    pub floor: Arc<Floor>,
    pub hero: Hero,
    pub player: UVec2,
    /// The cells that the player sees, and those that they have seen.
    pub visible: HashSet<UVec2>,
    pub known: HashSet<UVec2>,
    /// The locks whose key the player has.
    pub keys: BTreeSet<u32>,
    pub items: HashMap<UVec2, Item>,
    pub monsters: Vec<Monster>,
    /// Traps that have not been sprung, and the cells of those that the player has seen.
    pub traps: HashMap<UVec2, Trap>,
    pub seen_traps: HashSet<UVec2>,
    /// Shrines that have not healed yet.
    pub shrines: HashSet<UVec2>,
    pub merchants: HashSet<UVec2>,
    pub doors: HashMap<UVec2, Door>,
    /// Turns for which the player is poisoned, and held by a net.
    pub poison: u32,
    pub held: u32,
    /// What came of the last turn.
    pub news: Vec<News>,
    /// Who hurt the player last.
    pub foe: String,
    pub(crate) rng: fastrand::Rng,
}

impl Level {
    pub fn new(floor: Arc<Floor>, hero: Hero) -> Self {
        let rooms = |role: RoomRole| {
            let of_role = floor.rooms().iter().filter(move |room| room.role() == role);
            of_role.map(|room| cell(room.center)).collect()
        };
        let mut level = Self {
            player: cell(Some(floor.entry())),
            visible: HashSet::new(),
            known: HashSet::new(),
            keys: BTreeSet::new(),
            items: floor.items().iter().map(|item| (cell(item.at), item.clone())).collect(),
            monsters: floor.spawns().iter().map(Monster::new).collect(),
            traps: floor.traps().iter().map(|trap| (cell(trap.at), trap.clone())).collect(),
            seen_traps: HashSet::new(),
            shrines: rooms(RoomRole::Shrine),
            merchants: rooms(RoomRole::Shop),
            doors: doors(&floor),
            poison: 0,
            held: 0,
            news: Vec::new(),
            foe: String::new(),
            rng: fastrand::Rng::with_seed(floor.content_hash() ^ u64::from(hero.turns)),
            floor,
            hero,
        };
        level.look();
        let (name, hook) = (level.floor.name(), level.floor.hook());
        if !name.is_empty() {
            let words = format!("{name}. {hook}");
            level.say(words.trim());
        }
        level
    }

    /// A turn: the player's action and, if that takes time, what poison and monsters do.
    pub fn act(&mut self, action: Action) {
        self.news.clear();
        let takes_time = match action {
            Action::Step(step) => self.step(step),
            Action::Search => self.search(),
            Action::Drink => self.drink(),
            Action::Buy(ware) => self.buy(ware),
        };
        if !takes_time || self.is_left() {
            return;
        }
        self.hero.turns += 1;
        if self.poison > 0 {
            self.poison -= 1;
            self.hurt(1, "gas");
        }
        self.monsters_act();
    }

    /// The stairs to the next floor.
    pub fn exit(&self) -> UVec2 {
        cell(Some(self.floor.exit()))
    }

    /// Whether the player has taken them.
    pub fn is_left(&self) -> bool {
        self.player == self.exit()
    }

    /// Whether the player has died.
    pub fn is_lost(&self) -> bool {
        self.hero.health == 0
    }

    fn say(&mut self, words: impl Into<String>) {
        self.news.push(News { words: words.into(), at: self.player, change: 0 });
    }

    /// Hits the player. Armour leaves at least 1 of a hit.
    pub(crate) fn hurt(&mut self, hit: u32, by: &str) {
        let damage = hit.saturating_sub(self.hero.armour).max(1);
        by.clone_into(&mut self.foe);
        self.change(format!("You lose {damage} health to the {by}."), |hero| {
            hero.health = hero.health.saturating_sub(damage);
        });
    }

    /// Changes the hero, and says by how much they healed.
    fn change(&mut self, words: String, change: impl FnOnce(&mut Hero)) {
        let before = self.hero.health;
        change(&mut self.hero);
        let change = self.hero.health.cast_signed() - before.cast_signed();
        self.news.push(News { words, at: self.player, change });
    }

    /// Each action returns whether it takes time.
    fn step(&mut self, step: IVec2) -> bool {
        let Some(to) = self.player.checked_add_signed(step) else { return false };
        if let Some(monster) = self.monster_at(to) {
            self.strike(monster);
        } else if self.held > 0 {
            self.held -= 1;
            self.say("The net holds you.");
        } else if let Some(words) = self.obstacle(to) {
            self.say(words);
            return false;
        } else if self.can_pass(to) {
            self.walk(to);
        } else {
            return false;
        }
        true
    }

    /// Why the player cannot enter a cell, if that is worth a word.
    fn obstacle(&self, to: UVec2) -> Option<String> {
        match self.doors.get(&to) {
            Some(Door::Locked(lock)) if !self.keys.contains(lock) => {
                Some(format!("Locked. Key {lock} lies elsewhere on this floor."))
            }
            _ if to != self.exit() => None,
            _ => self.bar().map(|boss| format!("The {} bars the stairs.", boss.name)),
        }
    }

    /// A sleeper takes twice the damage.
    fn strike(&mut self, index: usize) {
        let might = self.hero.attack + self.rng.u32(0..=1);
        let monster = &mut self.monsters[index];
        let damage = if monster.mood == Mood::Asleep { 2 * might } else { might };
        monster.health = monster.health.saturating_sub(damage);
        let what = if monster.is_alive() { format!("loses {damage} health") } else { "falls".to_owned() };
        let words = format!("The {} {what}.", monster.name);
        self.news.push(News { words, at: monster.at, change: -damage.cast_signed() });
        self.hero.slain += u32::from(!self.monsters[index].is_alive());
        self.rouse(index);
        self.scatter(index);
    }

    /// Enters a cell, and opens its door. Takes what lies there.
    fn walk(&mut self, to: UVec2) {
        self.player = to;
        if let Some(Door::Locked(lock)) = self.doors.get(&to) {
            self.say(format!("Key {lock} fits."));
        }
        self.open(to);
        self.look();
        if let Some(item) = self.items.remove(&to) {
            self.take(item);
        } else if self.hero.health < self.hero.most_health && self.shrines.remove(&to) {
            self.change("The shrine heals you.".to_owned(), |hero| hero.heal(u32::MAX));
        } else if let Some(trap) = self.traps.remove(&to) {
            self.spring(&trap);
        }
    }

    fn take(&mut self, Item { archetype, value, opens_lock, .. }: Item) {
        if opens_lock != 0 {
            self.keys.insert(opens_lock);
            return self.say(format!("You take key {opens_lock}."));
        }
        match archetype.as_str() {
            "scroll" => self.known.extend(cells(&self.floor).filter(|at| self.floor.passable(at.x, at.y))),
            "torn_map" => _ = self.find(|_| true),
            _ => {}
        }
        let name = archetype.replace('_', " ");
        self.change(format!("You take the {name}."), |hero| hero.take(&archetype, value));
    }

    fn spring(&mut self, Trap { archetype, level, .. }: &Trap) {
        match archetype.as_str() {
            "net" => self.held = NET,
            "gas" => self.poison += 3 + level / 2,
            _ => return self.hurt(4 + level / 2, archetype),
        }
        self.say(format!("A trap: {archetype}!"));
    }

    fn drink(&mut self) -> bool {
        let has_potion = self.hero.potions > 0;
        if has_potion {
            self.change("You drink a potion.".to_owned(), Hero::drink);
        } else {
            self.say("You have no potion.");
        }
        has_potion
    }

    fn buy(&mut self, ware: Ware) -> bool {
        if self.merchant().is_none() {
            self.say("There is no merchant here.");
            return false;
        }
        let is_bought = self.hero.buy(ware);
        let dear = || format!("That costs {} gold.", self.hero.price(ware));
        self.say(if is_bought { format!("You buy: {ware:?}.") } else { dear() });
        is_bought
    }

    /// The merchant beside the player.
    pub fn merchant(&self) -> Option<UVec2> {
        self.merchants.iter().copied().find(|at| at.manhattan_distance(self.player) <= 1)
    }

    fn search(&mut self) -> bool {
        let player = self.player;
        let found = self.find(|at| is_near(at, player));
        self.say(if found { "You find a secret door!" } else { "You wait and search." });
        self.look();
        true
    }

    /// Finds the secret doors of some cells. Returns whether there were any.
    fn find(&mut self, is_searched: impl Fn(UVec2) -> bool) -> bool {
        let secret = self.doors.iter_mut().filter(|(at, door)| **door == Door::Secret && is_searched(**at));
        secret.map(|(_, door)| *door = Door::Closed).count() > 0
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

    /// The terrain as the player knows it.
    pub fn seen_terrain(&self, at: UVec2) -> Terrain {
        match self.doors.get(&at) {
            Some(Door::Secret) => Terrain::Wall,
            _ => self.floor.terrain_at(at.x, at.y).unwrap_or(Terrain::Wall),
        }
    }

    /// Whether the player can enter a cell.
    pub fn can_pass(&self, at: UVec2) -> bool {
        let has_key = matches!(self.doors.get(&at), Some(Door::Locked(lock)) if self.keys.contains(lock));
        has_key || self.is_passable(at)
    }

    /// Whether a monster can. They open doors, but no locks, and know no secrets.
    pub(crate) fn is_passable(&self, at: UVec2) -> bool {
        match self.doors.get(&at) {
            Some(door) => matches!(door, Door::Closed | Door::Open),
            None => self.floor.passable(at.x, at.y),
        }
    }

    /// Opens the door of a cell, if it has one.
    pub(crate) fn open(&mut self, at: UVec2) {
        if let Some(door) = self.doors.get_mut(&at) {
            *door = Door::Open;
            self.look();
        }
    }

    fn look(&mut self) {
        let is_opaque = |at: IVec2| match self.doors.get(&at.as_uvec2()) {
            Some(door) => *door != Door::Open,
            None => matches!(self.seen_terrain(at.as_uvec2()), Terrain::Wall | Terrain::Pillar | Terrain::Unspecified),
        };
        let seen = fov::seen_from(self.player.as_ivec2(), SIGHT, is_opaque);
        self.visible = seen.into_iter().map(|at| at.as_uvec2()).collect();
        self.known.extend(&self.visible);
        let near = self.visible.iter().filter(|at| is_near(**at, self.player) && self.traps.contains_key(*at));
        self.seen_traps.extend(near);
    }
}

fn doors(floor: &Floor) -> HashMap<UVec2, Door> {
    let closed = |at: UVec2| match floor.terrain_at(at.x, at.y) {
        Some(Terrain::Door) => Some((at, Door::Closed)),
        Some(Terrain::SecretDoor) => Some((at, Door::Secret)),
        _ => None,
    };
    let locked = floor.locks().iter().map(|lock| (cell(lock.at), Door::Locked(lock.id)));
    cells(floor).filter_map(closed).chain(locked).collect()
}

/// All cells of a floor, row by row.
pub fn cells(floor: &Floor) -> impl Iterator<Item = UVec2> + use<> {
    let (width, height) = (floor.width(), floor.height());
    (0..height).flat_map(move |y| (0..width).map(move |x| UVec2::new(x, y)))
}

/// Whether a cell is within the reach of a search from another.
fn is_near(at: UVec2, from: UVec2) -> bool {
    (at.as_ivec2() - from.as_ivec2()).abs().max_element() <= SEARCH
}
