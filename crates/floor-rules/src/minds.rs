//! What the monsters do in their turn.

use crate::{
    event::Harm,
    level::Level,
    monster::{Behaviour, Class, Mood},
    point::Point,
    ways::{Route, SEEK},
};

/// Turns for which a monster goes on hunting after it last saw the hero.
const MEMORY: u8 = 8;
/// A calm monster that is farther from the hero stays where it is, in steps. The hero does not see it, and on a large floor
/// such monsters would be most of the work.
const NEAR: u32 = 30;
/// How far a patrol or a wanderer goes from its home, in steps.
const ROUND: u8 = 14;
/// How far a monster notices the hero, in steps; one that sleeps; and how far a guard leaves its post.
const NOTICE: u32 = 9;
const NOISE: u32 = 2;
const LEASH: u32 = 7;
/// One in so many turns beside a sleeper wakes it.
const STEALTH: u32 = 3;

impl Level {
    /// The turn of each monster that lives, in the order of the floor's list, until the hero dies.
    pub(crate) fn monsters_act(&mut self) {
        // One search serves all: what monsters can enter does not change in their turn.
        let mut has_ways = false;
        for index in 0..self.monsters.len() {
            if self.is_lost() {
                break;
            }
            let monster = &self.monsters[index];
            let is_idle = monster.mood == Mood::Calm && monster.at.distance(self.at) > NEAR;
            if is_idle || !monster.is_alive() {
                continue;
            }
            self.notice(index);
            let mood = self.monsters[index].mood;
            if !has_ways && matches!(mood, Mood::Hunting(_) | Mood::Fleeing) {
                self.hero_ways.find(self.at, SEEK, None, &self.passable);
                has_ways = true;
            }
            match mood {
                Mood::Asleep => {}
                Mood::Calm => self.idle(index),
                Mood::Hunting(_) => self.hunt(index),
                Mood::Fleeing => self.flee(index),
            }
        }
    }

    /// What a monster feels when it sees the hero, or no longer does.
    fn notice(&mut self, index: usize) {
        let monster = &self.monsters[index];
        let sees = self.visible.contains(monster.at);
        let far = monster.at.distance(self.at);
        let strays = monster.behaviour == Behaviour::Guards && monster.home.distance(self.at) > LEASH;
        let mood = match monster.mood {
            Mood::Hunting(_) if strays && far > monster.reach => Mood::Calm,
            Mood::Hunting(_) if sees => Mood::Hunting(MEMORY),
            Mood::Hunting(turns) => turns.checked_sub(1).map_or(Mood::Calm, Mood::Hunting),
            Mood::Fleeing if !sees => Mood::Calm,
            Mood::Asleep if sees && far <= NOISE && self.rolls.below(STEALTH) == 0 => return self.rouse(index),
            Mood::Calm if sees && far <= NOTICE && !strays => return self.rouse(index),
            mood => mood,
        };
        self.monsters[index].mood = mood;
    }

    /// Sets a monster and its group on the hero.
    pub(crate) fn rouse(&mut self, index: usize) {
        self.change_group(index, |mood, _| match mood {
            Mood::Asleep | Mood::Calm => Mood::Hunting(MEMORY),
            _ => mood,
        });
    }

    /// The rest of a group flees when two thirds of it have fallen. Brutes and bosses never do.
    pub(crate) fn scatter(&mut self, index: usize) {
        let group = self.monsters[index].group;
        let members = || self.monsters.iter().filter(|monster| monster.group == group);
        let alive = members().filter(|monster| monster.is_alive()).count();
        if group != 0 && alive * 3 <= members().count() {
            self.change_group(index, |mood, class| match class {
                Class::Brute | Class::Boss => mood,
                _ => Mood::Fleeing,
            });
        }
    }

    /// Changes the moods of a monster and of its group. The fallen have none.
    fn change_group(&mut self, index: usize, change: impl Fn(Mood, Class) -> Mood) {
        let group = self.monsters[index].group;
        let members = if group == 0 { index..index + 1 } else { 0..self.monsters.len() };
        for monster in &mut self.monsters[members] {
            if monster.group == group && monster.is_alive() {
                monster.mood = change(monster.mood, monster.class);
                if monster.mood != Mood::Calm {
                    monster.route = Route::default();
                }
            }
        }
    }

    /// What the behaviour says, without the hero. Who finds its way barred turns round.
    fn idle(&mut self, index: usize) {
        let monster = &self.monsters[index];
        let mut route = monster.route;
        if route.steps == 0 {
            let goal = match monster.behaviour {
                Behaviour::Sleeps => return,
                Behaviour::Guards if monster.at == monster.home => return,
                Behaviour::Guards => monster.home,
                Behaviour::Wanders | Behaviour::Patrols => self.outing(index),
            };
            let at = self.monsters[index].at;
            self.ways.find(goal, SEEK, Some(at), &self.passable);
            route = self.ways.route(at);
        }
        let next = route.first().and_then(|direction| self.monsters[index].at.step(direction));
        let next = next.filter(|to| self.is_free(*to));
        self.monsters[index].route = if next.is_some() { route.rest() } else { Route::default() };
        next.into_iter().for_each(|to| self.enter(index, to));
    }

    /// Where a patrol goes, in the farther half of its round, or a wanderer within its room.
    fn outing(&mut self, index: usize) -> Point {
        let home = self.monsters[index].home;
        self.ways.find(home, ROUND, None, &self.passable);
        if self.monsters[index].behaviour == Behaviour::Patrols {
            // A floor has at most 2^18 cells, and the home is one at least.
            let reached = self.ways.reached().len() as u32;
            let chosen = reached / 2 + self.rolls.below(reached - reached / 2);
            return self.ways.reached().nth(chosen as usize).unwrap_or(home);
        }
        let room = |at: Point| self.region[at.index(self.width)];
        let in_room = || self.ways.reached().filter(|at| room(*at) == room(home));
        let chosen = self.rolls.below(in_room().count() as u32);
        in_room().nth(chosen as usize).unwrap_or(home)
    }

    /// Hits if the hero is within reach and in sight, else comes nearer.
    fn hunt(&mut self, index: usize) {
        let monster = &mut self.monsters[index];
        monster.rest = monster.rest.saturating_sub(1);
        if monster.at.distance(self.at) > monster.reach || !self.visible.contains(monster.at) {
            self.follow(index);
        } else if monster.rest == 0 {
            monster.rest = monster.pace;
            let hit = monster.damage.saturating_add(self.rolls.below(2));
            self.hurt(hit, Harm::Monster(index as u32));
        }
    }

    /// A step on the shortest way to the hero.
    fn follow(&mut self, index: usize) {
        let at = self.monsters[index].at;
        let nearer = self.hero_ways.steps(at).and_then(|steps| steps.checked_sub(1));
        let is_nearer = |to: &Point| nearer.is_some() && self.hero_ways.steps(*to) == nearer;
        if let Some(to) = at.neighbours().find(|to| is_nearer(to) && self.is_free(*to)) {
            self.enter(index, to);
        }
    }

    /// A step away from the hero. In a corner it fights.
    fn flee(&mut self, index: usize) {
        let at = self.monsters[index].at;
        let farther = self.hero_ways.steps(at).map(|steps| steps + 1);
        let is_farther = |to: &Point| farther.is_some() && self.hero_ways.steps(*to) == farther;
        match at.neighbours().find(|to| is_farther(to) && self.is_free(*to)) {
            Some(to) => self.enter(index, to),
            None => self.hunt(index),
        }
    }

    fn enter(&mut self, index: usize, to: Point) {
        self.occupied.set(self.monsters[index].at, false);
        self.occupied.set(to, true);
        self.monsters[index].at = to;
        self.open(to);
    }

    fn is_free(&self, at: Point) -> bool {
        self.passable.contains(at) && at != self.at && !self.occupied.contains(at)
    }
}
