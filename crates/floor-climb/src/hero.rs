//! A hero on the wire and in play.

use floor_proto::v1;
use floor_rules::Hero;

/// The hero of a receipt, in play.
#[must_use]
pub const fn hero(message: &v1::Hero) -> Hero {
    let v1::Hero { health, most_health, attack, armour, gold, potions, slain, turns } = *message;
    Hero { health, most_health, attack, armour, gold, potions, slain, turns }
}

/// The hero as a message.
#[must_use]
pub const fn hero_message(hero: &Hero) -> v1::Hero {
    let Hero { health, most_health, attack, armour, gold, potions, slain, turns } = *hero;
    v1::Hero { health, most_health, attack, armour, gold, potions, slain, turns }
}
