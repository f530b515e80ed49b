//! Measures the hit ratio of the stores on disk under Zipf loads, compared with simulated FIFO, LRU, S3-FIFO and SIEVE
//! of the same capacity.
//!
//!     cargo run --release -p floor-cache --example eviction
//!
//! LMDB and sled are the real tiers with a capacity of a tenth of the floors. Every miss is followed by a write. In a
//! chain, a memory tier is in front, so each load is also run behind an LRU: the stores then see only its misses. The
//! last table shows what a scan evicts from LMDB, and what admission at the second request saves; `scan` as an argument
//! prints it alone. Each write is a transaction with a sync of the file, so set `TMPDIR` to a directory in memory for a run of minutes.
#![allow(clippy::unwrap_used, reason = "an example that cannot go on says where")]

mod load;
mod policies;

use std::{collections::HashSet, env, time::Duration};

use bytes::Bytes;
use floor_cache::{
    Answer, Class, Key, LmdbConfig, SledConfig, Tier,
    envelope::{Envelope, Namespace},
    tiers::{LmdbTier, SledTier},
};
use load::Zipf;
use policies::{S3Fifo, Sieve, fifo, lru};
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
    let floors = capacity * FLOORS_PER_CAPACITY;
    if env::args().nth(1).as_deref() == Some("scan") {
        return print_scans(capacity, floors);
    }
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
    print_scans(capacity, floors);
}

fn print_scans(capacity: usize, floors: usize) {
    println!(
        "\na request of a scan after each other one, an LRU of 1/10 of the capacity in front; hit ratios of the others in \
         both, then of {AFTER_RESTART} with an empty front"
    );
    println!("| exponent | no scan | all stored | second request | no scan, restarted | all stored | second request |");
    println!("|---|---|---|---|---|---|---|");
    for exponent in [0.8, 1.0, 1.2] {
        let [none, all, second] = [(false, false), (true, false), (true, true)]
            .map(|(is_scanned, filters)| beside_scan(capacity, Zipf::new(floors, exponent), is_scanned, filters));
        let row = [none.0, all.0, second.0, none.1, all.1, second.1].map(|ratio| format!("{ratio:.1}"));
        println!("| {exponent:.1} | {} |", row.join(" | "));
    }
}

/// The hit ratios of `load` with a full memory, which the scan does not reach, and with an empty one. If it `filters`, the
/// store takes a floor at its second request, and one of 1,024 hits in memory, as the chain does.
fn beside_scan(capacity: usize, load: Zipf, is_scanned: bool, filters: bool) -> (f64, f64) {
    let home = tempfile::tempdir().unwrap();
    let (store, mut front, mut asked) = (Store::lmdb(&home), lru(capacity / 10), HashSet::new());
    let mut admits = |floor| !filters || !asked.insert(floor);
    let mut hits = 0;
    let mut calls = load.enumerate();
    for (call, floor) in calls.by_ref().take(WARM_UP + COUNTED) {
        let is_in_front = front(floor);
        if is_in_front && filters && call % 1024 == 0 {
            store.write(floor);
        }
        let is_hit = is_in_front || store.ask_and_write(floor, &mut admits);
        hits += usize::from(is_hit && call >= WARM_UP);
        if is_scanned {
            store.ask_and_write(usize::MAX - call, &mut admits);
        }
    }
    let restarted = calls.take(AFTER_RESTART).filter(|(_, floor)| store.has(*floor)).count();
    (hits as f64 * 100.0 / COUNTED as f64, restarted as f64 * 100.0 / AFTER_RESTART as f64)
}

/// The requests to a store, before and while hits are counted.
struct Seen {
    warm_up: Vec<usize>,
    counted: Vec<usize>,
}

/// The requests of `load` that miss an LRU of `front` floors.
fn behind(front: Option<usize>, mut load: impl Iterator<Item = usize>) -> Seen {
    let mut front = front.map(lru);
    let mut pass = |count| {
        let misses = |floor: &usize| front.as_mut().is_none_or(|hits| !hits(*floor));
        load.by_ref().take(count).filter(misses).collect()
    };
    Seen { warm_up: pass(WARM_UP), counted: pass(COUNTED) }
}

/// The hit ratios of every policy as table cells.
fn row(seen: &Seen, capacity: usize) -> String {
    let (mut s3_fifo, mut sieve) = (S3Fifo::new(capacity), Sieve::new(capacity));
    let homes = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let (lmdb, sled) = (Store::lmdb(&homes[0]), Store::sled(&homes[1], sled_capacity(capacity)));
    let ratios = [
        ratio(fifo(capacity), seen),
        ratio(lru(capacity), seen),
        ratio(|floor| s3_fifo.ask(floor), seen),
        ratio(|floor| sieve.ask(floor), seen),
        ratio(|floor| lmdb.ask(floor), seen),
        ratio(|floor| sled.ask(floor), seen),
    ];
    ratios.map(|ratio| format!("{ratio:.1}")).join(" | ")
}

fn ratio(mut ask: impl FnMut(usize) -> bool, seen: &Seen) -> f64 {
    seen.warm_up.iter().for_each(|floor| _ = ask(*floor));
    hits(ask, &seen.counted)
}

/// The hit ratio in percent.
fn hits(mut ask: impl FnMut(usize) -> bool, floors: &[usize]) -> f64 {
    let hits = floors.iter().filter(|floor| ask(**floor)).count();
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
    hits(|floor| store.ask(floor), &seen.counted[..AFTER_RESTART])
}

/// The number of floors that fit LMDB.
fn capacity() -> usize {
    let home = tempfile::tempdir().unwrap();
    let store = Store::lmdb(&home);
    (0..10_000).for_each(|floor| _ = store.ask(floor));
    store.tier.stats().entries as usize
}

/// The capacity of sled in bytes for as many floors.
fn sled_capacity(capacity: usize) -> u64 {
    let home = tempfile::tempdir().unwrap();
    let store = Store::sled(&home, 1 << 30);
    (0..100).for_each(|floor| _ = store.ask(floor));
    store.tier.stats().bytes / 100 * capacity as u64
}

/// A real tier.
struct Store {
    tier: Box<dyn Tier>,
    value: Bytes,
}

impl Store {
    fn lmdb(home: &TempDir) -> Self {
        let config = LmdbConfig { path: home.path().join("lmdb"), map_size: MAP };
        Self::new(LmdbTier::open(&config, envelope()).unwrap())
    }

    fn sled(home: &TempDir, capacity: u64) -> Self {
        let config = SledConfig { path: home.path().join("sled"), capacity };
        Self::new(SledTier::open(&config, envelope()).unwrap())
    }

    fn new(tier: impl Tier) -> Self {
        Self { tier: Box::new(tier), value: Bytes::from(vec![7; FLOOR]) }
    }

    /// Whether the tier has `floor`. Writes it if not.
    fn ask(&self, floor: usize) -> bool {
        self.ask_and_write(floor, |_| true)
    }

    /// As [`ask`](Self::ask), and writes it only if `admits` says so.
    fn ask_and_write(&self, floor: usize, mut admits: impl FnMut(usize) -> bool) -> bool {
        let is_hit = self.has(floor);
        if !is_hit && admits(floor) {
            self.write(floor);
        }
        is_hit
    }

    fn has(&self, floor: usize) -> bool {
        ready(self.tier.get(&key(floor))).is_some()
    }

    fn write(&self, floor: usize) {
        ready(self.tier.put_many(&[(key(floor), self.value.clone())]));
    }
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
