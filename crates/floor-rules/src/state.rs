//! A level as bytes, so that a climb can be put aside.

use alloc::vec::Vec;

use crate::{
    bytes::{Reader, StateError, Writer},
    event::{Harm, MAX_ACTS},
    floor::Floor,
    hero::Hero,
    level::{Door, Level},
    minds::MEMORY,
    monster::{Monster, Mood},
    point::Point,
    things::PitfallState,
    ways::{Route, SEEK},
};

impl Level {
    /// The canonical form: equal levels have equal bytes, and those that differ have others. It holds neither the floor
    /// nor the seed, but a digest of the acts: levels that logs of one length lead to are equal only if no single act
    /// differs.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Writer::default();
        out.digest(self.floor_digest);
        out.digest(self.log);
        out.number(self.acts);
        out.number(self.rolls.count);
        self.hero.write(&mut out);
        write_point(&mut out, self.at);
        out.number(self.poison);
        out.number(self.held);
        out.number(match self.foe {
            None => 0,
            Some(Harm::Gas) => 1,
            Some(Harm::Monster(index)) => 2 + 2 * u64::from(index),
            Some(Harm::Trap(index)) => 3 + 2 * u64::from(index),
        });
        out.bits(self.known.iter());
        for (_, door) in &self.doors {
            out.number(door_number(*door));
        }
        out.bits(self.items.iter().map(|item| item.is_taken));
        for trap in &self.traps {
            out.number(trap.state as u8);
        }
        out.bits(self.shrines.iter().map(|(_, is_used)| *is_used));
        for monster in &self.monsters {
            write_monster(&mut out, monster);
        }
        out.into_bytes()
    }

    /// The level of a canonical form, on the same floor and with the same seed. It goes on as the saved one would.
    /// Whether acts lead to such a state, only [`replay`](crate::replay) knows.
    ///
    /// # Errors
    /// [`StateError`] if the bytes are none of this floor, or of another version.
    pub fn from_bytes(floor: &Floor<'_>, seed: u128, bytes: &[u8]) -> Result<Self, StateError> {
        let mut input = Reader::new(bytes)?;
        let mut level = Self::new(floor, Hero::default(), seed)?;
        if input.digest()? != level.floor_digest {
            return Err(StateError::OtherFloor);
        }
        level.log = input.digest()?;
        level.acts = input.number("count of acts", MAX_ACTS)?;
        level.rolls.count = input.number("count of rolls", u32::MAX)?;
        level.hero = Hero::read(&mut input)?;
        level.at = read_point(&mut input)?;
        level.poison = input.number("poison", u32::MAX)?;
        level.held = input.number("net", u32::MAX)?;
        level.foe = read_foe(&mut input, level.monsters.len(), level.traps.len())?;
        let known = &mut level.known;
        input.bits("known cell", floor.terrain.len(), |index, is_known| known.set_index(index, is_known))?;
        for index in 0..level.doors.len() {
            let door = read_door(&mut input, level.doors[index].1)?;
            level.set_door(index, door);
        }
        let items = &mut level.items;
        input.bits("item", items.len(), |index, is_taken| items[index].is_taken = is_taken)?;
        for trap in &mut level.traps {
            let states = [PitfallState::Hidden, PitfallState::Seen, PitfallState::Sprung];
            trap.state = states[usize::from(input.number("trap", 2u8)?)];
        }
        let shrines = &mut level.shrines;
        input.bits("shrine", shrines.len(), |index, is_used| shrines[index].1 = is_used)?;
        level.read_monsters(&mut input)?;
        level.check_sight(&input)?;
        input.end()?;
        Ok(level)
    }

    fn read_monsters(&mut self, input: &mut Reader<'_>) -> Result<(), StateError> {
        self.occupied.clear();
        for index in 0..self.monsters.len() {
            let monster = &mut self.monsters[index];
            read_monster(input, monster)?;
            let (at, is_alive) = (monster.at, monster.is_alive());
            let shares = is_alive && (self.occupied.contains(at) || at == self.at);
            if !self.passable.contains(at) || shares {
                return Err(input.wrong("place of a monster"));
            }
            if is_alive {
                self.occupied.set(at, true);
            }
        }
        Ok(())
    }

    /// The hero has seen what they see.
    fn check_sight(&mut self, input: &Reader<'_>) -> Result<(), StateError> {
        if !self.passable.contains(self.at) {
            return Err(input.wrong("place of the hero"));
        }
        self.see();
        if !self.visible.is_subset(&self.known) || (0..self.traps.len()).any(|trap| self.shows(trap)) {
            return Err(input.wrong("sight of the hero"));
        }
        Ok(())
    }
}

fn write_point(out: &mut Writer, at: Point) {
    out.number(at.x);
    out.number(at.y);
}

fn read_point(input: &mut Reader<'_>) -> Result<Point, StateError> {
    Ok(Point::new(input.number("column", u16::MAX)?, input.number("row", u16::MAX)?))
}

fn read_foe(input: &mut Reader<'_>, monsters: usize, traps: usize) -> Result<Option<Harm>, StateError> {
    let number = input.number("foe", u32::MAX)?;
    let (list, harm): (usize, fn(u32) -> Harm) = match number {
        0 => return Ok(None),
        1 => return Ok(Some(Harm::Gas)),
        _ if number % 2 == 0 => (monsters, Harm::Monster),
        _ => (traps, Harm::Trap),
    };
    let index = number / 2 - 1;
    if index as usize >= list {
        return Err(input.wrong("foe"));
    }
    Ok(Some(harm(index)))
}

const fn door_number(door: Door) -> u8 {
    match door {
        Door::Secret => 0,
        Door::Locked(_) => 1,
        Door::Closed => 2,
        Door::Open => 3,
    }
}

/// A door that was `before` on arrival.
fn read_door(input: &mut Reader<'_>, before: Door) -> Result<Door, StateError> {
    match (before, input.number("door", 3u8)?) {
        (_, 3) => Ok(Door::Open),
        (Door::Secret | Door::Closed, 2) => Ok(Door::Closed),
        (Door::Locked(_), 1) | (Door::Secret, 0) => Ok(before),
        _ => Err(input.wrong("door")),
    }
}

fn write_monster(out: &mut Writer, monster: &Monster) {
    write_point(out, monster.at);
    out.number(monster.health);
    out.number(monster.rest);
    out.number(match monster.mood {
        Mood::Asleep => 0,
        Mood::Calm => 1,
        Mood::Fleeing => 2,
        Mood::Hunting(turns) => 3 + turns,
    });
    if monster.mood == Mood::Calm {
        out.number(monster.route.steps);
        out.number(monster.route.bits);
    }
}

fn read_monster(input: &mut Reader<'_>, monster: &mut Monster) -> Result<(), StateError> {
    monster.at = read_point(input)?;
    monster.health = input.number("health of a monster", monster.most_health)?;
    monster.rest = input.number("rest of a monster", monster.pace)?;
    monster.mood = match input.number("mood of a monster", 3 + MEMORY)? {
        0 => Mood::Asleep,
        1 => Mood::Calm,
        2 => Mood::Fleeing,
        turns => Mood::Hunting(turns - 3),
    };
    monster.route = Route::default();
    if monster.mood == Mood::Calm {
        let steps = input.number("route of a monster", SEEK)?;
        let bits = input.number("route of a monster", (1u64 << (2 * steps)) - 1)?;
        monster.route = Route { steps, bits };
    }
    Ok(())
}
