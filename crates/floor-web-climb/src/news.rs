//! What the player reads about a turn.

use floor_proto::v1::Floor;
use floor_rules::{Event, Harm, MAX_ACTS, Refusal, Ware};

/// What the hero sees, beside the ground. Numbers are places in the lists of the floor.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sight {
    Monster(usize),
    Item(usize),
    Trap(usize),
    Merchant,
    Stairs,
}

/// What an event of a turn on `floor` says.
pub(crate) fn of(event: Event, floor: &Floor) -> String {
    match event {
        Event::Struck { monster, is_fatal: true, .. } => format!("The {} falls.", monster_name(monster, floor)),
        Event::Struck { monster, damage, .. } => format!("You hit the {} for {damage}.", monster_name(monster, floor)),
        Event::Hurt { by: Harm::Monster(monster), damage } => {
            format!("The {} hits you for {damage}.", monster_name(monster, floor))
        }
        Event::Hurt { by: Harm::Trap(trap), damage } => {
            format!("A trap: {}. You lose {damage} health.", trap_name(trap, floor))
        }
        Event::Hurt { by: Harm::Gas, damage } => format!("You breathe gas, and lose {damage} health."),
        Event::Held => "The net holds you.".to_owned(),
        Event::Unlocked { lock } => format!("You open door {lock}."),
        Event::Took { item, healed } => took(item, healed, floor),
        Event::Blessed { healed } => format!("The shrine gives you {healed} health."),
        Event::Sprung { trap } => format!("A trap: {}.", trap_name(trap, floor)),
        Event::Drank { healed } => format!("The potion gives you {healed} health."),
        Event::Bought(Ware::Potion) => "You buy a potion.".to_owned(),
        Event::Bought(Ware::Blade) => "You buy a blade.".to_owned(),
        Event::Bought(Ware::Mail) => "You buy mail.".to_owned(),
        Event::Searched { is_found: true } => "You find a secret door.".to_owned(),
        Event::Searched { is_found: false } => "You find nothing.".to_owned(),
    }
}

/// Why an act is impossible.
pub(crate) fn why_not(refusal: Refusal, floor: &Floor) -> String {
    match refusal {
        Refusal::Over => "The floor is over.".to_owned(),
        Refusal::TooManyActs => format!("The floor is over: it has at most {MAX_ACTS} turns."),
        Refusal::Blocked => "Something is in the way.".to_owned(),
        Refusal::Locked { lock: 0 } => "The door is locked, and no key opens it.".to_owned(),
        Refusal::Locked { lock } => format!("Door {lock} is locked. You have not found its key."),
        Refusal::Barred { monster } => format!("The {} bars the stairs.", monster_name(monster, floor)),
        Refusal::NoPotion => "You have no potion.".to_owned(),
        Refusal::NoMerchant => "No merchant is here.".to_owned(),
        Refusal::TooDear { price } => format!("That costs {price} gold."),
        other => other.to_string(),
    }
}

/// What has come into sight; `None` for nothing.
pub(crate) fn in_sight(sights: impl Iterator<Item = Sight>, floor: &Floor) -> Option<String> {
    let mut names: Vec<String> = Vec::new();
    for sight in sights {
        let name = match sight {
            Sight::Monster(number) => monster_name(number as u32, floor),
            Sight::Item(number) => plain(&floor.items[number].archetype),
            Sight::Trap(number) => format!("a trap, {}", trap_name(number as u32, floor)),
            Sight::Merchant => "a merchant beside you".to_owned(),
            Sight::Stairs => "the stairs down".to_owned(),
        };
        if !names.contains(&name) {
            names.push(name);
        }
    }
    (!names.is_empty()).then(|| format!("In sight: {}.", names.join(", ")))
}

fn took(item: u32, healed: u32, floor: &Floor) -> String {
    let item = &floor.items[item as usize];
    match (item.opens_lock, healed) {
        (0, 0) => format!("You take: {}.", plain(&item.archetype)),
        (0, healed) => format!("You take: {}. It gives you {healed} health.", plain(&item.archetype)),
        (lock, _) => format!("You take the key of door {lock}."),
    }
}

fn monster_name(number: u32, floor: &Floor) -> String {
    plain(&floor.spawns[number as usize].archetype)
}

fn trap_name(number: u32, floor: &Floor) -> String {
    plain(&floor.traps[number as usize].archetype)
}

/// `bone archer` for `bone_archer`.
fn plain(name: &str) -> String {
    name.replace('_', " ")
}
