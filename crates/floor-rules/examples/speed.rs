//! Measures how many turns a core plays: `cargo run --release -p floor-rules --example speed`.
#![allow(clippy::unwrap_used, reason = "a panic ends the measurement and names the line")]

#[path = "../tests/support/mod.rs"]
mod support;

use std::time::Instant;

use floor_rules::{Hero, Level, replay};
use support::Player;

/// Monsters of the floors that are measured.
const MONSTERS: usize = 26;
/// Logs of each floor, and acts in each. Later, most monsters that could find the hero have fallen.
const LOGS: u64 = 50;
const ACTS: usize = 1_000;

fn main() {
    // Who lives to the last act.
    let hero = Hero { health: u32::MAX, most_health: u32::MAX, ..Hero::default() };
    let floors = (1..).map(|number| support::floor(42, number, 100, 100, None));
    for (index, floor) in floors.filter(|floor| floor.spawns.len() == MONSTERS).take(5).enumerate() {
        let play = |seed: u64| {
            let mut level = Level::new(&floor, hero.clone(), seed.into()).unwrap();
            Player::new(seed).play(&mut level, ACTS)
        };
        let logs: Vec<Vec<u8>> = (0..LOGS).map(play).collect();
        let started = Instant::now();
        for (seed, log) in (0u128..).zip(&logs) {
            let level = replay(&floor, &hero, seed, log).unwrap();
            assert_eq!(usize::from(level.acts()), log.len());
        }
        let (took, turns) = (started.elapsed(), logs.iter().map(Vec::len).sum::<usize>());
        println!("floor {index}: {turns} turns, {:.0} a second", turns as f64 / took.as_secs_f64());
    }
}
