//! Tests that flipped bits in a closed LMDB cause no wrong value, and crash at most two processes before the store is
//! quarantined.
//!
//! `FLOORS_TEST_FLIPS=200 cargo test -p floor-cache --test bit_flips` runs 200 rounds instead of a few, from
//! `FLOORS_TEST_FIRST` on.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod fixture;

use std::{
    env, fs,
    io::{Read, Seek},
    ops::Range,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use bytes::Bytes;
use fixture::{
    LONG_TIMEOUT,
    fake_source::value_of,
    keys,
    stores::{CAPACITY, Lmdb, Store, StoreDir},
    test_process,
};
use floor_cache::Key;

/// Set in the child process that opens a damaged store: its directory.
const OPEN: &str = "FLOORS_TEST_OPEN";

/// Rounds without the variable.
const ROUNDS: u64 = 6;

/// Bits flipped in a round.
const FLIPS: u64 = 200;

const FLOORS: u64 = 1500;

/// The right value of a key. Some values are in a leaf, most in overflow pages.
fn value(key: &Key) -> Bytes {
    let short = value_of(key);
    let len = usize::from(key.as_bytes()[0]) * 24;
    Bytes::from(short.iter().copied().cycle().take(short.len().max(len)).collect::<Vec<_>>())
}

fn entries(numbers: Range<u64>) -> Vec<(Key, Bytes)> {
    keys(numbers).into_iter().map(|key| (key, value(&key))).collect()
}

/// A closed store with free pages, because some floors were removed and written again.
async fn filled() -> StoreDir {
    let dir = StoreDir::new(&Lmdb);
    let tier = dir.open();
    for first in (0..FLOORS).step_by(100) {
        tier.put_many(&entries(first..first + 100)).await.unwrap();
    }
    for first in (0..FLOORS).step_by(500) {
        tier.remove_many(&keys(first..first + 100)).await.unwrap();
        tier.put_many(&entries(first..first + 20)).await.unwrap();
    }
    tier.flush().await.unwrap();
    dir
}

/// Pseudo-random numbers (`SplitMix64`).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ mixed >> 31
    }
}

/// The child process of the test below. It opens the store, reads, writes and removes everything, twice, and may crash.
#[tokio::test]
async fn the_process_that_opens_a_damaged_store() {
    let Some(path) = env::var_os(OPEN).map(PathBuf::from) else { return };
    let tier = Lmdb.open(path, CAPACITY).expect("a damaged store does not prevent a start");
    for _ in 0..2 {
        for some in keys(0..FLOORS).chunks(100) {
            // Errors and misses are allowed, but every value must be right.
            let served = tier.get_many(some).await.unwrap_or_else(|_error| vec![None; some.len()]);
            for (served, key) in served.into_iter().zip(some) {
                assert!(served.is_none_or(|served| served == value(key)), "{WRONG} of {key}");
            }
        }
        for batch in entries(FLOORS..2 * FLOORS).chunks(100) {
            let _an_error_is_allowed = tier.put_many(batch).await;
        }
        for some in keys(0..2 * FLOORS).chunks(100) {
            let _an_error_is_allowed = tier.remove_many(some).await;
        }
    }
    let _an_error_is_allowed = tier.flush().await;
    println!("{SURVIVED}");
}

/// Printed by the child process.
const WRONG: &str = "a wrong value";
const SURVIVED: &str = "survived";

/// Processes that use one damaged store, one after the other.
const PROCESSES: u64 = 4;

/// Whether a process that uses the store in `path` ends by itself, without a wrong value. One that hangs is killed.
fn survives(path: &Path) -> bool {
    let mut output = tempfile::tempfile().unwrap();
    let mut child = test_process("the_process_that_opens_a_damaged_store")
        .env(OPEN, path)
        .stdout(output.try_clone().unwrap())
        .stderr(output.try_clone().unwrap())
        .spawn()
        .unwrap();
    let started = Instant::now();
    let mut ended = None;
    while ended.is_none() && started.elapsed() < LONG_TIMEOUT {
        thread::sleep(Duration::from_millis(2));
        ended = child.try_wait().unwrap();
    }
    let hangs = ended.is_none();
    if hangs {
        child.kill().unwrap();
    }
    let status = child.wait().unwrap();
    let mut said = String::new();
    output.rewind().unwrap();
    output.read_to_string(&mut said).unwrap();
    assert!(!said.contains(WRONG) && !said.contains("a damaged store does not"), "{said}");
    let survived = status.success() && said.contains(SURVIVED);
    if !survived {
        let panic = said.lines().skip_while(|line| !line.contains("panicked")).take(2).collect::<Vec<_>>().join(" ");
        println!("{status}, hangs: {hangs} {panic}");
    }
    survived
}

#[tokio::test]
async fn flipped_bits_cause_at_most_two_crashes_and_no_wrong_value() {
    let rounds = env::var("FLOORS_TEST_FLIPS").map_or(ROUNDS, |rounds| rounds.parse().expect("a number of rounds"));
    let first = env::var("FLOORS_TEST_FIRST").map_or(0, |first| first.parse().expect("a number"));
    let good = fs::read(filled().await.path().join("data.mdb")).unwrap();
    let (mut rounds_by_crashes, mut quarantined) = ([0; PROCESSES as usize + 1], 0);
    // Each round twice: many bits anywhere in the file, then one in the header of a page, which LMDB trusts.
    for (round, is_anywhere) in (first..first + rounds).flat_map(|round| [(round, true), (round, false)]) {
        let dir = StoreDir::new(&Lmdb);
        fs::create_dir(dir.path()).unwrap();
        let (mut bytes, mut random) = (good.clone(), Random(round));
        if is_anywhere {
            for _ in 0..FLIPS {
                let at = (random.next() % bytes.len() as u64) as usize;
                bytes[at] ^= 1 << (random.next() % 8);
            }
        } else {
            let page = random.next() % (bytes.len() as u64 / 4096);
            let at = (page * 4096 + random.next() % 64) as usize;
            bytes[at] ^= 1 << (random.next() % 8);
        }
        fs::write(dir.path().join("data.mdb"), bytes).unwrap();
        let crashes = (0..PROCESSES).filter(|_| !survives(&dir.path())).count();
        assert!(
            crashes <= 2,
            "round {round}, bits anywhere: {is_anywhere}: {crashes} of {PROCESSES} processes crashed"
        );
        rounds_by_crashes[crashes] += 1;
        quarantined += u64::from(dir.quarantined() > 0);
    }
    println!("{rounds} rounds of {FLIPS} bits and as many of one: {quarantined} stores were quarantined");
    println!("rounds without a crash, with one, with two: {:?}", &rounds_by_crashes[..3]);
}
