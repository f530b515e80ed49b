//! The stores on disk: what stops them from opening, what they do when they are full, and what a restart finds.

mod setting;

use std::{fs, os::unix::fs::PermissionsExt, path::Path, process::Command};

use bytes::Bytes;
use floor_cache::{
    LmdbConfig, OpenError, Options, SledConfig, Tier, TierKind,
    tiers::{LmdbTier, SledTier},
};
use heed::{
    EnvOpenOptions,
    types::{Bytes as Raw, Str},
};
use setting::{Setting, envelope, key, keys, mill::value_of, when_free};
use tempfile::TempDir;

fn home() -> TempDir {
    tempfile::tempdir().expect("a directory")
}

fn lmdb(home: &TempDir) -> LmdbConfig {
    LmdbConfig { path: home.path().to_owned(), map_size: 16 << 20 }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_finds_what_was_written() {
    for kind in [TierKind::Lmdb, TierKind::Sled] {
        let setting = Setting::new(&[TierKind::Lru, kind], |_| {});
        setting.chain.get_many(&keys(0..300), Options::default()).await.unwrap();
        let setting = setting.reopened().await;
        let served = setting.chain.get_many(&keys(0..300), Options::default()).await.unwrap();
        assert!(served.iter().all(|served| served.by == kind.name()));
        assert_eq!(setting.tier(kind.name()).entries, 300);
        assert_eq!(setting.mill.ground(), 0);
    }
}

/// Root writes anywhere, so a file in the way stands for a directory that cannot be written.
#[test]
fn a_directory_that_cannot_be_used_says_what_to_do() {
    let home = home();
    let path = home.path().join("file");
    fs::write(&path, "in the way").unwrap();
    let error = LmdbTier::open(&LmdbConfig { path: path.clone(), map_size: 1 << 20 }, envelope()).unwrap_err();
    let text = error.to_string();
    assert!(text.starts_with("the lmdb directory ") && text.contains("file cannot be used"), "{text}");
    assert!(text.ends_with("make it writable for this user, or set cache.lmdb.path to one that is"), "{text}");
    let error = SledTier::open(&SledConfig { path, ..SledConfig::default() }, envelope()).unwrap_err();
    assert!(error.to_string().contains("set cache.sled.path"), "{error}");

    let locked = home.path().join("locked");
    fs::create_dir(&locked).unwrap();
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o555)).unwrap();
    let opened = LmdbTier::open(&LmdbConfig { path: locked.join("lmdb"), map_size: 1 << 20 }, envelope());
    let is_root = Command::new("id").arg("-u").output().unwrap().stdout == b"0\n";
    assert!(is_root || matches!(opened, Err(OpenError::Directory { .. })), "{opened:?}");
}

#[test]
fn a_store_of_another_version_is_left_alone() {
    let home = home();
    drop(LmdbTier::open(&lmdb(&home), envelope()).unwrap());
    set_layout(&home, "floor-cache lmdb 2");
    let error = LmdbTier::open(&lmdb(&home), envelope()).unwrap_err();
    assert!(matches!(error, OpenError::Version { .. }), "{error:?}");
    let text = error.to_string();
    assert!(
        text.contains("was made by another version (found: floor-cache lmdb 2; this one reads: floor-cache lmdb 1)")
    );
    assert!(text.contains("move the directory away"), "{text}");
}

fn set_layout(home: &TempDir, layout: &str) {
    behind_its_back(home, |env, txn| {
        let meta: Option<heed::Database<Str, Str>> = env.open_database(txn, Some("meta")).expect("no error");
        meta.expect("it is there").put(txn, "layout", layout).expect("it takes the layout");
    });
}

/// Changes an LMDB that is closed.
#[allow(unsafe_code)]
fn behind_its_back(home: &TempDir, change: impl FnOnce(&heed::Env, &mut heed::RwTxn<'_>)) {
    let mut options = EnvOpenOptions::new();
    options.map_size(16 << 20).max_dbs(3);
    // SAFETY: nothing else has the store open; the tier was dropped.
    let env = unsafe { options.open(home.path()) }.expect("it opens");
    let mut txn = env.write_txn().expect("a transaction");
    change(&env, &mut txn);
    txn.commit().expect("it commits");
    env.prepare_for_closing().wait();
}

/// sled tells another version of itself from damage less well than it could.
#[test]
fn a_store_of_another_version_of_sled_is_left_alone() {
    let home = home();
    let config = SledConfig { path: home.path().join("sled"), ..SledConfig::default() };
    drop(SledTier::open(&config, envelope()).unwrap());
    let conf = config.path.join("conf");
    let settings = fs::read(&conf).unwrap();
    let text = String::from_utf8_lossy(&settings).into_owned();
    let version = text.lines().find(|line| line.starts_with("version: ")).unwrap_or_else(|| panic!("{text}"));
    let at = text.find(version).unwrap() + version.len() - 1;
    let mut other = settings.clone();
    other[at] = if other[at] == b'9' { b'8' } else { b'9' };
    fs::write(&conf, &other).unwrap();
    let error = when_free_of_lock(|| SledTier::open(&config, envelope()));
    assert!(matches!(error, OpenError::Version { tier: "sled", .. }), "{error:?}");
    assert!(error.to_string().contains("move the directory away"), "{error}");
    assert_eq!((put_aside(&home, "sled"), fs::read(&conf).unwrap()), (0, other), "it is for the operator");

    fs::write(&conf, vec![0xFF; 64]).unwrap();
    when_free(|| SledTier::open(&config, envelope()));
    assert_eq!(put_aside(&home, "sled"), 1, "noise is damage");
}

/// What opening fails with, once the store that was dropped just now is free.
fn when_free_of_lock(open: impl Fn() -> Result<SledTier, OpenError>) -> OpenError {
    when_free(|| match open() {
        Err(locked @ OpenError::Locked { .. }) => Err(locked),
        Err(other) => Ok(other),
        Ok(_) => panic!("it opens"),
    })
}

/// A transaction that takes pages at the end of the file and gives them back leaves the file shorter than the pages that it has
/// had, as far as LMDB goes.
#[tokio::test]
async fn an_lmdb_from_which_much_was_removed_is_whole() {
    let home = home();
    let config = LmdbConfig { path: home.path().join("lmdb"), map_size: 16 << 20 };
    for kept in [1, 7, 40] {
        let entries: Vec<_> = keys(0..2000).into_iter().map(|key| (key, value_of(&key).slice(..1))).collect();
        let tier = LmdbTier::open(&config, envelope()).unwrap();
        tier.put_many(&entries).await.unwrap();
        tier.remove_many(&keys(kept..2000)).await.unwrap();
        drop(tier);
        let tier = LmdbTier::open(&config, envelope()).unwrap();
        assert_eq!((put_aside(&home, "lmdb"), tier.stats().entries), (0, kept), "it was put aside");
        tier.remove_many(&keys(0..kept)).await.unwrap();
    }
}

/// Noughts in the pages that hold the values, which opening does not look at: each question fails, and the next start begins
/// afresh.
#[tokio::test]
async fn an_lmdb_that_is_found_damaged_in_use_is_put_aside_at_the_next_start() {
    const PAGE: usize = 4096;
    let home = home();
    let config = LmdbConfig { path: home.path().join("lmdb"), map_size: 16 << 20 };
    let entries: Vec<_> = keys(0..300).into_iter().map(|key| (key, value_of(&key))).collect();
    let tier = LmdbTier::open(&config, envelope()).unwrap();
    tier.put_many(&entries).await.unwrap();
    tier.flush().await.unwrap();
    drop(tier);
    let data = config.path.join("data.mdb");
    let mut bytes = fs::read(&data).unwrap();
    // A page begins with its number and its flags, of which 2 says that it is a leaf.
    let holds_values = |page: &[u8]| page[10] & 2 != 0 && page.windows(4).any(|word| word == b"FLC\x01");
    bytes.chunks_exact_mut(PAGE).filter(|page| holds_values(page)).for_each(|page| page.fill(0));
    fs::write(&data, bytes).unwrap();

    let tier = LmdbTier::open(&config, envelope()).expect("so far it looks whole");
    assert_eq!(put_aside(&home, "lmdb"), 0);
    tier.get(&key(1, 1)).await.expect_err("the page is gone");
    drop(tier);
    let tier = LmdbTier::open(&config, envelope()).unwrap();
    assert_eq!(put_aside(&home, "lmdb"), 1);
    tier.put_many(&entries).await.expect("the fresh one takes values");
    assert_eq!(tier.get(&key(1, 1)).await.unwrap(), Some(value_of(&key(1, 1))));
}

/// The age in front of a record is under no hash. A wrong one must not take another value's place in the order in which they go.
#[tokio::test]
async fn a_damaged_age_in_lmdb_keeps_no_other_value_for_ever() {
    const AGE: usize = 8;
    let home = home();
    let small = LmdbConfig { path: home.path().to_owned(), map_size: 4 << 20 };
    let tier = LmdbTier::open(&small, envelope()).unwrap();
    let value = Bytes::from(vec![7; 3000]);
    let entries = |numbers: std::ops::Range<u64>| -> Vec<_> {
        keys(numbers).into_iter().map(|key| (key, value.clone())).collect()
    };
    tier.put_many(&entries(0..3)).await.unwrap();
    drop(tier);
    // The first has the age of the second. The third has none: it was lost to such damage before.
    behind_its_back(&home, |env, txn| {
        let open = |txn: &heed::RwTxn<'_>, name| {
            env.open_database::<Raw, Raw>(txn, Some(name)).expect("no error").expect("it is there")
        };
        let (values, ages) = (open(txn, "values"), open(txn, "ages"));
        let record = |number| {
            let stored = [b"test:".as_slice(), key(number, 1).as_bytes()].concat();
            let record = values.get(txn, &stored).expect("no error").expect("it is there").to_vec();
            (stored, record)
        };
        let ((first, mut wrong), (_, second), (_, third)) = (record(0), record(1), record(2));
        wrong[..AGE].copy_from_slice(&second[..AGE]);
        values.put(txn, &first, &wrong).expect("it takes the record");
        ages.delete(txn, &third[..AGE]).expect("no error");
    });
    let tier = LmdbTier::open(&small, envelope()).unwrap();
    tier.remove_many(&keys(0..1)).await.unwrap();
    for first in (1000..4000).step_by(100) {
        tier.put_many(&entries(first..first + 100)).await.expect("there is room");
    }
    assert!(!tier.contains(&key(1, 1)).into_ready(), "the second went in its turn");
}

/// Values whose ages are lost go when there is nothing older.
#[tokio::test]
async fn values_without_an_age_in_lmdb_make_room_too() {
    let home = home();
    let config = LmdbConfig { path: home.path().to_owned(), map_size: 4 << 20 };
    let tier = LmdbTier::open(&config, envelope()).unwrap();
    let value = Bytes::from(vec![7; 3000]);
    for first in (0..2000).step_by(100) {
        let batch: Vec<_> = keys(first..first + 100).into_iter().map(|key| (key, value.clone())).collect();
        tier.put_many(&batch).await.unwrap();
    }
    let held = |tier: &LmdbTier| keys(0..2000).iter().filter(|key| tier.contains(key).into_ready()).count();
    let before = held(&tier);
    drop(tier);
    behind_its_back(&home, |env, txn| {
        let ages: Option<heed::Database<Raw, Raw>> = env.open_database(txn, Some("ages")).expect("no error");
        ages.expect("it is there").clear(txn).expect("they go");
    });
    let tier = LmdbTier::open(&config, envelope()).unwrap();
    let batch: Vec<_> = keys(3000..3030).into_iter().map(|key| (key, value.clone())).collect();
    tier.put_many(&batch).await.expect("there is room");
    assert!(held(&tier) < before, "{before} before");
    assert!(batch.iter().all(|(key, _)| tier.contains(key).into_ready()));
}

#[test]
fn sled_in_use_says_so() {
    let home = home();
    let config = SledConfig { path: home.path().to_owned(), ..SledConfig::default() };
    let _held = SledTier::open(&config, envelope()).unwrap();
    let error = SledTier::open(&config, envelope()).unwrap_err();
    assert!(matches!(error, OpenError::Locked { tier: "sled", .. }), "{error:?}");
    assert!(error.to_string().contains("is in use by another process; stop that one"), "{error}");
}

/// The directories beside `path` that were put aside.
fn put_aside(home: &TempDir, name: &str) -> usize {
    let prefix = format!("{name}.damaged-20");
    let names = fs::read_dir(home.path()).expect("it can be read").map(|entry| entry.expect("an entry").file_name());
    names.filter(|name| name.to_string_lossy().starts_with(&prefix)).count()
}

#[tokio::test]
async fn a_damaged_lmdb_is_put_aside_and_a_fresh_one_begun() {
    let home = home();
    let config = LmdbConfig { path: home.path().join("lmdb"), map_size: 16 << 20 };
    let data = config.path.join("data.mdb");
    type Damage = fn(&Path);
    let damages: [(&str, Damage); 3] = [
        ("noise", |data| fs::write(data, vec![0xA5; 64 << 10]).expect("it can be written")),
        ("cut short", |data| {
            let file = fs::OpenOptions::new().write(true).open(data).expect("it is there");
            file.set_len(3 * 4096).expect("it can be cut");
        }),
        ("no meta pages", |data| {
            let mut bytes = fs::read(data).expect("it can be read");
            bytes[..2 * 4096].fill(0xFF);
            fs::write(data, bytes).expect("it can be written");
        }),
    ];
    for (count, (name, damage)) in damages.into_iter().enumerate() {
        let entries: Vec<_> = keys(0..300).into_iter().map(|key| (key, value_of(&key))).collect();
        let tier = LmdbTier::open(&config, envelope()).unwrap();
        tier.put_many(&entries).await.unwrap();
        tier.flush().await.unwrap();
        drop(tier);
        damage(&data);
        let tier = LmdbTier::open(&config, envelope()).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(put_aside(&home, "lmdb"), count + 1, "{name}");
        assert_eq!(tier.stats().entries, 0, "{name}");
    }
}

#[tokio::test]
async fn a_damaged_sled_is_put_aside_and_a_fresh_one_begun() {
    let home = home();
    let config = SledConfig { path: home.path().join("sled"), ..SledConfig::default() };
    let tier = SledTier::open(&config, envelope()).unwrap();
    tier.put_many(&[(key(1, 1), value_of(&key(1, 1)))]).await.unwrap();
    tier.flush().await.unwrap();
    drop(tier);
    fs::write(config.path.join("conf"), "this is no configuration of sled").unwrap();
    let tier = when_free(|| SledTier::open(&config, envelope()));
    assert_eq!(put_aside(&home, "sled"), 1);
    assert_eq!(tier.get(&key(1, 1)).await.unwrap(), None);
}

#[test]
fn lmdb_open_twice_in_one_process_says_so_and_leaves_it_alone() {
    let home = home();
    let _held = LmdbTier::open(&lmdb(&home), envelope()).unwrap();
    let error = LmdbTier::open(&lmdb(&home), envelope()).unwrap_err();
    assert!(matches!(error, OpenError::Locked { tier: "lmdb", .. }), "{error:?}");
}

/// Four times as much as the map holds: the newest stay, the oldest go, and nothing fails.
#[tokio::test]
async fn lmdb_makes_room_by_letting_the_oldest_go() {
    let home = home();
    let tier = LmdbTier::open(&LmdbConfig { path: home.path().to_owned(), map_size: 4 << 20 }, envelope()).unwrap();
    let value = Bytes::from(vec![7; 3000]);
    let count = 4 * (4 << 20) / 3000;
    for first in (0..count).step_by(64) {
        let batch: Vec<_> = (first..first + 64).map(|number| (key(number, 1), value.clone())).collect();
        tier.put_many(&batch).await.expect("a full map is no error");
    }
    let stats = tier.stats();
    assert!(stats.bytes < 4 << 20, "{stats:?}");
    assert!(stats.entries > 300, "most of the map is used: {stats:?}");
    let held: Vec<u64> = (0..count + 64).filter(|n| tier.contains(&key(*n, 1)).into_ready()).collect();
    assert_eq!(held.len() as u64, stats.entries);
    let newest_run = held.windows(2).all(|pair| pair[1] == pair[0] + 1);
    assert!(newest_run && held.contains(&(count - 1)), "the newest stay: {:?}..{:?}", held.first(), held.last());
    assert_eq!(tier.get(&key(count - 1, 1)).await.unwrap(), Some(value));
}

/// Values that are larger than the room there is.
#[tokio::test]
async fn lmdb_bears_a_batch_that_cannot_fit() {
    let home = home();
    let tier = LmdbTier::open(&LmdbConfig { path: home.path().to_owned(), map_size: 1 << 20 }, envelope()).unwrap();
    tier.put_many(&[(key(1, 1), value_of(&key(1, 1)))]).await.unwrap();
    let large = Bytes::from(vec![7; 3 << 20]);
    let _refused_or_not = tier.put_many(&[(key(2, 1), large)]).await;
    assert_eq!(tier.get(&key(2, 1)).await.unwrap(), None);
    tier.put_many(&[(key(3, 1), value_of(&key(3, 1)))]).await.expect("and goes on");
    assert_eq!(tier.get(&key(3, 1)).await.unwrap(), Some(value_of(&key(3, 1))));
}

/// Which of the keys below `count` it holds.
fn held(tier: &SledTier, count: u64) -> Vec<u64> {
    (0..count).filter(|number| tier.contains(&key(*number, 1)).into_ready()).collect()
}

async fn put(tier: &SledTier, numbers: std::ops::Range<u64>) {
    let value = Bytes::from(vec![7; 3000]);
    let all: Vec<_> = numbers.map(|number| (key(number, 1), value.clone())).collect();
    for batch in all.chunks(64) {
        tier.put_many(batch).await.expect("a full store is no error");
    }
}

/// Four times as much as it may hold, with a restart on the way: the newest stay, the oldest go.
#[tokio::test]
async fn sled_makes_room_by_letting_the_oldest_go() {
    let home = home();
    let config = SledConfig { path: home.path().to_owned(), capacity: 1 << 20 };
    let count = 4 * (1 << 20) / 3000;
    for half in [0..count / 2, count / 2..count] {
        let tier = when_free(|| SledTier::open(&config, envelope()));
        put(&tier, half.clone()).await;
        let stats = tier.stats();
        assert!(stats.bytes <= 1 << 20 && stats.bytes > (1 << 20) * 9 / 10, "{stats:?}");
        assert_eq!(stats.limit, 1 << 20);
        let held = held(&tier, count);
        assert_eq!(held.len() as u64, stats.entries);
        assert_eq!(held, (half.end - stats.entries..half.end).collect::<Vec<_>>(), "the newest, without a gap");
        tier.flush().await.unwrap();
    }
}

#[tokio::test]
async fn what_is_removed_or_put_again_makes_no_difference_to_sleds_counts() {
    let home = home();
    let config = SledConfig { path: home.path().to_owned(), capacity: 1 << 20 };
    let tier = SledTier::open(&config, envelope()).unwrap();
    put(&tier, 0..100).await;
    let before = tier.stats();
    put(&tier, 50..100).await;
    assert_eq!(tier.stats().bytes, before.bytes, "the same again takes no more room");
    tier.remove_many(&keys(0..100)).await.unwrap();
    assert_eq!((tier.stats().entries, tier.stats().bytes), (0, 0));
    put(&tier, 0..1000).await;
    let held = held(&tier, 1000);
    assert_eq!(held.len() as u64, tier.stats().entries);
    assert_eq!(held.last(), Some(&999), "ages of what was removed stand in nobody's way");
    assert_eq!(tier.stats().bytes, before.bytes / 100 * held.len() as u64);
}

#[tokio::test]
async fn with_no_limit_sled_keeps_everything() {
    let home = home();
    let tier = SledTier::open(&SledConfig { path: home.path().to_owned(), capacity: 0 }, envelope()).unwrap();
    put(&tier, 0..1000).await;
    assert_eq!((tier.stats().entries, tier.stats().limit), (1000, 0));
}

/// Many times what it may hold, as fast as it goes.
#[tokio::test]
async fn sled_bears_far_more_than_it_keeps() {
    let home = home();
    let config = SledConfig { path: home.path().to_owned(), capacity: 1 << 20 };
    let tier = SledTier::open(&config, envelope()).unwrap();
    let count = 20 * (1 << 20) / 3000;
    put(&tier, 0..count).await;
    let stats = tier.stats();
    assert!(stats.bytes <= 1 << 20 && stats.bytes > (1 << 20) * 9 / 10, "{stats:?}");
    assert_eq!(tier.get(&key(count - 1, 1)).await.unwrap(), Some(Bytes::from(vec![7; 3000])));
    assert_eq!(tier.get(&key(0, 1)).await.unwrap(), None);
}

/// One that kept no ages and no counts.
#[tokio::test]
async fn sled_bounds_a_store_of_an_earlier_release() {
    let home = home();
    let unbounded = SledConfig { path: home.path().to_owned(), capacity: 0 };
    let tier = SledTier::open(&unbounded, envelope()).unwrap();
    put(&tier, 0..1000).await;
    drop(tier);
    let raw = when_free(|| sled::open(home.path()));
    assert!(raw.drop_tree("ages").unwrap());
    raw.open_tree("values").unwrap().remove(b"\0counts").unwrap().expect("counts");
    drop(raw);
    let bounded = SledConfig { capacity: 1 << 20, ..unbounded };
    let tier = when_free(|| SledTier::open(&bounded, envelope()));
    assert_eq!(tier.stats().entries, 1000, "counted anew");
    put(&tier, 1000..1001).await;
    let stats = tier.stats();
    assert!(stats.bytes <= 1 << 20 && stats.bytes > (1 << 20) * 9 / 10, "{stats:?}");
    let held = held(&tier, 1001);
    assert_eq!(held.len() as u64, stats.entries);
    assert!(held.contains(&1000), "what came last stays");
}

trait Ready<T> {
    /// The answer of a tier that does not wait.
    fn into_ready(self) -> T;
}

impl<T> Ready<T> for floor_cache::Answer<'_, T> {
    fn into_ready(self) -> T {
        match self {
            Self::Now(result) => result.expect("it answers"),
            Self::Later(_) => panic!("a store on disk answers at once"),
        }
    }
}
