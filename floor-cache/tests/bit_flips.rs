//! Tests that flipped bits in a closed LMDB cause neither a crash nor a wrong value.
//!
//! `FLOORS_TEST_FLIPS=200 cargo test -p floor-cache --test bit_flips` runs 200 rounds instead of a few.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod fixture;

use std::{
    env, fs,
    fs::File,
    path::Path,
    process::{Command, Stdio},
    time::SystemTime,
};

use bytes::Bytes;
use fixture::{envelope, fake_source::value_of, keys};
use floor_cache::{Key, LmdbConfig, Tier, tiers::LmdbTier};
use tempfile::TempDir;

/// Set in the child process that opens a damaged store: its directory.
const OPEN: &str = "FLOORS_TEST_OPEN";

/// Rounds without the variable.
const ROUNDS: u64 = 6;

/// Bits flipped in a round.
const FLIPS: u64 = 200;

const FLOORS: u64 = 1500;

fn config(home: &Path) -> LmdbConfig {
    LmdbConfig { path: home.join("lmdb"), map_size: 16 << 20 }
}

/// The right value of a key. Some values are in a leaf, most in overflow pages.
fn value(key: &Key) -> Bytes {
    let short = value_of(key);
    let len = usize::from(key.as_bytes()[0]) * 24;
    Bytes::from(short.iter().copied().cycle().take(short.len().max(len)).collect::<Vec<_>>())
}

/// Fills a store, then removes and writes some floors, so that it has free pages.
async fn fill(home: &Path) {
    let tier = LmdbTier::open(&config(home), envelope()).unwrap();
    let entries = |numbers| -> Vec<_> { keys(numbers).into_iter().map(|key| (key, value(&key))).collect() };
    for first in (0..FLOORS).step_by(100) {
        tier.put_many(&entries(first..first + 100)).await.unwrap();
    }
    for first in (0..FLOORS).step_by(500) {
        tier.remove_many(&keys(first..first + 100)).await.unwrap();
        tier.put_many(&entries(first..first + 20)).await.unwrap();
    }
    tier.flush().await.unwrap();
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

/// Whether a store was quarantined in `home`.
fn is_quarantined(home: &Path) -> bool {
    let names = fs::read_dir(home).unwrap().map(|entry| entry.unwrap().file_name());
    names.into_iter().any(|name| name.to_string_lossy().starts_with("lmdb.damaged-"))
}

/// The child process of the test below; it must not crash. It reads, writes and removes everything, twice.
#[tokio::test]
async fn the_process_that_opens_a_damaged_store() {
    let Some(home) = env::var_os(OPEN) else { return };
    let config = config(Path::new(&home));
    for _ in 0..2 {
        let tier = LmdbTier::open(&config, envelope()).expect("a damaged store does not prevent a start");
        for some in keys(0..FLOORS).chunks(100) {
            // Errors and misses are allowed, but every value must be right.
            let served = tier.get_many(some).await.unwrap_or_else(|_error| vec![None; some.len()]);
            for (served, key) in served.into_iter().zip(some) {
                assert!(served.is_none_or(|served| served == value(key)), "a wrong value of {key}");
            }
        }
        let fresh: Vec<_> = keys(FLOORS..2 * FLOORS).into_iter().map(|key| (key, value(&key))).collect();
        for batch in fresh.chunks(100) {
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
    let original = TempDir::new().unwrap();
    fill(original.path()).await;
    let good = fs::read(config(original.path()).path.join("data.mdb")).unwrap();
    let mut quarantined = 0;
    // Each round twice: many bits anywhere in the file, then one in the header of a page, which LMDB trusts.
    for (round, is_anywhere) in (0..rounds).flat_map(|round| [(round, true), (round, false)]) {
        let home = TempDir::new().unwrap();
        let path = config(home.path()).path;
        fs::create_dir(&path).unwrap();
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
        fs::write(path.join("data.mdb"), bytes).unwrap();
        let child = Command::new(env::current_exe().unwrap())
            .args(["--exact", "the_process_that_opens_a_damaged_store", "--nocapture"])
            .env(OPEN, home.path())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&child.stdout);
        assert!(
            child.status.success() && said.contains("survived"),
            "round {round}: {}: {said}{}",
            child.status,
            String::from_utf8_lossy(&child.stderr)
        );
        quarantined += u64::from(is_quarantined(home.path()));
    }
    println!("{rounds} rounds of {FLIPS} bits and as many of one; {quarantined} stores were quarantined");
    assert!(quarantined >= rounds / 2, "most flips are detected: {quarantined} in {rounds} rounds");
}

/// Stores that only LMDB has written pass the check.
#[tokio::test]
async fn no_undamaged_store_is_quarantined() {
    let home = TempDir::new().unwrap();
    let config = LmdbConfig { map_size: 4 << 20, ..config(home.path()) };
    let mut random = Random(7);
    for round in 0..60 {
        // Without the clean mark, the store is checked at each start.
        let _ = fs::remove_file(config.path.join("clean"));
        let tier = LmdbTier::open(&config, envelope()).unwrap();
        assert!(!is_quarantined(home.path()), "round {round}");
        for _ in 0..8 {
            let first = random.next() % 2000;
            let some = keys(first..first + random.next() % 200 + 1);
            if random.next().is_multiple_of(3) {
                tier.remove_many(&some).await.unwrap();
            } else {
                let entries: Vec<_> = some.iter().map(|key| (*key, value(key))).collect();
                tier.put_many(&entries).await.unwrap();
            }
        }
    }
    // Also copies by LMDB's tools.
    let _ = fs::remove_file(config.path.join("clean"));
    drop(LmdbTier::open(&config, envelope()).unwrap());
    for compaction in [heed::CompactionOption::Disabled, heed::CompactionOption::Enabled] {
        let copy = TempDir::new().unwrap();
        let to = LmdbConfig { path: copy.path().join("lmdb"), ..config.clone() };
        fs::create_dir(&to.path).unwrap();
        copy_lmdb(&config.path, &to.path, compaction);
        let tier = LmdbTier::open(&to, envelope()).unwrap();
        assert!(!is_quarantined(copy.path()), "a copy is undamaged");
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
    let home = TempDir::new().unwrap();
    fill(home.path()).await;
    let config = config(home.path());
    let data = config.path.join("data.mdb");
    let mark = config.path.join("clean");
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
    drop(LmdbTier::open(&config, envelope()).unwrap());
    assert!(!is_quarantined(home.path()), "undamaged, although it was rewritten");
    assert!(mark.exists(), "a clean close");
    break_root().set_modified(SystemTime::now()).unwrap();
    let tier = LmdbTier::open(&config, envelope()).unwrap();
    assert!(is_quarantined(home.path()));
    assert_eq!(tier.stats().entries, 0);
}

/// The clean mark exists only while nothing was written.
#[tokio::test]
async fn the_clean_mark_exists_until_the_next_write() {
    let home = TempDir::new().unwrap();
    let config = config(home.path());
    let mark = config.path.join("clean");
    let entries: Vec<_> = keys(0..3).into_iter().map(|key| (key, value(&key))).collect();
    let tier = LmdbTier::open(&config, envelope()).unwrap();
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
    drop(LmdbTier::open(&config, envelope()).unwrap());
    assert!(mark.exists() && !is_quarantined(home.path()));
}
