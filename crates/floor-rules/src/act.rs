//! What the hero does in a turn, as one byte.

use crate::point::Direction;

/// What the hero does in a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Act {
    /// Walks to a neighbour: opens its door, takes what lies there, leaves by the stairs. Strikes a monster in the way
    /// instead.
    Step(Direction),
    /// Waits, and finds the secret doors nearby.
    Search,
    /// Drinks a potion.
    Drink,
    /// Buys from a merchant.
    Buy(Ware),
}

/// What a merchant sells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Ware {
    /// To drink once.
    Potion,
    /// One more damage with each strike.
    Blade,
    /// One less damage of each hit.
    Mail,
}

impl Act {
    /// Every act. Its place is its byte in a log.
    pub const ALL: [Self; 9] = [
        Self::Step(Direction::North),
        Self::Step(Direction::West),
        Self::Step(Direction::East),
        Self::Step(Direction::South),
        Self::Search,
        Self::Drink,
        Self::Buy(Ware::Potion),
        Self::Buy(Ware::Blade),
        Self::Buy(Ware::Mail),
    ];

    /// The act of a byte; `None` from 9 on.
    #[must_use]
    pub fn from_byte(byte: u8) -> Option<Self> {
        Self::ALL.get(usize::from(byte)).copied()
    }

    /// Its byte in a log.
    #[must_use]
    pub const fn to_byte(self) -> u8 {
        match self {
            Self::Step(direction) => direction as u8,
            Self::Search => 4,
            Self::Drink => 5,
            Self::Buy(ware) => 6 + ware as u8,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_act_has_the_byte_of_its_place_and_no_other_byte_is_an_act() {
        for byte in 0..=u8::MAX {
            assert_eq!(Act::from_byte(byte).map(Act::to_byte), (byte < 9).then_some(byte));
        }
    }
}
