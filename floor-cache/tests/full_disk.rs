//! Tests of stores on a full disk: a start reports it and changes nothing, reads continue, and no signal kills the
//! process.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod fixture;

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use bytes::Bytes;
use fixture::{envelope, keys, small_disk::SmallDisk, when_free};
use floor_cache::{
    Key, LmdbConfig, OpenError, SledConfig, Tier,
    tiers::{LmdbTier, SledTier},
};

/// Set in the child process that opens a store: its path and kind.
const OPEN: &str = "FLOORS_TEST_OPEN";
const STORE: &str = "FLOORS_TEST_STORE";

const DISK: u64 = 8 << 20;

/// Floors stored before the disk is full.
const FLOORS: u64 = 50;

fn value(key: &Key) -> Bytes {
    Bytes::from(key.as_bytes().repeat(100))
}

fn open(store: &str, path: PathBuf) -> Result<Box<dyn Tier>, OpenError> {
    match store {
        "lmdb" => Ok(Box::new(LmdbTier::open(&LmdbConfig { path, map_size: 64 << 20 }, envelope())?)),
        _ => Ok(Box::new(SledTier::open(&SledConfig { path, ..SledConfig::default() }, envelope())?)),
    }
}

/// The child process: it opens a store on a full disk and uses it, if it opens.
#[tokio::test]
async fn the_process_on_a_full_disk() {
    let (Some(path), Ok(store)) = (env::var_os(OPEN), env::var(STORE)) else { return };
    let tier = match open(&store, PathBuf::from(path)) {
        Ok(tier) => tier,
        Err(error) => {
            println!("refused: {error}");
            return;
        }
    };
    // sled fails every query after a write to a full disk. LMDB fails none.
    let read = async |keys: &[Key]| {
        let read = tier.get_many(keys).await;
        if store == "lmdb" { read.unwrap() } else { read.unwrap_or_else(|_error| vec![None; keys.len()]) }
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
    assert!(held == after || store == "sled", "stored values are kept: {after} of {held}");
    println!("opened: held {held}; writes failed: {}", failed > 0);
}

/// Runs the child for the store in `path` and returns its result line. The child must not be killed.
fn ask(store: &str, path: &Path) -> String {
    let child = Command::new(env::current_exe().unwrap())
        .args(["--exact", "the_process_on_a_full_disk", "--nocapture"])
        .env(OPEN, path)
        .env(STORE, store)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&child.stdout).into_owned();
    assert!(child.status.success(), "{}: {said}{}", child.status, String::from_utf8_lossy(&child.stderr));
    let line = said.lines().find(|line| line.contains("refused: ") || line.contains("opened: "));
    let line = line.unwrap_or_else(|| panic!("no result line: {said}"));
    line[line.find("refused: ").or(line.find("opened: ")).expect("just seen")..].to_owned()
}

/// The names in `directory`, sorted.
fn names(directory: &Path) -> Vec<String> {
    let names = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
    let mut names: Vec<_> = names.collect();
    names.sort();
    names
}

/// Free bytes on the disk.
const FREE: [u64; 7] = [0, 4 << 10, 16 << 10, 32 << 10, 40 << 10, 64 << 10, 256 << 10];

fn check_refusal(said: &str, path: &Path) {
    assert!(said.contains("no space left on the disk"), "{said}");
    assert!(said.contains(&path.display().to_string()) && said.contains("free 1 MiB or more"), "{said}");
}

#[test]
fn a_new_store_on_a_full_disk_is_refused_or_opens() {
    for store in ["lmdb", "sled"] {
        for free in FREE {
            let Some(disk) = SmallDisk::mount(DISK) else { return };
            let path = disk.path().join("store");
            disk.fill(free);
            // Twice: the files of the first attempt must not look like a damaged store.
            for attempt in 1..=2 {
                let said = ask(store, &path);
                println!("{store}, {free} bytes free, attempt {attempt}: {said}");
                if said.starts_with("refused") {
                    check_refusal(&said, &path);
                }
                assert!(free > 0 || said.starts_with("refused"), "{store} cannot open: {said}");
                let names = names(disk.path());
                assert!(names.iter().all(|name| name == "ballast" || name == "store"), "{store}: {names:?}");
            }
            disk.free().unwrap();
            let tier = when_free(|| open(store, path.clone()));
            drop(tier);
            let names = names(disk.path());
            assert_eq!(names, ["store"], "{store}, {free} bytes free");
        }
    }
}

#[tokio::test]
async fn a_store_is_readable_on_a_full_disk_and_undamaged_afterwards() {
    for store in ["lmdb", "sled"] {
        for free in FREE {
            for has_lock_file in [true, false] {
                let Some(disk) = SmallDisk::mount(DISK) else { return };
                let path = disk.path().join("store");
                let tier = open(store, path.clone()).unwrap();
                let entries: Vec<_> = keys(0..FLOORS).into_iter().map(|key| (key, value(&key))).collect();
                tier.put_many(&entries).await.unwrap();
                tier.flush().await.unwrap();
                drop(tier);
                // As after `mdb_copy`.
                if !has_lock_file && store == "lmdb" {
                    fs::remove_file(path.join("lock.mdb")).unwrap();
                }
                when_free(|| open(store, path.clone()).map(drop));
                if !has_lock_file && store == "lmdb" {
                    fs::remove_file(path.join("lock.mdb")).unwrap();
                }
                disk.fill(free);
                let said = ask(store, &path);
                println!("{store}, {free} bytes free, with its lock file: {has_lock_file}: {said}");
                if said.starts_with("refused") {
                    check_refusal(&said, &path);
                } else {
                    assert!(said.contains(&format!("held {FLOORS}")), "{said}");
                }
                assert_eq!(names(disk.path()), ["ballast", "store"], "nothing is renamed");
                disk.free().unwrap();
                let tier = when_free(|| open(store, path.clone()));
                let held = tier.get_many(&keys(0..FLOORS)).await.unwrap();
                assert_eq!(held.into_iter().flatten().count() as u64, FLOORS, "{store}, {free}: all values are kept");
                drop(tier);
                assert_eq!(names(disk.path()), ["store"], "nothing is renamed");
            }
        }
    }
}
