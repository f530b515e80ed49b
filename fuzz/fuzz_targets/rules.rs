//! Plays bytes as a log. No act but the first impossible one is refused.
#![no_main]

use std::sync::LazyLock;

use floor_gen::Kind;
use floor_rules::{Act, Floor, Hero, ReplayError, replay};
use libfuzzer_sys::fuzz_target;

#[path = "../../crates/floor-rules/tests/support/mod.rs"]
mod support;

static FLOORS: LazyLock<Vec<Floor<'static>>> =
    LazyLock::new(|| (1..).zip(Kind::ALL).map(|(seed, kind)| support::floor(seed, 20, 32, 32, Some(kind))).collect());

// The number of a floor, then a log.
fuzz_target!(|data: &[u8]| {
    let [floor, log @ ..] = data else { return };
    let floor = &FLOORS[usize::from(*floor) % FLOORS.len()];
    let hero = Hero { health: 99, most_health: 99, gold: 200, ..Hero::default() };
    let legal = match replay(floor, &hero, 7, log) {
        Ok(_) => log,
        Err(ReplayError::Refused { index, .. }) => &log[..index as usize],
        Err(ReplayError::Unknown { index, byte }) => {
            assert_eq!(Act::from_byte(byte), None);
            &log[..index as usize]
        }
        Err(error) => panic!("{error}"),
    };
    let level = replay(floor, &hero, 7, legal).expect("the acts before the refused one");
    assert_eq!(usize::from(level.acts()), legal.len());
});
