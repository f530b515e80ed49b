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
    pub fn heal(&mut self, by: u32) {
        self.health = self.most_health.min(self.health.saturating_add(by));
    }

    /// Rests on the stairs.
    pub fn rest(&mut self) {
        self.heal(self.most_health / 4);
    }

    /// Drinks a potion, which they have.
    pub fn drink(&mut self) {
        self.potions -= 1;
        self.heal(self.most_health / 2);
    }

    /// In gold. Each blade and each mail costs more than the one before.
    pub fn price(&self, ware: Ware) -> u32 {
        match ware {
            Ware::Potion => 40,
            Ware::Blade => 25 * self.attack,
            Ware::Mail => 75 * (self.armour + 1),
        }
    }

    /// Pays for a ware. Returns whether the gold sufficed.
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
            "bread" => self.heal(6),
            "blade" => self.attack += 1,
            "elixir" | "blessing" => {
                self.most_health += 3;
                self.health = self.most_health;
            }
            _ => self.gold = self.gold.saturating_add(value),
        }
    }
}
