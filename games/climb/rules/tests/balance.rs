//! Whether the game can be won and lost: the bot climbs many towers.

use std::sync::Arc;

use climb_rules::{Hero, Level, bot};
use floor_client::{FloorSpec, OfflineFloors};

const TOWERS: u64 = 12;
/// The last floor of a climb.
const TOP: u32 = 10;
/// Turns in which the bot leaves a floor, alive or not. It needs about 350.
const LIMIT: u16 = 5_000;

/// Climbs until the bot dies or is at the top. Returns the floor, and who killed it.
fn climb(seed: u64) -> (u32, Option<String>) {
    let floors = OfflineFloors::new();
    let mut hero = Hero::default();
    for number in 1..=TOP {
        let floor = floors.get(&FloorSpec::new(seed, number).with_size(64, 48)).unwrap().value;
        let mut level = Level::new(Arc::new(floor), hero, None);
        while !level.is_left() && !level.is_lost() {
            let acts = level.acts();
            level.act(bot::choose(&level));
            assert!(level.acts() > acts, "tower {seed}, floor {number}: an impossible act, {:?}", level.news);
            assert!(level.acts() < LIMIT, "tower {seed}, floor {number}: no way on from {}", level.at());
        }
        let Some(rested) = level.next_hero() else { return (number, Some(level.foe_name())) };
        hero = rested;
    }
    (TOP, None)
}

#[test]
fn the_bot_wins_most_towers_but_not_all() {
    let climbs: Vec<_> = (0..TOWERS).map(climb).collect();
    let deaths: Vec<_> = climbs.iter().filter(|(_, killer)| killer.is_some()).collect();
    println!("won {} of {TOWERS} towers; deaths: {deaths:?}", climbs.len() - deaths.len());
    assert!((1..=6).contains(&deaths.len()), "{deaths:?}");
}
