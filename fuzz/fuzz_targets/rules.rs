//! Plays bytes as a log, then changes bytes of the state that it led to. No act but the first impossible one is refused, and
//! what is a state has one form and can be played.
#![no_main]

use std::sync::LazyLock;

use floor_gen::Kind;
use floor_rules::{Act, Floor, Hero, Level, ReplayError, replay};
use libfuzzer_sys::fuzz_target;
use support::Player;

#[path = "../../crates/floor-rules/tests/support/mod.rs"]
mod support;

static FLOORS: LazyLock<Vec<Floor<'static>>> =
    LazyLock::new(|| (1..).zip(Kind::ALL).map(|(seed, kind)| support::floor(seed, 20, 32, 32, Some(kind))).collect());

// The number of a floor, the length of a log, the log, then changes of three bytes each: a place and a value.
fuzz_target!(|data: &[u8]| {
    let [floor, length, rest @ ..] = data else { return };
    let floor = &FLOORS[usize::from(*floor) % FLOORS.len()];
    let (log, changes) = rest.split_at(usize::from(*length).min(rest.len()));
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
    let mut state = replay(floor, &hero, 7, legal).expect("the acts before the refused one").to_bytes();
    for change in changes.chunks_exact(3) {
        let place = usize::from(u16::from_le_bytes([change[0], change[1]])) % state.len();
        state[place] = change[2];
    }
    if let Ok(mut level) = Level::from_bytes(floor, 7, &state) {
        assert_eq!(level.to_bytes(), state);
        Player::new(1).play(&mut level, 50);
    }
});
