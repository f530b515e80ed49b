//! What the player reads about a turn.

use floor_client::Floor;
use floor_rules::{Event, Harm, Point, Refusal};

/// Something that came of a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct News {
    /// What the player reads.
    pub words: String,
    pub at: Point,
    /// By how much the health of who stands there rose or fell.
    pub change: i64,
}

impl News {
    /// What an event of the last turn says to a player in a cell.
    pub(crate) fn of(event: Event, floor: &Floor, player: Point) -> Self {
        let (words, change) = match event {
            Event::Struck { monster, at, damage, is_fatal } => {
                let what = if is_fatal { "falls".to_owned() } else { format!("loses {damage} health") };
                let words = format!("The {} {what}.", name(floor, Harm::Monster(monster)));
                return Self { words, at, change: -i64::from(damage) };
            }
            Event::Hurt { by, damage } => {
                (format!("You lose {damage} health to the {}.", name(floor, by)), -i64::from(damage))
            }
            Event::Held => ("The net holds you.".to_owned(), 0),
            Event::Unlocked { lock } => (format!("Key {lock} fits."), 0),
            Event::Took { item, healed } => {
                let item = &floor.items()[item as usize];
                let what = match item.opens_lock {
                    0 => format!("the {}", item.archetype.replace('_', " ")),
                    lock => format!("key {lock}"),
                };
                (format!("You take {what}."), healed.into())
            }
            Event::Blessed { healed } => ("The shrine heals you.".to_owned(), healed.into()),
            Event::Sprung { trap } => (format!("A trap: {}!", name(floor, Harm::Trap(trap))), 0),
            Event::Drank { healed } => ("You drink a potion.".to_owned(), healed.into()),
            Event::Bought(ware) => (format!("You buy: {ware:?}."), 0),
            Event::Searched { is_found: true } => ("You find a secret door!".to_owned(), 0),
            Event::Searched { is_found: false } => ("You wait and search.".to_owned(), 0),
        };
        Self { words, at: player, change }
    }

    /// Why an act is impossible, if that is worth a word.
    pub(crate) fn why_not(why: Refusal, floor: &Floor, player: Point) -> Option<Self> {
        let words = match why {
            Refusal::Locked { lock } => format!("Locked. Key {lock} lies elsewhere on this floor."),
            Refusal::Barred { monster } => format!("The {} bars the stairs.", name(floor, Harm::Monster(monster))),
            Refusal::NoPotion => "You have no potion.".to_owned(),
            Refusal::NoMerchant => "There is no merchant here.".to_owned(),
            Refusal::TooDear { price } => format!("That costs {price} gold."),
            Refusal::TooManyActs => "You have been on this floor for too long.".to_owned(),
            _ => return None,
        };
        Some(Self { words, at: player, change: 0 })
    }
}

/// The words for what hurts.
pub(crate) fn name(floor: &Floor, harm: Harm) -> String {
    match harm {
        Harm::Gas => "gas".to_owned(),
        Harm::Monster(index) => floor.spawns()[index as usize].archetype.replace('_', " "),
        Harm::Trap(index) => floor.traps()[index as usize].archetype.replace('_', " "),
    }
}
