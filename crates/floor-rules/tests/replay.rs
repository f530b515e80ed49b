//! Whether logs are exact: what holds for any floor and any play.
#![allow(clippy::unwrap_used, reason = "a panic fails the test and names the line")]

mod support;

use floor_gen::Kind;
use floor_rules::{Act, Floor, Hero, Level, MAX_ACTS, Refusal, ReplayError, replay};
use proptest::prelude::*;
use support::{Player, shown};

/// Any floor of the generator, small enough that a short walk meets something.
fn floors() -> impl Strategy<Value = Floor<'static>> {
    (any::<u64>(), 1..60u32, 24..48u32, 24..48u32, prop::sample::select(&Kind::ALL))
        .prop_map(|(seed, number, width, height, kind)| support::floor(seed, number, width, height, Some(kind)))
}

/// A hero who lives long enough, and has gold.
fn hero() -> Hero {
    Hero { health: 300, most_health: 400, gold: 500, potions: 2, ..Hero::default() }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_replay_is_the_play(floor in floors(), seed: u128, player: u64) {
        let mut level = Level::new(&floor, hero(), seed).unwrap();
        let log = Player::new(player).play(&mut level, 300);
        let replayed = replay(&floor, &hero(), seed, &log).unwrap();
        prop_assert_eq!(replayed.events(), level.events());
        prop_assert_eq!(replayed.next_hero(), level.next_hero());
        prop_assert_eq!(shown(&replayed), shown(&level));
    }

    #[test]
    fn any_bytes_are_played_or_refused(floor in floors(), seed: u128, log in prop::collection::vec(0..10u8, 0..100)) {
        match replay(&floor, &hero(), seed, &log) {
            Ok(level) => prop_assert_eq!(usize::from(level.acts()), log.len()),
            Err(ReplayError::Unknown { index, byte }) => {
                prop_assert_eq!((log[index as usize], Act::from_byte(byte)), (byte, None));
            }
            Err(ReplayError::Refused { index, act, why }) => {
                let mut level = replay(&floor, &hero(), seed, &log[..index as usize]).unwrap();
                let mut untouched = level.clone();
                prop_assert_eq!(level.act(act).map(<[_]>::len), Err(why));
                prop_assert_eq!(shown(&level), shown(&untouched));
                let play = |level: &mut Level| Player::new(1).play(level, 50);
                prop_assert_eq!(play(&mut level), play(&mut untouched));
                prop_assert_eq!(shown(&level), shown(&untouched));
            }
            Err(error) => prop_assert!(false, "{}", error),
        }
    }

    /// Numbers as great as a message can have them.
    #[test]
    fn no_hero_and_no_floor_is_too_strong(seed: u128, player: u64, great: [bool; 8]) {
        let mut floor = support::floor(1, 30, 32, 32, Some(Kind::Standard));
        floor.spawns.iter_mut().for_each(|spawn| spawn.level = u32::MAX);
        floor.traps.iter_mut().for_each(|trap| trap.level = u32::MAX);
        floor.items.iter_mut().for_each(|item| item.value = u32::MAX);
        let [health, most_health, attack, armour, gold, potions, slain, turns] =
            great.map(|is_great| if is_great { u32::MAX } else { 1 });
        let hero = Hero { health, most_health, attack, armour, gold, potions, slain, turns };
        let mut level = Level::new(&floor, hero, seed).unwrap();
        Player::new(player).play(&mut level, 300);
        prop_assert!(level.hero().health <= level.hero().most_health);
    }
}

#[test]
fn a_hero_acts_ten_thousand_times_and_no_more() {
    let floor = support::floor(42, 1, 32, 32, None);
    let hero = Hero { health: u32::MAX, most_health: u32::MAX, ..hero() };
    let log = vec![Act::Search.to_byte(); usize::from(MAX_ACTS)];
    let level = replay(&floor, &hero, 1, &log).unwrap();
    assert_eq!((level.acts(), level.hero().turns), (MAX_ACTS, 10_000));
    let refused = ReplayError::Refused { index: 10_000, act: Act::Search, why: Refusal::TooManyActs };
    assert_eq!(replay(&floor, &hero, 1, &[&*log, &[4]].concat()).unwrap_err(), refused);
}
