//! Measures what an act costs: `cargo run --release -p floor-rules --example speed`.
#![allow(clippy::unwrap_used, reason = "a panic ends the measurement and names the line")]

#[path = "../tests/support/mod.rs"]
mod support;

use std::time::{Duration, Instant};

use floor_gen::Kind;
use floor_rules::{Hero, Level, MAX_ACTS, replay};
use support::Player;

/// Logs of each floor.
const LOGS: u64 = 5;

fn main() {
    // Who lives to the last act, and fells few of those who hunt them.
    let hero = Hero { health: u32::MAX, most_health: u32::MAX, attack: 0, ..Hero::default() };
    for side in [100, 512] {
        for kind in Kind::ALL {
            let floor = support::floor(42, 60, side, side, Some(kind));
            let (mut took, mut start, mut acts) = (Duration::ZERO, Duration::ZERO, 0);
            for seed in 0..LOGS {
                let mut level = Level::new(&floor, hero.clone(), seed.into()).unwrap();
                let log = Player::new(seed).play(&mut level, MAX_ACTS.into());
                let started = Instant::now();
                replay(&floor, &hero, seed.into(), &[]).unwrap();
                start += started.elapsed();
                let started = Instant::now();
                let level = replay(&floor, &hero, seed.into(), &log).unwrap();
                took += started.elapsed();
                assert_eq!(usize::from(level.acts()), log.len());
                acts += log.len() as u64;
            }
            let microseconds = |time: Duration| time.as_secs_f64() * 1e6;
            let (each, start_each) =
                (microseconds(took.saturating_sub(start)) / acts as f64, microseconds(start) / LOGS as f64);
            let monsters = floor.spawns.len();
            println!("{side} x {side} {kind}, {monsters} monsters: {each:.2} us an act, {start_each:.0} us to start");
        }
    }
}
