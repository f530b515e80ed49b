//! The hero's body and belongings, which outlast a floor.

use crate::act::Ware;

/// The hero. The default one begins a climb.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Hero {
    /// In points; 0: dead.
    pub health: u32,
    /// The most health that they can have, in points.
    pub most_health: u32,
    /// The least damage of a strike, in points.
    pub attack: u32,
    /// What each hit loses, in points.
    pub armour: u32,
    /// In pieces.
    pub gold: u32,
    /// How many they carry.
    pub potions: u32,
    /// The monsters that they felled.
    pub slain: u32,
    /// Their acts on all floors.
    pub turns: u32,
}

impl Default for Hero {
    fn default() -> Self {
        Self { health: 40, most_health: 40, attack: 3, armour: 0, gold: 0, potions: 1, slain: 0, turns: 0 }
    }
}

impl Hero {
    /// In gold. Each blade and each mail costs more than the one before.
    #[must_use]
    pub const fn price(&self, ware: Ware) -> u32 {
        match ware {
            Ware::Potion => 40,
            Ware::Blade => self.attack.saturating_mul(25),
            Ware::Mail => self.armour.saturating_add(1).saturating_mul(75),
        }
    }

    /// Returns the health that this gave.
    pub(crate) fn heal(&mut self, by: u32) -> u32 {
        let healed = by.min(self.most_health.saturating_sub(self.health));
        self.health += healed;
        healed
    }

    /// Drinks a potion, which they have. Returns the health that this gave.
    pub(crate) fn drink(&mut self) -> u32 {
        self.potions -= 1;
        self.heal(self.most_health / 2)
    }

    /// Gets a ware that is paid for.
    pub(crate) fn get(&mut self, ware: Ware) {
        let kept = match ware {
            Ware::Potion => &mut self.potions,
            Ware::Blade => &mut self.attack,
            Ware::Mail => &mut self.armour,
        };
        *kept = kept.saturating_add(1);
    }

    /// Becomes hardier, and whole. Returns the health that this gave.
    pub(crate) fn grow(&mut self, by: u32) -> u32 {
        self.most_health = self.most_health.saturating_add(by);
        self.heal(u32::MAX)
    }
}
