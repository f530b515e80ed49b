//! Measures the hit ratio of the stores on disk under Zipf loads, compared with simulated FIFO, LRU, S3-FIFO and SIEVE
//! of the same capacity.
//!
//!     cargo run --release -p floor-cache --example eviction [hit-cost]
//!
//! LMDB and sled are the real tiers with a capacity of a tenth of the floors. Every miss is followed by a write. In a
//! chain, a memory tier is in front, so each load is also run behind an LRU: the stores then see only its misses. Each
//! write is a transaction with a sync of the file, so set `TMPDIR` to a directory in memory for a run of minutes. With
//! `hit-cost`, only hits are timed.
#![allow(clippy::unwrap_used, reason = "an example that cannot go on says where")]

mod load;
mod policies;

use std::{
    env,
    path::Path,
    time::{Duration, Instant},
};

use bytes::Bytes;
use floor_cache::{
    Answer, Class, Key, LmdbConfig, SledConfig, Tier,
    envelope::{Envelope, Namespace},
    tiers::{LmdbTier, SledTier},
};
use load::Zipf;
use policies::{Fifo, Lru, Policy, S3Fifo, Sieve};
use tempfile::TempDir;

/// Zipf exponents. Web loads have 0.64 to 0.83 (Breslau et al., 1999).
const EXPONENTS: [f64; 6] = [0.7, 0.8, 0.9, 1.0, 1.1, 1.2];

/// Inverse capacity of the LRU in front, relative to the store.
const FRONTS: [Option<usize>; 3] = [None, Some(100), Some(10)];

/// Requests before and while hits are counted.
const WARM_UP: usize = 150_000;
const COUNTED: usize = 150_000;

/// Requests to the store after a restart.
const AFTER_RESTART: usize = 3_000;

/// Bytes of a floor and of the map: about 2,300 floors.
const FLOOR: usize = 3_000;
const MAP: u64 = 12 << 20;

/// Floors per floor that fits the store.
const FLOORS_PER_CAPACITY: usize = 10;

const HEAD: &str = "| exponent | FIFO | LRU | S3-FIFO | SIEVE | lmdb | sled |\n|---|---|---|---|---|---|---|";

fn main() {
    let capacity = capacity();
    if env::args().nth(1).as_deref() == Some("hit-cost") {
        hit_cost(capacity);
        return;
    }
    let floors = capacity * FLOORS_PER_CAPACITY;
    println!("capacity of {capacity} of {floors} floors; hit ratios of the tier alone, in percent");
    for front in FRONTS {
        match front {
            None => println!("\nnothing in front"),
            Some(part) => println!("\nan LRU of 1/{part} of the capacity in front"),
        }
        println!("{HEAD}");
        for exponent in EXPONENTS {
            let seen = behind(front.map(|part| capacity / part), Zipf::new(floors, exponent));
            println!("| {exponent:.1} | {} |", row(&seen, capacity));
        }
    }
    for calls in [500, 50] {
        println!("\nthe popular floors shift by one every {calls} calls, an LRU of 1/10 of the capacity in front");
        println!("{HEAD}");
        for exponent in EXPONENTS {
            let load = Zipf::new(floors, exponent).enumerate();
            let moving = load.map(move |(call, floor)| (floor + call / calls) % floors);
            println!("| {exponent:.1} | {} |", row(&behind(Some(capacity / 10), moving), capacity));
        }
    }
    println!("\nnew floors in repeated rounds of 7/10 of the capacity, an LRU of 1/10 of the capacity in front");
    println!("{HEAD}");
    for exponent in [0.8, 1.0, 1.2] {
        let round = capacity * 7 / 10;
        let load = Zipf::new(floors, exponent).take(WARM_UP).chain((0..).map(|call| floors + call % round));
        println!("| {exponent:.1} | {} |", row(&behind(Some(capacity / 10), load), capacity));
    }
    println!(
        "\nthe {AFTER_RESTART} floors after a restart, an LRU of 1/10 of the capacity in front; \"lasting\" was not restarted"
    );
    println!("| exponent | lmdb, lasting | lmdb, restarted | sled, lasting | sled, restarted |\n|---|---|---|---|---|");
    for exponent in [0.8, 1.0, 1.2] {
        let seen = behind(Some(capacity / 10), Zipf::new(floors, exponent));
        let [a, b] = [false, true].map(|restart| after_restart(Store::lmdb, &seen, restart));
        let capacity = sled_capacity(capacity);
        let [c, d] = [false, true].map(|restart| after_restart(|home| Store::sled(home, capacity), &seen, restart));
        println!("| {exponent:.1} | {a:.1} | {b:.1} | {c:.1} | {d:.1} |");
    }
    println!();
    hit_cost(capacity);
}

/// The requests to a store, before and while hits are counted.
struct Seen {
    warm_up: Vec<usize>,
    counted: Vec<usize>,
}

/// The requests of `load` that miss an LRU of `front` floors.
fn behind(front: Option<usize>, mut load: impl Iterator<Item = usize>) -> Seen {
    let mut lru = front.map(Lru::new);
    let mut pass = |count| {
        let misses = |floor: &usize| lru.as_mut().is_none_or(|lru| !lru.ask(*floor));
        load.by_ref().take(count).filter(misses).collect()
    };
    Seen { warm_up: pass(WARM_UP), counted: pass(COUNTED) }
}

/// The hit ratios of every policy as table cells.
fn row(seen: &Seen, capacity: usize) -> String {
    let ratios = [
        ratio(&mut Fifo::new(capacity), seen),
        ratio(&mut Lru::new(capacity), seen),
        ratio(&mut S3Fifo::new(capacity), seen),
        ratio(&mut Sieve::new(capacity), seen),
        ratio(&mut Store::lmdb(&tempfile::tempdir().unwrap()), seen),
        ratio(&mut Store::sled(&tempfile::tempdir().unwrap(), sled_capacity(capacity)), seen),
    ];
    ratios.map(|ratio| format!("{ratio:.1}")).join(" | ")
}

fn ratio(policy: &mut dyn Policy, seen: &Seen) -> f64 {
    seen.warm_up.iter().for_each(|floor| _ = policy.ask(*floor));
    hits(policy, &seen.counted)
}

/// The hit ratio in percent.
fn hits(policy: &mut dyn Policy, floors: &[usize]) -> f64 {
    let hits = floors.iter().filter(|floor| policy.ask(**floor)).count();
    hits as f64 * 100.0 / floors.len() as f64
}

fn after_restart(open: impl Fn(&TempDir) -> Store, seen: &Seen, restart: bool) -> f64 {
    let home = tempfile::tempdir().unwrap();
    let mut store = open(&home);
    seen.warm_up.iter().for_each(|floor| _ = store.ask(*floor));
    if restart {
        ready(store.tier.flush());
        drop(store);
        // sled's threads close its files a little later.
        std::thread::sleep(Duration::from_millis(200));
        store = open(&home);
    }
    hits(&mut store, &seen.counted[..AFTER_RESTART])
}

/// The number of floors that fit LMDB.
fn capacity() -> usize {
    let home = tempfile::tempdir().unwrap();
    let mut store = Store::lmdb(&home);
    (0..10_000).for_each(|floor| _ = store.ask(floor));
    store.tier.stats().entries as usize
}

/// The capacity of sled in bytes for as many floors.
fn sled_capacity(capacity: usize) -> u64 {
    let home = tempfile::tempdir().unwrap();
    let mut store = Store::sled(&home, 1 << 30);
    (0..100).for_each(|floor| _ = store.ask(floor));
    store.tier.stats().bytes / 100 * capacity as u64
}

/// Prints the time of a hit in LMDB, single and in a batch of ten, as medians of rounds.
fn hit_cost(capacity: usize) {
    const ROUNDS: usize = 41;
    let home = tempfile::tempdir().unwrap();
    let mut store = Store::lmdb(&home);
    (0..capacity / 2).for_each(|floor| _ = store.ask(floor));
    let keys: Vec<Key> = (0..capacity / 2).map(key).collect();
    let median = |round: &dyn Fn()| {
        let mut times: Vec<f64> = (0..ROUNDS)
            .map(|_| {
                let started = Instant::now();
                round();
                started.elapsed().as_secs_f64() * 1e9 / keys.len() as f64
            })
            .collect();
        times.sort_unstable_by(f64::total_cmp);
        times[ROUNDS / 2]
    };
    let single = median(&|| keys.iter().for_each(|key| assert!(ready(store.tier.get(key)).is_some())));
    let batch = median(&|| {
        keys.chunks(10).for_each(|keys| assert!(ready(store.tier.get_many(keys)).iter().all(Option::is_some)));
    });
    println!("a hit in lmdb, {FLOOR} bytes: {single:.0} ns; in a batch of ten: {batch:.0} ns");
}

/// A real tier.
struct Store {
    tier: Box<dyn Tier>,
    value: Bytes,
}

impl Store {
    fn lmdb(home: &TempDir) -> Self {
        let config = LmdbConfig { path: path(home, "lmdb"), map_size: MAP };
        Self::new(Box::new(LmdbTier::open(&config, envelope()).unwrap()))
    }

    fn sled(home: &TempDir, capacity: u64) -> Self {
        let config = SledConfig { path: path(home, "sled"), capacity };
        Self::new(Box::new(SledTier::open(&config, envelope()).unwrap()))
    }

    fn new(tier: Box<dyn Tier>) -> Self {
        Self { tier, value: Bytes::from(vec![7; FLOOR]) }
    }
}

impl Policy for Store {
    fn ask(&mut self, floor: usize) -> bool {
        let key = key(floor);
        let hit = ready(self.tier.get(&key)).is_some();
        if !hit {
            ready(self.tier.put_many(&[(key, self.value.clone())]));
        }
        hit
    }
}

fn path(home: &TempDir, name: &str) -> std::path::PathBuf {
    Path::new(home.path()).join(name)
}

fn envelope() -> Envelope {
    Envelope::new(Namespace::new("floors").unwrap(), 1)
}

/// The key of a floor, distributed over the tree like the floors of many towers.
fn key(floor: usize) -> Key {
    let mut identity = [0; Key::LEN - 1];
    identity[..8].copy_from_slice(&(floor as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes());
    Key::new(identity, Class::new(1))
}

/// The answer of a tier that does not wait.
fn ready<T>(answer: Answer<'_, T>) -> T {
    match answer {
        Answer::Now(answer) => answer.unwrap(),
        Answer::Later(_) => unreachable!("a store on disk answers at once"),
    }
}
