//! Whether logs and states are exact: what holds for any floor and any play.
#![allow(clippy::unwrap_used, reason = "a panic fails the test and names the line")]

mod support;

use floor_gen::Kind;
use floor_rules::{Act, Floor, Hero, Level, MAX_ACTS, Refusal, ReplayError, StateError, replay};
use proptest::prelude::*;
use support::Player;

/// Any floor of the generator, small enough that a short walk meets something.
fn floors() -> impl Strategy<Value = Floor<'static>> {
    (any::<u64>(), 1..60u32, 24..48u32, 24..48u32, prop::sample::select(&Kind::ALL))
        .prop_map(|(seed, number, width, height, kind)| support::floor(seed, number, width, height, Some(kind)))
}

/// A hero who lives long enough, and has gold.
fn hero() -> Hero {
    Hero { health: 300, most_health: 400, gold: 500, potions: 2, ..Hero::default() }
}

fn played(floor: &Floor<'_>, seed: u128, player: u64, acts: usize) -> (Level, Vec<u8>) {
    let mut level = Level::new(floor, hero(), seed).unwrap();
    let log = Player::new(player).play(&mut level, acts);
    (level, log)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_replay_is_the_play(floor in floors(), seed: u128, player: u64) {
        let (level, log) = played(&floor, seed, player, 300);
        let replayed = replay(&floor, &hero(), seed, &log).unwrap();
        prop_assert_eq!(replayed.events(), level.events());
        prop_assert_eq!(replayed.next_hero(), level.next_hero());
        prop_assert_eq!(replayed.to_bytes(), level.to_bytes());
    }

    #[test]
    fn a_restored_state_goes_on_as_the_saved_one(floor in floors(), seed: u128, player: u64, before in 0..200usize) {
        let (mut saved, _) = played(&floor, seed, player, before);
        let bytes = saved.to_bytes();
        let mut restored = Level::from_bytes(&floor, seed, &bytes).unwrap();
        prop_assert_eq!(restored.to_bytes(), bytes);
        prop_assert_eq!(restored.visible(), saved.visible());
        let mut player = Player::new(player ^ 1);
        for _ in 0..200 {
            let act = player.choose();
            prop_assert_eq!(restored.act(act), saved.act(act));
        }
        prop_assert_eq!(restored.to_bytes(), saved.to_bytes());
    }

    #[test]
    fn a_log_with_another_act_is_refused_or_ends_elsewhere(
        floor in floors(),
        seed: u128,
        player: u64,
        place: prop::sample::Index,
        other in 0..10u8,
    ) {
        let (level, log) = played(&floor, seed, player, 200);
        prop_assume!(!log.is_empty());
        let mut forged = log.clone();
        forged[place.index(log.len())] = other;
        prop_assume!(forged != log);
        match replay(&floor, &hero(), seed, &forged) {
            Ok(other) => prop_assert_ne!(other.to_bytes(), level.to_bytes()),
            Err(ReplayError::Unknown { index, byte }) => {
                prop_assert_eq!((index as usize, byte), (place.index(log.len()), 9));
            }
            Err(ReplayError::Refused { index, .. }) => prop_assert!(index as usize >= place.index(log.len())),
            Err(error) => prop_assert!(false, "{}", error),
        }
    }

    #[test]
    fn a_shorter_log_ends_elsewhere(floor in floors(), seed: u128, player: u64, place: prop::sample::Index) {
        let (level, mut log) = played(&floor, seed, player, 200);
        prop_assume!(!log.is_empty());
        log.remove(place.index(log.len()));
        if let Ok(other) = replay(&floor, &hero(), seed, &log) {
            prop_assert_ne!(other.to_bytes(), level.to_bytes());
        }
    }

    #[test]
    fn any_bytes_are_played_or_refused(floor in floors(), seed: u128, log: Vec<u8>) {
        match replay(&floor, &hero(), seed, &log) {
            Ok(level) => prop_assert_eq!(usize::from(level.acts()), log.len()),
            Err(ReplayError::Unknown { index, byte }) => {
                prop_assert_eq!((log[index as usize], Act::from_byte(byte)), (byte, None));
            }
            Err(ReplayError::Refused { index, act, why }) => {
                let mut level = replay(&floor, &hero(), seed, &log[..index as usize]).unwrap();
                let before = level.to_bytes();
                prop_assert_eq!(level.act(act).map(<[_]>::len), Err(why));
                prop_assert_eq!(level.to_bytes(), before);
            }
            Err(error) => prop_assert!(false, "{}", error),
        }
    }

    /// A changed byte of a state leads to an error, or to another state that has only this form and can be played.
    #[test]
    fn any_bytes_are_one_state_or_an_error(
        floor in floors(),
        seed: u128,
        player: u64,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cut in prop::option::weighted(0.2, any::<prop::sample::Index>()),
    ) {
        let (level, _) = played(&floor, seed, player, 100);
        let mut bytes = level.to_bytes();
        // The first 9 bytes are the version and the floor: a change there is always refused.
        let body = bytes.len() - 9;
        changes.iter().for_each(|(place, byte)| bytes[9 + place.index(body)] = *byte);
        bytes.truncate(cut.map_or(bytes.len(), |cut| cut.index(bytes.len())));
        if let Ok(mut level) = Level::from_bytes(&floor, seed, &bytes) {
            prop_assert_eq!(level.to_bytes(), bytes);
            Player::new(player).play(&mut level, 100);
        }
    }

    #[test]
    fn any_bytes_are_one_hero_or_an_error(bytes: Vec<u8>, numbers: [u32; 8]) {
        if let Ok(hero) = Hero::from_bytes(&bytes) {
            prop_assert_eq!(hero.to_bytes(), bytes);
        }
        let [health, more, attack, armour, gold, potions, slain, turns] = numbers;
        let most_health = health.saturating_add(more);
        let hero = Hero { health, most_health, attack, armour, gold, potions, slain, turns };
        prop_assert_eq!(Hero::from_bytes(&hero.to_bytes()), Ok(hero));
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
        prop_assert!(Level::from_bytes(&floor, seed, &level.to_bytes()).is_ok());
    }
}

#[test]
fn the_errors_of_a_state_say_what_is_wrong() {
    let floor = support::floor(42, 1, 32, 32, None);
    let other = support::floor(43, 1, 32, 32, None);
    let bytes = Level::new(&floor, hero(), 1).unwrap().to_bytes();
    let error = |floor, bytes: &[u8]| Level::from_bytes(floor, 1, bytes).unwrap_err();
    assert_eq!(error(&floor, &[]), StateError::Short);
    assert_eq!(error(&floor, &[9]), StateError::Version(9));
    assert_eq!(error(&other, &bytes), StateError::OtherFloor);
    assert_eq!(error(&floor, &bytes[..bytes.len() - 1]), StateError::Short);
    assert_eq!(error(&floor, &[&*bytes, &[0, 0]].concat()), StateError::Long(2));
    // After the version and two digests: the count of acts, in two bytes.
    let many = [&bytes[..17], &[0x91, 0x4e], &bytes[18..]].concat();
    assert_eq!(error(&floor, &many).to_string(), "no state has this count of acts, before byte 19");
}

#[test]
fn a_hero_who_has_not_seen_what_they_see_is_refused() {
    let floor = support::floor(42, 1, 32, 32, None);
    let bytes = Level::new(&floor, hero(), 1).unwrap().to_bytes();
    // After the version and two digests stand 15 numbers, up to the foe, and then the known cells.
    let ends = |from: usize| (from..bytes.len()).filter(|at| bytes[*at] < 0x80).map(|at| at + 1);
    let known = ends(17).nth(14).unwrap();
    // One run for all cells: 1,024 in two bytes.
    let (mut cells, mut end) = (0, known);
    while cells < 32 * 32 {
        let next = ends(end).next().unwrap();
        cells += bytes[end..next].iter().rev().fold(0, |number, byte| number << 7 | usize::from(byte & 0x7f));
        end = next;
    }
    let unseen = [&bytes[..known], &[0x80, 0x08], &bytes[end..]].concat();
    let error = Level::from_bytes(&floor, 1, &unseen).unwrap_err();
    assert_eq!(error, StateError::Value { what: "sight of the hero", before: unseen.len() });
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
