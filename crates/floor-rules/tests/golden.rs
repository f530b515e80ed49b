//! The rules are the same on every machine: one hash over what comes of many logs.
#![allow(clippy::unwrap_used, reason = "a panic fails the test and names the line")]

mod support;

use floor_gen::Kind;
use floor_rules::{Hero, Level};
use support::Player;
use xxhash_rust::xxh3::Xxh3;

/// Changes when a rule changes, for which [`floor_rules::VERSION`] rises, or when a floor does.
const GOLDEN: u64 = 0x8a7c_cf4f_030e_246c;
/// Plays on each of the floors, and acts in each.
const PLAYS: u64 = 11_200;
const ACTS: usize = 60;

#[test]
fn many_plays_end_as_on_every_machine() {
    let mut hash = Xxh3::new();
    let mut acts = 0;
    for (number, kind) in (1..).step_by(9).zip(Kind::ALL) {
        let floor = support::floor(u64::from(number), number, 40, 40, Some(kind));
        for play in 0..PLAYS {
            let hero = Hero { health: 200, most_health: 200, gold: 100, ..Hero::default() };
            let mut level = Level::new(&floor, hero, u128::from(play) << 60 | u128::from(number)).unwrap();
            let log = Player::new(play).play(&mut level, ACTS);
            acts += log.len();
            hash.update(&log);
            support::shown(&level).iter().for_each(|number| hash.update(&number.to_le_bytes()));
        }
    }
    // Most plays go on to the last act.
    assert!(acts > Kind::ALL.len() * PLAYS as usize * ACTS / 2, "{acts}");
    assert_eq!(hash.digest(), GOLDEN, "{:#018x}", hash.digest());
}
