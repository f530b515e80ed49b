//! What the monsters do in their turn.

use floor_client::Behaviour;
use glam::UVec2;

use crate::{Class, Level, Monster, Mood, ways::Ways};

/// Turns for which a monster hunts a player whom it does not see.
const MEMORY: u32 = 8;
/// How far a monster finds its way, and how far a patrol goes from its post, in steps.
const SEEK: u32 = 30;
const ROUND: u32 = 14;
/// How far a monster notices the player, in cells; one that sleeps; and how far a guard leaves its post.
const NOTICE: u32 = 9;
const NOISE: u32 = 2;
const LEASH: u32 = 7;

impl Level {
    pub(crate) fn monsters_act(&mut self) {
        let ways = self.ways_to(self.player, SEEK);
        for index in 0..self.monsters.len() {
            if self.monsters[index].is_alive() {
                self.notice(index);
                match self.monsters[index].mood {
                    Mood::Asleep => {}
                    Mood::Calm => self.idle(index),
                    Mood::Hunting(_) => self.hunt(index, &ways),
                    Mood::Fleeing => self.flee(index, &ways),
                }
            }
        }
    }

    /// What a monster feels when it sees the player, or no longer does.
    fn notice(&mut self, index: usize) {
        let monster = &self.monsters[index];
        let sees = self.visible.contains(&monster.at);
        let far = monster.at.manhattan_distance(self.player);
        let strays = monster.behaviour == Behaviour::Guards && monster.home.manhattan_distance(self.player) > LEASH;
        let mood = match monster.mood {
            Mood::Hunting(_) if strays && far > monster.reach => Mood::Calm,
            Mood::Hunting(_) if sees => Mood::Hunting(MEMORY),
            Mood::Hunting(turns) => turns.checked_sub(1).map_or(Mood::Calm, Mood::Hunting),
            Mood::Fleeing if !sees => Mood::Calm,
            Mood::Asleep if sees && far <= NOISE && self.rng.u8(0..3) == 0 => return self.rouse(index),
            Mood::Calm if sees && far <= NOTICE && !strays => return self.rouse(index),
            mood => mood,
        };
        self.monsters[index].mood = mood;
    }

    /// The monsters of the same group.
    fn group(&self, index: usize) -> Vec<usize> {
        let group = self.monsters[index].group;
        let is_member = |other: &usize| *other == index || (group != 0 && self.monsters[*other].group == group);
        (0..self.monsters.len()).filter(is_member).collect()
    }

    /// Sets a monster and its group on the player.
    pub(crate) fn rouse(&mut self, index: usize) {
        for member in self.group(index) {
            if matches!(self.monsters[member].mood, Mood::Asleep | Mood::Calm) {
                self.monsters[member].mood = Mood::Hunting(MEMORY);
            }
        }
    }

    /// The rest of a group flees when two thirds of it have fallen. Brutes and bosses never do.
    pub(crate) fn scatter(&mut self, index: usize) {
        let group = self.group(index);
        let alive = group.iter().filter(|member| self.monsters[**member].is_alive()).count();
        for member in group.iter().filter(|_| alive * 3 <= group.len()) {
            if !matches!(self.monsters[*member].class, Class::Brute | Class::Boss) {
                self.monsters[*member].mood = Mood::Fleeing;
            }
        }
    }

    /// What the behaviour says, without the player.
    fn idle(&mut self, index: usize) {
        let monster = &self.monsters[index];
        let at = monster.at;
        let goal = match monster.behaviour {
            Behaviour::Sleeps => at,
            Behaviour::Wanders | Behaviour::Patrols if at == monster.goal => self.outing(index),
            Behaviour::Wanders | Behaviour::Patrols => monster.goal,
            _ => monster.home,
        };
        let goes = at != goal && self.follow(index, &self.ways_to(goal, SEEK));
        // Who finds no way turns round.
        self.monsters[index].goal = if goes { goal } else { at };
    }

    /// Where a patrol goes from its post, or a wanderer within its room.
    fn outing(&mut self, index: usize) -> UVec2 {
        let Monster { home, behaviour, .. } = self.monsters[index];
        let mut round = self.ways_to(home, ROUND).reached;
        let room = |at: UVec2| self.floor.room_at(at.x, at.y).map(|room| room.id);
        match behaviour {
            Behaviour::Patrols => drop(round.drain(..round.len() / 2)),
            _ => round.retain(|at| room(*at) == room(home)),
        }
        round[self.rng.usize(..round.len())]
    }

    /// Hits if the player is within reach and in sight, else comes nearer.
    fn hunt(&mut self, index: usize, ways: &Ways) {
        let monster = &mut self.monsters[index];
        monster.rest = monster.rest.saturating_sub(1);
        let (at, reach, rest) = (monster.at, monster.reach, monster.rest);
        if at.manhattan_distance(self.player) > reach || !self.visible.contains(&at) {
            self.follow(index, ways);
        } else if rest == 0 {
            let monster = &mut self.monsters[index];
            monster.rest = monster.pace;
            let (hit, name) = (monster.damage + self.rng.u32(0..=1), monster.name.clone());
            self.hurt(hit, &name);
        }
    }

    /// Goes away from the player. In a corner it fights.
    fn flee(&mut self, index: usize, ways: &Ways) {
        let at = self.monsters[index].at;
        let away = ways.around(at).filter(|(to, steps)| Some(*steps) > ways.steps(at) && self.is_free(*to));
        match away.max_by_key(|(_, steps)| *steps) {
            Some((to, _)) => self.enter(index, to),
            None => self.hunt(index, ways),
        }
    }

    /// A step along a way. Returns whether there was one.
    fn follow(&mut self, index: usize, ways: &Ways) -> bool {
        let at = self.monsters[index].at;
        let nearer = ways.around(at).filter(|(to, steps)| Some(*steps) < ways.steps(at) && self.is_free(*to));
        let next = nearer.min_by_key(|(_, steps)| *steps);
        next.inspect(|(to, _)| self.enter(index, *to)).is_some()
    }

    fn enter(&mut self, index: usize, to: UVec2) {
        self.monsters[index].at = to;
        self.open(to);
    }

    fn is_free(&self, at: UVec2) -> bool {
        self.is_passable(at) && at != self.player && self.monster_at(at).is_none()
    }

    fn ways_to(&self, goal: UVec2, limit: u32) -> Ways {
        Ways::to(goal, &self.floor, limit, |at| self.is_passable(at))
    }
}
