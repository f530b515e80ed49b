//! A turn allocates nothing.
#![allow(clippy::unwrap_used, reason = "a panic fails the test and names the line")]

mod support;

use allocation_counter::measure;
use floor_gen::Kind;
use floor_rules::{Hero, Level};
use support::Player;

#[test]
fn a_turn_allocates_nothing() {
    let hero = Hero { health: u32::MAX, most_health: u32::MAX, gold: 10_000, ..Hero::default() };
    for kind in Kind::ALL {
        let floor = support::floor(7, 40, 100, 100, Some(kind));
        let mut level = Level::new(&floor, hero.clone(), 7).unwrap();
        let (mut player, mut acts) = (Player::new(7), 0);
        let counted = measure(|| (0..5_000).for_each(|_| acts += u32::from(level.act(player.choose()).is_ok())));
        assert_eq!(counted.count_total, 0, "{kind}");
        assert!(acts > 1_000 || level.is_left(), "{kind}: {acts} acts");
    }
}
