//! The player's body and belongings, which outlast a floor.

/// The player.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hero {
    pub health: u32,
    pub most_health: u32,
    /// The damage of a strike.
    pub attack: u32,
    /// What each hit loses.
    pub armour: u32,
    pub gold: u32,
    pub potions: u32,
    pub slain: u32,
    pub turns: u32,
}

/// What a merchant sells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ware {
    Potion,
    Blade,
    Mail,
}

impl Default for Hero {
    fn default() -> Self {
        Self { health: 40, most_health: 40, attack: 3, armour: 0, gold: 0, potions: 1, slain: 0, turns: 0 }
    }
}

impl Hero {
    /// Takes a hit, of which armour leaves at least 1. Returns the damage.
    pub fn hurt(&mut self, hit: u32) -> u32 {
        let damage = hit.saturating_sub(self.armour).max(1);
        self.health = self.health.saturating_sub(damage);
        damage
    }

    /// Returns by how much health rose.
    pub fn heal(&mut self, by: u32) -> u32 {
        let healed = by.min(self.most_health - self.health);
        self.health += healed;
        healed
    }

    /// Heals by half of all health.
    pub fn drink(&mut self) -> Option<u32> {
        self.potions = self.potions.checked_sub(1)?;
        Some(self.heal(self.most_health / 2))
    }

    /// In gold. Each blade and each mail costs more than the one before.
    pub fn price(&self, ware: Ware) -> u32 {
        match ware {
            Ware::Potion => 40,
            Ware::Blade => 25 * self.attack,
            Ware::Mail => 75 * (self.armour + 1),
        }
    }

    /// Returns whether the gold sufficed.
    pub fn buy(&mut self, ware: Ware) -> bool {
        let Some(rest) = self.gold.checked_sub(self.price(ware)) else { return false };
        self.gold = rest;
        match ware {
            Ware::Potion => self.potions += 1,
            Ware::Blade => self.attack += 1,
            Ware::Mail => self.armour += 1,
        }
        true
    }

    /// Takes an item to use or to keep. Treasure is gold.
    pub fn take(&mut self, archetype: &str, value: u32) {
        match archetype {
            "potion" => self.potions += 1,
            "bread" => _ = self.heal(6),
            "blade" => self.attack += 1,
            "elixir" | "blessing" => {
                self.most_health += 3;
                self.health = self.most_health;
            }
            _ => self.gold = self.gold.saturating_add(value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn armour_leaves_a_scratch() {
        let mut hero = Hero { armour: 2, ..Hero::default() };
        assert_eq!((hero.hurt(5), hero.hurt(1), hero.health), (3, 1, 36));
        assert_eq!((hero.hurt(99), hero.health), (97, 0));
    }

    #[test]
    fn a_ware_costs_gold_and_the_next_costs_more() {
        let mut hero = Hero { gold: 100, ..Hero::default() };
        let before = hero.price(Ware::Blade);
        assert!(hero.buy(Ware::Blade) && hero.attack == 4 && hero.gold == 100 - before);
        assert!(hero.price(Ware::Blade) > before && !hero.buy(Ware::Blade));
        assert_eq!(hero.gold, 100 - before);
    }

    #[test]
    fn a_potion_heals_half_and_no_more_than_all() {
        let mut hero = Hero { health: 10, most_health: 30, ..Hero::default() };
        assert_eq!((hero.drink(), hero.health, hero.drink()), (Some(15), 25, None));
    }
}
