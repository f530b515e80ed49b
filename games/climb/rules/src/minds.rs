//! What the monsters do in their turn.

use floor_client::Behaviour;
use glam::UVec2;

use crate::{Class, Level, Mood, Outcome, Sight, ways::Ways};

/// Turns for which a monster hunts a player whom it does not see.
const MEMORY: u32 = 8;
/// How far a hunter finds its way, in steps.
const HUNT: u32 = 30;
/// How far a patrol goes from its post, in steps.
const ROUND: u32 = 14;
/// How far a monster notices the player, in cells; one that sleeps; and how far a guard leaves its post.
const NOTICE: u32 = 9;
const NOISE: u32 = 2;
const LEASH: u32 = 7;

impl Level {
    pub(crate) fn monsters_act(&mut self, outcomes: &mut Vec<Outcome>) {
        let ways = self.ways_to(self.player, HUNT);
        for index in 0..self.monsters.len() {
            if !self.monsters[index].is_alive() {
                continue;
            }
            self.notice(index);
            match self.monsters[index].mood {
                Mood::Asleep => {}
                Mood::Calm => self.idle(index),
                Mood::Hunting(_) => outcomes.extend(self.hunt(index, &ways)),
                Mood::Fleeing => outcomes.extend(self.flee(index, &ways)),
            }
        }
    }

    /// What a monster feels when it sees the player, or no longer does.
    fn notice(&mut self, index: usize) {
        let monster = &self.monsters[index];
        let sees = self.sight(monster.at) == Sight::Visible;
        let far = monster.at.manhattan_distance(self.player);
        let strays = monster.behaviour == Behaviour::Guards && monster.home.manhattan_distance(self.player) > LEASH;
        let mood = match monster.mood {
            Mood::Hunting(_) if strays && far > monster.class.reach() => Mood::Calm,
            Mood::Hunting(_) if sees => Mood::Hunting(MEMORY),
            Mood::Hunting(0) => Mood::Calm,
            Mood::Hunting(turns) => Mood::Hunting(turns - 1),
            Mood::Fleeing if !sees => Mood::Calm,
            Mood::Asleep if sees && far <= NOISE && self.rng.u8(0..3) == 0 => return self.rouse(index),
            Mood::Calm if sees && far <= NOTICE && !strays => return self.rouse(index),
            mood => mood,
        };
        self.monsters[index].mood = mood;
    }

    /// Sets a monster and its group on the player.
    pub(crate) fn rouse(&mut self, index: usize) {
        let group = self.monsters[index].group;
        for (other, monster) in self.monsters.iter_mut().enumerate() {
            let is_called = other == index || (group != 0 && monster.group == group);
            if is_called && matches!(monster.mood, Mood::Asleep | Mood::Calm) {
                monster.mood = Mood::Hunting(MEMORY);
            }
        }
    }

    /// The rest of a group flees when two thirds of it have fallen. Brutes and bosses never do.
    pub(crate) fn scatter(&mut self, fallen: usize) {
        let group = self.monsters[fallen].group;
        let members = self.monsters.iter().filter(|monster| group != 0 && monster.group == group);
        let (all, alive) = (members.clone().count(), members.filter(|monster| monster.is_alive()).count());
        if alive * 3 > all {
            return;
        }
        for monster in self.monsters.iter_mut().filter(|monster| group != 0 && monster.group == group) {
            if !matches!(monster.class, Class::Brute | Class::Boss) {
                monster.mood = Mood::Fleeing;
            }
        }
    }

    /// What the behaviour says, without the player.
    fn idle(&mut self, index: usize) {
        let (at, home, goal) = (self.monsters[index].at, self.monsters[index].home, self.monsters[index].goal);
        match self.monsters[index].behaviour {
            Behaviour::Wanders => self.stroll(index),
            Behaviour::Patrols if at == goal => {
                let round = self.ways_to(home, ROUND);
                let far = round.reached.len() / 2;
                self.monsters[index].goal = round.reached[self.rng.usize(far..round.reached.len())];
            }
            Behaviour::Patrols => self.approach(index, goal),
            Behaviour::Guards if at != home => self.approach(index, home),
            _ => {}
        }
    }

    /// A step within the room, every other turn.
    fn stroll(&mut self, index: usize) {
        let (at, home) = (self.monsters[index].at, self.monsters[index].home);
        let room = |at: UVec2| self.floor.room_at(at.x, at.y).map(|room| room.id);
        let step = crate::STEPS[self.rng.usize(0..4)];
        let to = self.neighbour(at, step).filter(|to| self.is_free(*to) && room(*to) == room(home));
        if let Some(to) = to.filter(|_| self.rng.bool()) {
            self.enter(index, to);
        }
    }

    fn approach(&mut self, index: usize, goal: UVec2) {
        let ways = self.ways_to(goal, 2 * ROUND);
        if !self.follow(index, &ways) {
            // Somebody stands in the way, or the goal is too far. A patrol turns round.
            self.monsters[index].goal = self.monsters[index].at;
        }
    }

    /// Hits if the player is within reach and in sight, else comes nearer.
    fn hunt(&mut self, index: usize, ways: &Ways) -> Option<Outcome> {
        let monster = &mut self.monsters[index];
        monster.rest = monster.rest.saturating_sub(1);
        let (at, class, rest) = (monster.at, monster.class, monster.rest);
        if at.manhattan_distance(self.player) > class.reach() || self.sight(at) != Sight::Visible {
            self.follow(index, ways);
            return None;
        }
        (rest == 0).then(|| self.hit(index))
    }

    fn hit(&mut self, index: usize) -> Outcome {
        let monster = &mut self.monsters[index];
        monster.rest = monster.class.pace();
        let hit = monster.class.damage(monster.level) + self.rng.u32(0..=1);
        Outcome::Hit { by: monster.archetype.clone(), damage: self.hero.hurt(hit) }
    }

    /// Goes away from the player. In a corner it fights.
    fn flee(&mut self, index: usize, ways: &Ways) -> Option<Outcome> {
        let at = self.monsters[index].at;
        let own = ways.steps(at)?;
        let away = ways.around(at).filter(|(to, steps)| *steps > own && self.is_free(*to));
        match away.max_by_key(|(_, steps)| *steps) {
            Some((to, _)) => self.enter(index, to),
            None => return self.hunt(index, ways),
        }
        None
    }

    /// A step along a way. Returns whether there was one.
    fn follow(&mut self, index: usize, ways: &Ways) -> bool {
        let at = self.monsters[index].at;
        let Some(own) = ways.steps(at) else { return false };
        let nearer = ways.around(at).filter(|(to, steps)| *steps < own && self.is_free(*to)).min_by_key(|way| way.1);
        if let Some((to, _)) = nearer {
            self.enter(index, to);
        }
        nearer.is_some()
    }

    /// Goes to a cell. Opens its door.
    fn enter(&mut self, index: usize, to: UVec2) {
        self.monsters[index].at = to;
        if self.is_closed_door(to) {
            self.open.insert(to);
            self.look();
        }
    }

    fn is_free(&self, at: UVec2) -> bool {
        self.is_open_to_monsters(at) && at != self.player && self.monster_at(at).is_none()
    }

    /// Monsters open doors, but no locks, and know no secrets.
    fn is_open_to_monsters(&self, at: UVec2) -> bool {
        self.open.contains(&at) || self.floor.passable(at.x, at.y)
    }

    fn ways_to(&self, goal: UVec2, limit: u32) -> Ways {
        Ways::to(goal, self.size(), limit, |at| self.is_open_to_monsters(at))
    }
}
