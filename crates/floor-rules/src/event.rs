//! What comes of an act: events, or a refusal.

use core::fmt;

use crate::{act::Ware, point::Point};

/// The most acts of a hero on a floor.
pub const MAX_ACTS: u16 = 10_000;

/// Something that came of a turn. Numbers of monsters, items and traps are their places in the lists of the floor;
/// health is in points.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Event {
    /// The hero struck a monster.
    Struck {
        /// Which.
        monster: u32,
        /// Where it stood.
        at: Point,
        /// What it lost, or more if it fell.
        damage: u32,
        /// Whether it fell.
        is_fatal: bool,
    },
    /// The hero was hurt.
    Hurt {
        /// By what.
        by: Harm,
        /// What the hero lost, or more if they died.
        damage: u32,
    },
    /// A net holds the hero, who did not get away.
    Held,
    /// The hero opened a locked door.
    Unlocked {
        /// The id of the lock.
        lock: u32,
    },
    /// The hero took an item.
    Took {
        /// Which.
        item: u32,
        /// The health that it gave.
        healed: u32,
    },
    /// A shrine healed the hero.
    Blessed {
        /// The health that it gave.
        healed: u32,
    },
    /// The hero stepped into gas or a net. A trap that hurts at once is [`Self::Hurt`].
    Sprung {
        /// Which.
        trap: u32,
    },
    /// The hero drank a potion.
    Drank {
        /// The health that it gave.
        healed: u32,
    },
    /// The hero bought something.
    Bought(Ware),
    /// The hero searched.
    Searched {
        /// Whether a secret door was found.
        is_found: bool,
    },
}

/// What hurts the hero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Harm {
    /// The gas of a trap, turns later.
    Gas,
    /// The monster of that number.
    Monster(u32),
    /// The trap of that number.
    Trap(u32),
}

/// Why an act is impossible. It has changed nothing and taken no time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Refusal {
    /// The hero has died or left the floor.
    Over,
    /// The hero has acted [`MAX_ACTS`] times on the floor.
    TooManyActs,
    /// Nobody can enter the cell.
    Blocked,
    /// The door is locked, and the hero has no key of this lock.
    Locked {
        /// The id of the lock.
        lock: u32,
    },
    /// A boss bars the stairs.
    Barred {
        /// The number of the boss.
        monster: u32,
    },
    /// The hero has no potion.
    NoPotion,
    /// No merchant is beside the hero.
    NoMerchant,
    /// The hero has too little gold.
    TooDear {
        /// In gold.
        price: u32,
    },
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Over => f.write_str("the hero has died or left the floor"),
            Self::TooManyActs => write!(f, "a hero acts at most {MAX_ACTS} times on a floor"),
            Self::Blocked => f.write_str("nobody can enter the cell"),
            Self::Locked { lock } => write!(f, "the door has lock {lock}, and the hero lacks its key"),
            Self::Barred { monster } => write!(f, "the boss, monster {monster}, bars the stairs"),
            Self::NoPotion => f.write_str("the hero has no potion"),
            Self::NoMerchant => f.write_str("no merchant is beside the hero"),
            Self::TooDear { price } => write!(f, "the ware costs {price} gold, and the hero has less"),
        }
    }
}

impl core::error::Error for Refusal {}
