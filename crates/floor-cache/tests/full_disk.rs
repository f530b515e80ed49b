//! Tests of the tiers in files on a full disk: a start reports it and changes nothing, reads continue, and no signal
//! kills the process.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod fixture;

use std::{env, fs, iter, path::Path, sync::Arc};

use bytes::Bytes;
use fixture::{
    LONG_TIMEOUT,
    fake_source::{FakeSource, value_of},
    key, keys, names_in, output_of,
    small_disk::SmallDisk,
    stores::{STORES, Store},
    test_process, when_free,
};
use floor_cache::{Bypass, Chain, ChainConfig, Key, KeyPattern, OpenError, Options, Tier, TierKind, assemble};
use tokio::runtime::Handle;

/// Set in the child process that opens a store: its path and kind.
const OPEN: &str = "FLOORS_TEST_OPEN";
const STORE: &str = "FLOORS_TEST_STORE";

const DISK: u64 = 8 << 20;

/// The capacity of a store, larger than the disk.
const CAPACITY: u64 = 64 << 20;

/// Floors stored before the disk is full.
const FLOORS: u64 = 50;

fn value(key: &Key) -> Bytes {
    Bytes::from(key.as_bytes().repeat(100))
}

fn open(store: &dyn Store, path: &Path) -> Result<Box<dyn Tier>, OpenError> {
    store.open(path.to_owned(), CAPACITY)
}

/// The child process: it opens a store on a full disk and uses it, if it opens.
#[tokio::test]
async fn the_process_on_a_full_disk() {
    let (Some(path), Ok(store)) = (env::var_os(OPEN), env::var(STORE)) else { return };
    let store = STORES.iter().find(|other| other.name() == store).expect("the name of a store");
    let tier = match open(*store, Path::new(&path)) {
        Ok(tier) => tier,
        Err(error) => {
            println!("refused: {error}");
            return;
        }
    };
    let is_readable = store.is_readable_on_a_full_disk();
    let read = async |keys: &[Key]| {
        let read = tier.get_many(keys).await;
        if is_readable { read.unwrap() } else { read.unwrap_or_else(|_error| vec![None; keys.len()]) }
    };
    let held = read(&keys(0..FLOORS)).await.into_iter().flatten().count();
    let mut failed = 0;
    for batch in keys(FLOORS..5000).chunks(64) {
        let entries: Vec<_> = batch.iter().map(|key| (*key, value(key))).collect();
        failed += u64::from(tier.put_many(&entries).await.is_err());
        for (key, read) in batch.iter().zip(read(batch).await) {
            assert!(read.is_none_or(|read| read == value(key)), "a wrong value");
        }
    }
    let _it_may_fail = tier.flush().await;
    let after = read(&keys(0..FLOORS)).await.into_iter().flatten().count();
    assert!(held == after || !is_readable, "stored values are kept: {after} of {held}");
    println!("opened: held {held}; writes failed: {}", failed > 0);
}

/// Runs the child for the store in `path` and returns its result line. The child must not be killed.
fn ask(store: &dyn Store, path: &Path) -> String {
    let said = output_of(test_process("the_process_on_a_full_disk").env(OPEN, path).env(STORE, store.name()));
    let line = said.lines().find(|line| line.contains("refused: ") || line.contains("opened: "));
    let line = line.unwrap_or_else(|| panic!("no result line: {said}"));
    line[line.find("refused: ").or(line.find("opened: ")).expect("just seen")..].to_owned()
}

/// Free bytes on the disk.
const FREE: [u64; 7] = [0, 4 << 10, 16 << 10, 32 << 10, 40 << 10, 64 << 10, 256 << 10];

fn check_refusal(said: &str, path: &Path) {
    assert!(said.contains("no space left on the disk"), "{said}");
    assert!(said.contains(&path.display().to_string()) && said.contains("free 1 MiB or more"), "{said}");
}

#[test]
fn a_new_store_on_a_full_disk_is_refused_or_opens() {
    for (store, free) in STORES.iter().flat_map(|store| FREE.map(|free| (*store, free))) {
        let Some(disk) = SmallDisk::mount(DISK) else { return };
        let (name, path) = (store.name(), disk.path().join("store"));
        disk.fill(free);
        // Twice: the files of the first attempt must not look like a damaged store.
        for attempt in 1..=2 {
            let said = ask(store, &path);
            println!("{name}, {free} bytes free, attempt {attempt}: {said}");
            if said.starts_with("refused") {
                check_refusal(&said, &path);
            }
            assert!(free > 0 || said.starts_with("refused"), "{name} cannot open: {said}");
            let names = names_in(disk.path());
            assert!(names.iter().all(|name| name == "ballast" || name == "store"), "{name}: {names:?}");
        }
        disk.free().unwrap();
        drop(when_free(|| open(store, &path)));
        assert_eq!(names_in(disk.path()), ["store"], "{name}, {free} bytes free");
    }
}

#[tokio::test]
async fn a_store_is_readable_on_a_full_disk_and_undamaged_afterwards() {
    for (store, free) in STORES.iter().flat_map(|store| FREE.map(|free| (*store, free))) {
        for missing in iter::once(None).chain(store.lock_file().map(Some)) {
            let Some(disk) = SmallDisk::mount(DISK) else { return };
            let (name, path) = (store.name(), disk.path().join("store"));
            let remove_missing = || missing.into_iter().for_each(|file| fs::remove_file(path.join(file)).unwrap());
            let tier = open(store, &path).unwrap();
            let entries: Vec<_> = keys(0..FLOORS).into_iter().map(|key| (key, value(&key))).collect();
            tier.put_many(&entries).await.unwrap();
            tier.flush().await.unwrap();
            drop(tier);
            remove_missing();
            when_free(|| open(store, &path).map(drop));
            remove_missing();
            disk.fill(free);
            let said = ask(store, &path);
            println!("{name}, {free} bytes free, without {missing:?}: {said}");
            if said.starts_with("refused") {
                check_refusal(&said, &path);
            } else {
                assert!(said.contains(&format!("held {FLOORS}")), "{said}");
            }
            assert_eq!(names_in(disk.path()), ["ballast", "store"], "nothing is renamed");
            disk.free().unwrap();
            let tier = when_free(|| open(store, &path));
            let held = tier.get_many(&keys(0..FLOORS)).await.unwrap();
            assert_eq!(held.into_iter().flatten().count() as u64, FLOORS, "{name}, {free}: all values are kept");
            drop(tier);
            assert_eq!(names_in(disk.path()), ["store"], "nothing is renamed");
        }
    }
}

/// The store is larger than the disk, so writes fail. LMDB writes with system calls, so a full disk is an error and not
/// a signal.
#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_fails_no_call() {
    for store in STORES.iter().filter(|store| store.is_readable_on_a_full_disk()) {
        let Some(disk) = SmallDisk::mount(3 << 20) else { return };
        let path = disk.path().join("store");
        let chain = vec![TierKind::Lru, store.kind()];
        let mut config = ChainConfig { chain, bypass: Bypass::Off, ..ChainConfig::default() };
        store.configure(&mut config, path.clone(), CAPACITY);
        let chain = assemble(&config, Arc::new(FakeSource::default()), &Handle::current()).unwrap();
        for some in keys(0..4000).chunks(64) {
            let served = chain.get_many(some, Options::default()).await.expect("a full disk reaches no caller");
            assert!(served.iter().zip(some).all(|(served, key)| served.value == value_of(key)));
        }
        chain.close(LONG_TIMEOUT).await;
        let metrics = chain.metrics().tiers.pop().expect("the store is the last tier");
        assert!(metrics.lower.is_some_and(|lower| lower.writes.failed > 0), "the disk was full");
        let space = metrics.space.expect("it is on a disk");
        assert!(space.total == 3 << 20 && space.free < space.total, "{space:?}");
        drop(chain);
        let reopened = when_free(|| open(*store, &path));
        assert!(reopened.stats().entries > 0, "the store is undamaged and has what fitted");
    }
}

/// A chain of the tier `kind` alone, on `disk`.
fn chain_on(disk: &SmallDisk, kind: TierKind) -> Result<Chain, OpenError> {
    let store = STORES.iter().find(|store| store.kind() == kind).expect("a tier on a disk");
    let mut config = ChainConfig { chain: vec![kind], bypass: Bypass::Off, ..ChainConfig::default() };
    store.configure(&mut config, disk.path().join("store"), CAPACITY);
    assemble(&config, Arc::new(FakeSource::default()), &Handle::current())
}

/// Stores the values of `keys`. Whether all were written.
async fn put(chain: &Chain, keys: &[Key]) -> bool {
    keys.iter().for_each(|key| chain.put(*key, &value(key)));
    chain.close(LONG_TIMEOUT).await
}

/// A disk with some space takes a write in part, which LMDB reports as an input/output error.
#[tokio::test(flavor = "multi_thread")]
async fn stored_values_are_served_while_every_write_fails() {
    for free in FREE {
        let Some(disk) = SmallDisk::mount(DISK) else { return };
        let chain = chain_on(&disk, TierKind::Lmdb).unwrap();
        assert!(put(&chain, &keys(0..FLOORS)).await);
        disk.fill(free);
        let mut failed = 0;
        for batch in keys(FLOORS..3000).chunks(100) {
            failed += u32::from(!put(&chain, batch).await);
        }
        assert!(failed > 20, "the disk is full: {failed} batches failed");
        for key in keys(0..FLOORS) {
            let served = chain.get(key, Options::default()).await.unwrap();
            assert_eq!((served.by, served.value), ("lmdb", value(&key)), "{free} bytes free");
        }
        let report = &chain.report()[0];
        assert_eq!((report.errors, report.verdict), (0, "probed"), "{free} bytes free");
        disk.free().unwrap();
        assert!(put(&chain, &keys(5000..5100)).await, "writes succeed again");
        assert_eq!(chain.get(key(5099, 1), Options::default()).await.unwrap().by, "lmdb");
    }
}

/// A removal needs new pages, for which the store keeps a reserve.
#[tokio::test(flavor = "multi_thread")]
async fn a_purge_on_a_full_disk_makes_room_for_new_floors() {
    for round in 0..2 {
        let Some(disk) = SmallDisk::mount(4 * DISK) else { return };
        let chain = chain_on(&disk, TierKind::Lmdb).unwrap();
        assert!(put(&chain, &keys(0..2000)).await);
        disk.fill(0);
        let mut stored = 2000;
        while put(&chain, &keys(stored..stored + 100)).await {
            stored += 100;
        }
        // By keys, and then by a pattern.
        if round == 0 {
            for keys in keys(0..2000).chunks(500) {
                for removal in chain.purge(keys).await {
                    removal.result.unwrap();
                }
            }
            assert_eq!(chain.get(key(7, 1), Options::default()).await.unwrap().by, "generated");
        } else {
            let removed = chain.purge_matching(KeyPattern::ALL).await;
            assert!(removed.iter().all(|tier| tier.result.is_ok()), "{removed:?}");
            assert_eq!(chain.report()[0].entries, 0);
        }
        // The disk is as full as before.
        assert!(put(&chain, &keys(10_000..10_500)).await, "the freed pages are used");
        assert_eq!(chain.get(key(10_499, 1), Options::default()).await.unwrap().by, "lmdb");
    }
}

/// sled keeps the error of a failed write, and answers nothing more.
#[tokio::test(flavor = "multi_thread")]
async fn after_a_full_disk_sled_says_that_a_restart_helps_and_it_does() {
    let Some(disk) = SmallDisk::mount(DISK) else { return };
    let chain = chain_on(&disk, TierKind::Sled).unwrap();
    assert!(put(&chain, &keys(0..FLOORS)).await);
    disk.fill(0);
    for batch in keys(FLOORS..20_000).chunks(500) {
        if !put(&chain, batch).await {
            break;
        }
    }
    let says_so = |message: &str| message.contains("free space and restart the server");
    let error = chain.report()[0].last_error.clone().expect("a write failed").message;
    assert!(says_so(&error), "{error}");
    let removed = chain.purge_matching(KeyPattern::ALL).await;
    let error = removed.into_iter().find_map(|tier| tier.result.err()).expect("a removal is a write").to_string();
    assert!(says_so(&error), "{error}");
    drop(chain);
    disk.free().unwrap();
    let chain = when_free(|| chain_on(&disk, TierKind::Sled));
    assert_eq!(chain.get(key(0, 1), Options::default()).await.unwrap().by, "sled");
    assert!(chain.purge_matching(KeyPattern::ALL).await.iter().all(|tier| tier.result.is_ok()));
    assert!(put(&chain, &keys(0..FLOORS)).await);
}
