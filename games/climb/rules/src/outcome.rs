//! What came of a turn, and the words for it.

use std::fmt;

use glam::UVec2;

use crate::hero::Ware;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    Blocked,
    Walked,
    OpenedDoor,
    Unlocked(u32),
    NeedsKey(u32),
    /// The player struck a monster.
    Struck {
        at: UVec2,
        archetype: String,
        damage: u32,
        falls: bool,
    },
    /// A monster hit the player.
    Hit {
        by: String,
        damage: u32,
    },
    PickedUp {
        archetype: String,
        value: u32,
    },
    Key(u32),
    Trapped {
        archetype: String,
        damage: u32,
    },
    /// The net holds.
    Held,
    Poisoned(u32),
    Searched {
        found: usize,
    },
    Drank(u32),
    NoPotion,
    Bought(Ware),
    TooDear(u32),
    NoMerchant,
    Prayed(u32),
    /// A boss bars the stairs.
    Barred(String),
    ReachedExit,
    Died {
        by: String,
    },
}

impl Outcome {
    /// Whether the monsters have a turn after it.
    pub fn takes_time(&self) -> bool {
        !matches!(
            self,
            Self::Blocked
                | Self::NeedsKey(_)
                | Self::NoPotion
                | Self::TooDear(_)
                | Self::NoMerchant
                | Self::Barred(_)
                | Self::ReachedExit
        )
    }

    /// What kills, if the player's health is gone.
    pub fn killer(&self) -> Option<&str> {
        match self {
            Self::Hit { by: name, .. } | Self::Trapped { archetype: name, .. } => Some(name),
            Self::Poisoned(_) => Some("gas"),
            _ => None,
        }
    }
}

/// An archetype in words.
pub fn plain(archetype: &str) -> String {
    archetype.replace('_', " ")
}

impl fmt::Display for Outcome {
    /// What the player reads. Empty if nothing is worth a word.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Blocked | Self::Walked | Self::ReachedExit => Ok(()),
            Self::OpenedDoor => write!(f, "The door opens."),
            Self::Unlocked(lock) => write!(f, "Key {lock} fits. The door opens."),
            Self::NeedsKey(lock) => write!(f, "Locked. Key {lock} lies elsewhere on this floor."),
            Self::Struck { archetype, falls: true, .. } => write!(f, "The {} falls.", plain(archetype)),
            Self::Struck { archetype, damage, .. } => write!(f, "You strike the {}: {damage}.", plain(archetype)),
            Self::Hit { by, damage } => write!(f, "The {} hits you: {damage}.", plain(by)),
            Self::Key(lock) => write!(f, "You take key {lock}."),
            Self::PickedUp { archetype, value } => picked_up(f, archetype, *value),
            Self::Trapped { archetype, damage: 0 } => write!(f, "A trap: {}!", plain(archetype)),
            Self::Trapped { archetype, damage } => write!(f, "A trap, {}: {damage}!", plain(archetype)),
            Self::Held => write!(f, "The net holds you."),
            Self::Poisoned(damage) => write!(f, "The gas burns: {damage}."),
            Self::Searched { found: 0 } => write!(f, "You wait and search."),
            Self::Searched { .. } => write!(f, "You find a secret door!"),
            Self::Drank(healed) => write!(f, "You drink: {healed} health."),
            Self::NoPotion => write!(f, "You have no potion."),
            Self::Bought(Ware::Potion) => write!(f, "You buy a potion."),
            Self::Bought(Ware::Blade) => write!(f, "You buy a better blade."),
            Self::Bought(Ware::Mail) => write!(f, "You buy stronger mail."),
            Self::TooDear(price) => write!(f, "That costs {price} gold."),
            Self::NoMerchant => write!(f, "There is no merchant here."),
            Self::Prayed(healed) => write!(f, "The shrine heals you: {healed} health."),
            Self::Barred(boss) => write!(f, "The {} bars the stairs.", plain(boss)),
            Self::Died { by } => write!(f, "Killed by {}.", plain(by)),
        }
    }
}

fn picked_up(f: &mut fmt::Formatter<'_>, archetype: &str, value: u32) -> fmt::Result {
    match archetype {
        "potion" => write!(f, "You take a potion."),
        "bread" => write!(f, "You eat bread."),
        "blade" => write!(f, "A better blade: you strike harder."),
        "elixir" | "blessing" => write!(f, "You are well, and stronger than before."),
        "scroll" => write!(f, "The scroll is a map of this floor."),
        "torn_map" => write!(f, "The torn map shows the secret doors."),
        _ => write!(f, "You take {}, worth {value} gold.", plain(archetype)),
    }
}
