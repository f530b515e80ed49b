//! Tests of eviction in the stores on disk: unread entries are evicted first, in bounded steps, and a read writes
//! nothing.

mod fixture;

use std::{fs, ops::Range};

use bytes::Bytes;
use fixture::{envelope, key, when_free};
use floor_cache::{
    LmdbConfig, SledConfig, Tier,
    tiers::{LmdbTier, SledTier},
};
use futures_util::FutureExt;
use tempfile::TempDir;

/// A store with a capacity of about 800 values of [`VALUE`] bytes.
#[derive(Debug, Clone, Copy)]
enum Store {
    Lmdb,
    Sled,
}

const VALUE: usize = 3000;

/// Entries in one call.
const BATCH: u64 = 32;

impl Store {
    const ALL: [Self; 2] = [Self::Lmdb, Self::Sled];

    fn open(self, home: &TempDir) -> Box<dyn Tier> {
        let path = home.path().join("store");
        match self {
            Self::Lmdb => Box::new(when_free(|| {
                LmdbTier::open(&LmdbConfig { path: path.clone(), map_size: 4 << 20 }, envelope())
            })),
            Self::Sled => Box::new(when_free(|| {
                SledTier::open(&SledConfig { path: path.clone(), capacity: 800 * (VALUE as u64 + 150) }, envelope())
            })),
        }
    }
}

fn home() -> TempDir {
    tempfile::tempdir().expect("a directory")
}

fn put(tier: &dyn Tier, numbers: Range<u64>) {
    let all: Vec<_> = numbers.map(|number| (key(number, 1), Bytes::from(vec![7; VALUE]))).collect();
    for batch in all.chunks(BATCH as usize) {
        tier.put_many(batch).now_or_never().expect("a store answers at once").expect("a full store is no error");
    }
}

/// Reads each of `numbers`. Returns how many are stored.
fn read(tier: &dyn Tier, numbers: Range<u64>) -> usize {
    let found = |number: &u64| tier.get(&key(*number, 1)).now_or_never().expect("at once").expect("it reads").is_some();
    numbers.filter(found).count()
}

/// Asks for each of `numbers` as a chain does and inserts missing ones. Returns how many were missing.
fn ask(tier: &dyn Tier, numbers: Range<u64>) -> usize {
    let missing: Vec<u64> = numbers.filter(|number| read(tier, *number..*number + 1) == 0).collect();
    missing.iter().for_each(|number| put(tier, *number..*number + 1));
    missing.len()
}

/// Returns how many of `numbers` are stored, without reading them.
fn held(tier: &dyn Tier, numbers: Range<u64>) -> usize {
    let holds = |number: &u64| tier.contains(&key(*number, 1)).now_or_never().expect("at once").expect("it looks");
    numbers.filter(holds).count()
}

#[test]
fn read_entries_are_kept_and_unread_ones_evicted() {
    for store in Store::ALL {
        let home = home();
        let tier = store.open(&home);
        put(&*tier, 0..400);
        // Five times the capacity, while a hundred of the first are read repeatedly. A few of those are lost, because
        // entries share bits.
        let mut missed = 0;
        for first in (400..4400).step_by(200) {
            missed += ask(&*tier, 100..200);
            put(&*tier, first..first + 200);
        }
        assert!(missed < 100, "{store:?}: {missed} of 2000 reads");
        assert!(held(&*tier, 100..200) >= 90, "{store:?}");
        let unread = held(&*tier, 0..100) + held(&*tier, 200..2400);
        assert!(unread < 30, "{store:?}: {unread} of 2300 unread entries");
        assert_eq!(held(&*tier, 4200..4400), 200, "{store:?}: the newest entries");
    }
}

/// An entry that is no longer read is evicted.
#[test]
fn an_entry_that_is_no_longer_read_is_evicted() {
    for store in Store::ALL {
        let home = home();
        let tier = store.open(&home);
        put(&*tier, 0..400);
        assert_eq!(read(&*tier, 0..400), 400);
        put(&*tier, 400..10_000);
        assert_eq!(held(&*tier, 0..400), 0, "{store:?}");
    }
}

#[test]
fn a_read_writes_nothing_to_lmdb() {
    let home = home();
    let tier = Store::Lmdb.open(&home);
    put(&*tier, 0..2000);
    let data = || fs::read(home.path().join("store/data.mdb")).expect("it can be read");
    let before = data();
    assert!(read(&*tier, 0..2000) > 300);
    assert!(data() == before, "the file has changed");
}

/// Every entry was read, so the sieve prefers none. A write still evicts about what it needs.
#[test]
fn a_write_evicts_only_what_it_needs_if_everything_was_read() {
    for store in Store::ALL {
        let home = home();
        let tier = store.open(&home);
        put(&*tier, 0..2000);
        for first in (2000..4000).step_by(BATCH as usize) {
            let before = tier.stats().entries;
            assert_eq!(read(&*tier, 0..4000) as u64, before, "{store:?}");
            put(&*tier, first..first + BATCH);
            let stats = tier.stats();
            assert!(stats.bytes <= stats.limit + (4 << 20) / 16, "{store:?}: {stats:?}");
            assert!(stats.entries + BATCH >= before, "{store:?}: {before} entries became {}", stats.entries);
            assert!(held(&*tier, first..first + BATCH) as u64 > BATCH / 2, "{store:?}: the entries just written");
        }
    }
}

/// The read entries are the oldest, and a restart loses the read bits. The hand, which has passed them, is persisted.
#[test]
fn a_restart_does_not_evict_read_entries_first() {
    for store in Store::ALL {
        let home = home();
        let tier = store.open(&home);
        put(&*tier, 0..100);
        for first in (100..2000).step_by(100) {
            ask(&*tier, 0..100);
            put(&*tier, first..first + 100);
        }
        ask(&*tier, 0..100);
        tier.flush().now_or_never().expect("at once").expect("it flushes");
        drop(tier);
        let tier = store.open(&home);
        put(&*tier, 2000..2200);
        assert!(held(&*tier, 0..100) >= 90, "{store:?}: {} after a restart", held(&*tier, 0..100));
    }
}
