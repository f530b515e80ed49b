//! What the hero does.

use crate::{
    act::{Act, Ware},
    event::{Event, Harm, Refusal},
    level::{Door, Level, SEARCH},
    monster::Mood,
    point::{Direction, Point},
    things::{LootKind, PitfallKind, PitfallState},
};

/// Turns for which a net holds.
const NET: u32 = 3;
/// The health that bread gives, in points.
const BREAD: u32 = 6;
/// By how much an elixir raises the most health, in points.
const ELIXIR: u32 = 3;

impl Level {
    /// Does an act, or nothing if it is impossible.
    pub(crate) fn do_deed(&mut self, act: Act) -> Result<(), Refusal> {
        match act {
            Act::Step(direction) => self.step(direction),
            Act::Search => {
                self.search();
                Ok(())
            }
            Act::Drink => self.drink(),
            Act::Buy(ware) => self.buy(ware),
        }
    }

    fn step(&mut self, direction: Direction) -> Result<(), Refusal> {
        let to = self.at.step(direction).ok_or(Refusal::Blocked)?;
        if let Some(monster) = self.monster_at(to) {
            self.strike(monster);
        } else if self.held > 0 {
            self.held -= 1;
            self.events.push(Event::Held);
        } else if !self.can_pass(to) {
            return Err(match self.door(to) {
                Some(Door::Locked(lock)) => Refusal::Locked { lock },
                _ => Refusal::Blocked,
            });
        } else if let Some(boss) = self.bar().filter(|_| to == self.exit()) {
            return Err(Refusal::Barred { monster: boss as u32 });
        } else {
            self.walk(to);
        }
        Ok(())
    }

    /// A sleeper takes twice the damage.
    fn strike(&mut self, index: usize) {
        let might = self.hero.attack.saturating_add(self.rolls.below(2));
        let monster = &mut self.monsters[index];
        let damage = if monster.mood == Mood::Asleep { might.saturating_mul(2) } else { might };
        monster.health = monster.health.saturating_sub(damage);
        let (at, is_fatal) = (monster.at, !monster.is_alive());
        self.events.push(Event::Struck { monster: index as u32, at, damage, is_fatal });
        if is_fatal {
            self.occupied.set(at, false);
            self.hero.slain = self.hero.slain.saturating_add(1);
        }
        self.rouse(index);
        self.scatter(index);
    }

    /// Enters a cell, and opens its door. Takes what lies there, else is healed, else springs a trap.
    fn walk(&mut self, to: Point) {
        self.at = to;
        if let Some(Door::Locked(lock)) = self.door(to) {
            self.events.push(Event::Unlocked { lock });
        }
        self.open(to);
        self.look();
        let is_hurt = self.hero.health < self.hero.most_health;
        let shrine = self.shrines.iter_mut().find(|shrine| is_hurt && **shrine == (to, false));
        if let Some(index) = self.items.iter().position(|item| item.at == to && !item.is_taken) {
            self.take(index);
        } else if let Some(shrine) = shrine {
            shrine.1 = true;
            let healed = self.hero.heal(u32::MAX);
            self.events.push(Event::Blessed { healed });
        } else if let Some(index) =
            self.traps.iter().position(|trap| trap.at == to && trap.state != PitfallState::Sprung)
        {
            self.spring(index);
        }
    }

    fn take(&mut self, index: usize) {
        self.items[index].is_taken = true;
        let mut healed = 0;
        match self.items[index].kind {
            LootKind::Key(_) => {}
            LootKind::Potion => self.hero.get(Ware::Potion),
            LootKind::Blade => self.hero.get(Ware::Blade),
            LootKind::Bread => healed = self.hero.heal(BREAD),
            LootKind::Elixir => healed = self.hero.grow(ELIXIR),
            LootKind::Scroll(value) => {
                self.known.extend(&self.passable);
                self.gain(value);
            }
            LootKind::Map(value) => {
                self.find_doors(|_| true);
                self.gain(value);
            }
            LootKind::Treasure(value) => self.gain(value),
        }
        self.events.push(Event::Took { item: index as u32, healed });
    }

    const fn gain(&mut self, gold: u32) {
        self.hero.gold = self.hero.gold.saturating_add(gold);
    }

    fn spring(&mut self, index: usize) {
        self.traps[index].state = PitfallState::Sprung;
        let trap = index as u32;
        match self.traps[index].kind {
            PitfallKind::Net => self.held = NET,
            PitfallKind::Gas(turns) => self.poison = self.poison.saturating_add(turns),
            PitfallKind::Blades(hit) => return self.hurt(hit, Harm::Trap(trap)),
        }
        self.events.push(Event::Sprung { trap });
    }

    fn search(&mut self) {
        let at = self.at;
        let is_found = self.find_doors(|door| door.is_within(SEARCH, at));
        self.events.push(Event::Searched { is_found });
    }

    /// Finds the secret doors of some cells. Returns whether there were any.
    fn find_doors(&mut self, is_searched: impl Fn(Point) -> bool) -> bool {
        let mut is_found = false;
        for index in 0..self.doors.len() {
            let (at, door) = self.doors[index];
            if door == Door::Secret && is_searched(at) {
                self.set_door(index, Door::Closed);
                is_found = true;
            }
        }
        is_found
    }

    fn drink(&mut self) -> Result<(), Refusal> {
        if self.hero.potions == 0 {
            return Err(Refusal::NoPotion);
        }
        let healed = self.hero.drink();
        self.events.push(Event::Drank { healed });
        Ok(())
    }

    fn buy(&mut self, ware: Ware) -> Result<(), Refusal> {
        if self.merchant().is_none() {
            return Err(Refusal::NoMerchant);
        }
        let price = self.hero.price(ware);
        self.hero.gold = self.hero.gold.checked_sub(price).ok_or(Refusal::TooDear { price })?;
        self.hero.get(ware);
        self.events.push(Event::Bought(ware));
        Ok(())
    }
}
