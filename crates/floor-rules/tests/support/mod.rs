//! Floors of the generator, and a player who tries anything.
#![allow(dead_code, reason = "each test uses some of it")]

use floor_gen::{FloorSpec, Kind, RoomRole};
use floor_rules::{Act, Direction, Door, Floor, Harm, Hero, Item, Level, Lock, Mood, Point, Spawn, Trap};

/// A floor of the built-in pack.
pub(crate) fn floor(seed: u64, number: u32, width: u32, height: u32, kind: Option<Kind>) -> Floor<'static> {
    convert(&floor_gen::generate(&FloorSpec::resolve(seed, number, width, height, kind).expect("a spec in range")))
}

/// What the rules need of a floor.
fn convert(floor: &floor_gen::Floor<'static>) -> Floor<'static> {
    let point = |at: floor_gen::Point| Point::new(at.x, at.y);
    let rooms =
        |role| floor.rooms.iter().filter(move |room| room.role == role).map(|room| point(room.center)).collect();
    Floor {
        width: floor.spec.width(),
        height: floor.spec.height(),
        terrain: floor.terrain.iter().map(|terrain| *terrain as u8).collect(),
        region: floor.region.clone(),
        entry: point(floor.entry),
        exit: point(floor.exit),
        is_of_boss: floor.spec.kind() == Kind::Boss,
        shrines: rooms(RoomRole::Shrine),
        shops: rooms(RoomRole::Shop),
        spawns: floor.spawns.iter().map(spawn).collect(),
        items: floor.items.iter().map(item).collect(),
        locks: floor.locks.iter().map(|lock| Lock { id: lock.id.into(), at: point(lock.at) }).collect(),
        traps: floor.traps.iter().map(trap).collect(),
    }
}

fn spawn(spawn: &floor_gen::Spawn) -> Spawn<'static> {
    Spawn {
        at: Point::new(spawn.at.x, spawn.at.y),
        archetype: spawn.archetype,
        level: spawn.level.into(),
        behaviour: spawn.behaviour as u8,
        group: spawn.group.into(),
    }
}

fn item(item: &floor_gen::Item) -> Item<'static> {
    Item {
        at: Point::new(item.at.x, item.at.y),
        archetype: item.archetype,
        value: item.value,
        opens_lock: item.opens_lock.into(),
    }
}

fn trap(trap: &floor_gen::Trap) -> Trap<'static> {
    Trap { at: Point::new(trap.at.x, trap.at.y), archetype: trap.archetype, level: trap.level.into() }
}

/// What a level shows, in a form that is the same on every machine.
pub(crate) fn shown(level: &Level) -> Vec<u32> {
    /// After the entries of a list.
    const END: u32 = u32::MAX;
    let place = |at: Point| u32::from(at.y) << 16 | u32::from(at.x);
    let Hero { health, most_health, attack, armour, gold, potions, slain, turns } = *level.hero();
    let mut numbers = vec![health, most_health, attack, armour, gold, potions, slain, turns];
    numbers.extend([place(level.at()), level.acts().into(), level.poison(), level.held()]);
    numbers.extend(match level.foe() {
        None => [0, 0],
        Some(Harm::Gas) => [1, 0],
        Some(Harm::Monster(index)) => [2, index],
        Some(Harm::Trap(index)) => [3, index],
    });
    numbers.extend((0..).zip(level.known().iter()).filter_map(|(index, is_known)| is_known.then_some(index)));
    numbers.push(END);
    for monster in level.monsters() {
        let mood = match monster.mood {
            Mood::Asleep => 0,
            Mood::Calm => 1,
            Mood::Fleeing => 2,
            Mood::Hunting(turns) => 3 + u32::from(turns),
        };
        numbers.extend([place(monster.at), monster.health, mood, monster.rest.into()]);
    }
    numbers.extend(level.doors().iter().map(|(_, door)| match door {
        Door::Secret => 0,
        Door::Locked(_) => 1,
        Door::Closed => 2,
        Door::Open => 3,
    }));
    for list in [level.items().collect::<Vec<_>>(), level.traps().collect()] {
        numbers.extend(list.iter().map(|(index, _)| *index as u32).chain([END]));
    }
    numbers.extend(level.shrines().map(place));
    numbers
}

/// A player who mostly walks on, and tries any act. Its choices follow from its number.
pub(crate) struct Player {
    state: u64,
    direction: Direction,
}

impl Player {
    pub(crate) fn new(number: u64) -> Self {
        Self { state: number, direction: Direction::North }
    }

    /// An act that may be impossible.
    pub(crate) fn choose(&mut self) -> Act {
        match self.below(16) {
            0..4 => {
                self.direction = Direction::ALL[self.below(4) as usize];
                Act::Step(self.direction)
            }
            4 => Act::ALL[self.below(Act::ALL.len() as u64) as usize],
            _ => Act::Step(self.direction),
        }
    }

    /// Plays up to `most` legal acts and returns their log.
    pub(crate) fn play(&mut self, level: &mut Level, most: usize) -> Vec<u8> {
        let mut log = Vec::with_capacity(most);
        while log.len() < most && !level.is_left() && !level.is_lost() {
            let act = self.choose();
            match level.act(act) {
                Ok(_) => log.push(act.to_byte()),
                // Something is in the way.
                Err(_) => self.direction = Direction::ALL[self.below(4) as usize],
            }
        }
        log
    }

    /// SplitMix64.
    fn below(&mut self, bound: u64) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.state;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (((word ^ (word >> 31)) >> 32) * bound) >> 32
    }
}
