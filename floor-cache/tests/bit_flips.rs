//! Tests that flipped bits in a closed LMDB cause neither a crash nor a wrong value.
//!
//! `FLOORS_TEST_FLIPS=200 cargo test -p floor-cache --test bit_flips` runs 200 rounds instead of a few.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod fixture;

use std::{
    env, fs,
    fs::File,
    ops::Range,
    path::{Path, PathBuf},
    time::SystemTime,
};

use bytes::Bytes;
use fixture::{
    fake_source::value_of,
    keys, output_of,
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

/// The child process of the test below; it must not crash. It reads, writes and removes everything, twice.
#[tokio::test]
async fn the_process_that_opens_a_damaged_store() {
    let Some(path) = env::var_os(OPEN).map(PathBuf::from) else { return };
    for _ in 0..2 {
        let tier = Lmdb.open(path.clone(), CAPACITY).expect("a damaged store does not prevent a start");
        for some in keys(0..FLOORS).chunks(100) {
            // Errors and misses are allowed, but every value must be right.
            let served = tier.get_many(some).await.unwrap_or_else(|_error| vec![None; some.len()]);
            for (served, key) in served.into_iter().zip(some) {
                assert!(served.is_none_or(|served| served == value(key)), "a wrong value of {key}");
            }
        }
        for batch in entries(FLOORS..2 * FLOORS).chunks(100) {
            let _an_error_is_allowed = tier.put_many(batch).await;
        }
        for some in keys(0..2 * FLOORS).chunks(100) {
            let _an_error_is_allowed = tier.remove_many(some).await;
        }
        let _an_error_is_allowed = tier.flush().await;
    }
    println!("survived");
}

#[tokio::test]
async fn flipped_bits_cause_no_crash_and_no_wrong_value() {
    let rounds = env::var("FLOORS_TEST_FLIPS").map_or(ROUNDS, |rounds| rounds.parse().expect("a number of rounds"));
    let good = fs::read(filled().await.path().join("data.mdb")).unwrap();
    let mut quarantined = 0;
    // Each round twice: many bits anywhere in the file, then one in the header of a page, which LMDB trusts.
    for (round, is_anywhere) in (0..rounds).flat_map(|round| [(round, true), (round, false)]) {
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
        println!("round {round}, bits anywhere: {is_anywhere}");
        let said = output_of(test_process("the_process_that_opens_a_damaged_store").env(OPEN, dir.path()));
        assert!(said.contains("survived"), "{said}");
        quarantined += u64::from(dir.quarantined() > 0);
    }
    println!("{rounds} rounds of {FLIPS} bits and as many of one; {quarantined} stores were quarantined");
    assert!(quarantined >= rounds / 2, "most flips are detected: {quarantined} in {rounds} rounds");
}

/// Stores that only LMDB has written pass the check.
#[tokio::test]
async fn no_undamaged_store_is_quarantined() {
    let dir = StoreDir::new(&Lmdb);
    // Without the clean mark, the store is checked at each start.
    let remove_mark = || fs::remove_file(dir.path().join("clean"));
    let mut random = Random(7);
    for round in 0..60 {
        let _ = remove_mark();
        let tier = dir.open_small();
        assert_eq!(dir.quarantined(), 0, "round {round}");
        for _ in 0..8 {
            let first = random.next() % 2000;
            let some = first..first + random.next() % 200 + 1;
            if random.next().is_multiple_of(3) {
                tier.remove_many(&keys(some)).await.unwrap();
            } else {
                tier.put_many(&entries(some)).await.unwrap();
            }
        }
    }
    // Also copies by LMDB's tools.
    let _ = remove_mark();
    drop(dir.open_small());
    for compaction in [heed::CompactionOption::Disabled, heed::CompactionOption::Enabled] {
        let copy = StoreDir::new(&Lmdb);
        fs::create_dir(copy.path()).unwrap();
        copy_lmdb(&dir.path(), &copy.path(), compaction);
        let tier = copy.open_small();
        assert_eq!(copy.quarantined(), 0, "a copy is undamaged");
        assert!(tier.stats().entries > 0);
    }
}

/// A copy as `mdb_copy` makes it.
#[allow(unsafe_code)]
fn copy_lmdb(from: &Path, to: &Path, compaction: heed::CompactionOption) {
    let mut options = heed::EnvOpenOptions::new();
    options.map_size(16 << 20);
    // SAFETY: nothing else has the store open; the tier was dropped.
    let env = unsafe { options.open(from) }.expect("it opens");
    env.copy_to_path(to.join("data.mdb"), compaction).expect("it can be copied");
    env.prepare_for_closing().wait();
}

/// The clean mark contains the state of the file, so a change is detected.
#[tokio::test]
async fn a_store_that_changed_after_a_clean_close_is_checked() {
    let dir = filled().await;
    let (data, mark) = (dir.path().join("data.mdb"), dir.path().join("clean"));
    let named = fs::read_to_string(&mark).expect("the clean mark exists");
    let break_root = || {
        use std::os::unix::fs::FileExt;
        let file = File::options().read(true).write(true).open(&data).unwrap();
        // The roots of both meta pages.
        for page in 0..2 {
            file.write_all_at(&[0xFF; 7], page * 4096 + 16 + 72 + 40).unwrap();
        }
        file
    };
    // With the old modification time, the change is invisible.
    let before = fs::metadata(&data).unwrap().modified().unwrap();
    let copy = fs::read(&data).unwrap();
    break_root().set_modified(before).unwrap();
    assert_eq!(fs::read_to_string(&mark).unwrap(), named, "the mark is unchanged");
    // With another inode or time, the file is checked.
    fs::write(&data, &copy).unwrap();
    drop(dir.open());
    assert_eq!(dir.quarantined(), 0, "undamaged, although it was rewritten");
    assert!(mark.exists(), "a clean close");
    break_root().set_modified(SystemTime::now()).unwrap();
    let tier = dir.open();
    assert_eq!(dir.quarantined(), 1);
    assert_eq!(tier.stats().entries, 0);
}

/// The clean mark exists only while nothing was written.
#[tokio::test]
async fn the_clean_mark_exists_until_the_next_write() {
    let dir = StoreDir::new(&Lmdb);
    let (mark, entries) = (dir.path().join("clean"), entries(0..3));
    let tier = dir.open();
    assert!(!mark.exists(), "it is in use");
    tier.put_many(&entries).await.unwrap();
    tier.flush().await.unwrap();
    assert!(mark.exists(), "everything is durable");
    assert_eq!(tier.get(&entries[0].0).await.unwrap(), Some(entries[0].1.clone()));
    assert!(mark.exists(), "a read changes nothing");
    tier.remove_many(&keys(0..1)).await.unwrap();
    assert!(!mark.exists(), "something was written");
    drop(tier);
    assert!(mark.exists(), "a clean close");
    drop(dir.open());
    assert!(mark.exists() && dir.quarantined() == 0);
}
