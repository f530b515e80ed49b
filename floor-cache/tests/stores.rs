//! Tests of the stores on disk: errors of opening, eviction when full, and restarts.

mod fixture;

use std::{fs, os::unix::fs::PermissionsExt, process::Command};

use bytes::Bytes;
use fixture::{Fixture, envelope, fake_source::value_of, key, keys, when_free, within_lmdb};
use floor_cache::{
    LmdbConfig, OpenError, Options, SledConfig, Tier, TierKind,
    tiers::{LmdbTier, SledTier},
};
use heed::types::Str;
use tempfile::TempDir;

fn home() -> TempDir {
    tempfile::tempdir().expect("a directory")
}

fn lmdb(home: &TempDir) -> LmdbConfig {
    LmdbConfig { path: home.path().to_owned(), map_size: 16 << 20 }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_finds_stored_values() {
    for kind in [TierKind::Lmdb, TierKind::Sled] {
        let fixture = Fixture::new(&[TierKind::Lru, kind], |_| {});
        fixture.chain.get_many(&keys(0..300), Options::default()).await.unwrap();
        let fixture = fixture.reopened().await;
        let served = fixture.chain.get_many(&keys(0..300), Options::default()).await.unwrap();
        assert!(served.iter().all(|served| served.by == kind.name()));
        assert_eq!(fixture.tier(kind.name()).entries, 300);
        assert_eq!(fixture.source.generations(), 0);
    }
}

/// Root can write anywhere, so a file at the path replaces a directory without permission.
#[test]
fn the_error_of_an_unusable_directory_says_what_to_do() {
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
    within_lmdb(home.path(), |env, txn| {
        let meta: Option<heed::Database<Str, Str>> = env.open_database(txn, Some("meta")).expect("no error");
        meta.expect("it is there").put(txn, "layout", layout).expect("it takes the layout");
    });
}

#[test]
fn sled_in_use_is_an_error() {
    let home = home();
    let config = SledConfig { path: home.path().to_owned(), ..SledConfig::default() };
    let _held = SledTier::open(&config, envelope()).unwrap();
    let error = SledTier::open(&config, envelope()).unwrap_err();
    assert!(matches!(error, OpenError::Locked { tier: "sled", .. }), "{error:?}");
    assert!(error.to_string().contains("is in use by another process; stop that one"), "{error}");
}

#[test]
fn lmdb_open_twice_in_one_process_is_an_error() {
    let home = home();
    let _held = LmdbTier::open(&lmdb(&home), envelope()).unwrap();
    let error = LmdbTier::open(&lmdb(&home), envelope()).unwrap_err();
    assert!(matches!(error, OpenError::Locked { tier: "lmdb", .. }), "{error:?}");
}

/// Four times the size of the map: the newest entries are kept, the oldest evicted, and nothing fails.
#[tokio::test]
async fn lmdb_evicts_the_oldest_entries() {
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
    assert!(newest_run && held.contains(&(count - 1)), "the newest are kept: {:?}..{:?}", held.first(), held.last());
    assert_eq!(tier.get(&key(count - 1, 1)).await.unwrap(), Some(value));
}

/// The limits hold for any length of values and any order of keys.
#[tokio::test]
async fn lmdb_stays_below_its_high_water_with_values_of_any_length() {
    const MAP: u64 = 8 << 20;
    let scattered = |number: u64| key(number.wrapping_mul(0x9E37_79B9_7F4A_7C15), 1);
    for length in [200, 1700, 3820, 4090] {
        let home = home();
        let tier = LmdbTier::open(&LmdbConfig { path: home.path().to_owned(), map_size: MAP }, envelope()).unwrap();
        let value = Bytes::from(vec![7; length]);
        let count = 3 * MAP / (length as u64 + 150);
        for first in (0..count).step_by(256) {
            let batch: Vec<_> = (first..first + 256).map(|number| (scattered(number), value.clone())).collect();
            tier.put_many(&batch).await.unwrap_or_else(|error| panic!("{length} bytes, {first}: {error}"));
            let stats = tier.stats();
            assert!(stats.bytes <= stats.limit + MAP / 16, "{length} bytes, {first}: {stats:?}");
        }
        assert!(tier.stats().bytes > MAP / 3, "{length} bytes: most of the map is used: {:?}", tier.stats());
    }
}

/// A smaller map keeps what fits; the rest is evicted gradually.
#[tokio::test]
async fn lmdb_shrinks_into_a_smaller_map() {
    let home = home();
    let open = |map_size| LmdbTier::open(&LmdbConfig { path: home.path().to_owned(), map_size }, envelope());
    let batch = |first: u64| -> Vec<_> {
        (first..first + 64).map(|number| (key(number, 1), Bytes::from(vec![7; 3000]))).collect()
    };
    let tier = open(16 << 20).unwrap();
    for first in (0..3000).step_by(64) {
        tier.put_many(&batch(first)).await.unwrap();
    }
    assert!(tier.stats().bytes > 8 << 20);
    drop(tier);
    let tier = when_free(|| open(4 << 20));
    for first in (3000..9000).step_by(64) {
        tier.put_many(&batch(first)).await.expect("a full map is no error");
    }
    let stats = tier.stats();
    assert!(stats.bytes <= stats.limit && stats.limit < 4 << 20, "{stats:?}");
}

/// A value larger than the map.
#[tokio::test]
async fn lmdb_survives_a_batch_that_cannot_fit() {
    let home = home();
    let tier = LmdbTier::open(&LmdbConfig { path: home.path().to_owned(), map_size: 1 << 20 }, envelope()).unwrap();
    tier.put_many(&[(key(1, 1), value_of(&key(1, 1)))]).await.unwrap();
    let large = Bytes::from(vec![7; 3 << 20]);
    let _refused_or_not = tier.put_many(&[(key(2, 1), large)]).await;
    assert_eq!(tier.get(&key(2, 1)).await.unwrap(), None);
    tier.put_many(&[(key(3, 1), value_of(&key(3, 1)))]).await.expect("the tier still works");
    assert_eq!(tier.get(&key(3, 1)).await.unwrap(), Some(value_of(&key(3, 1))));
}

/// The stored keys below `count`.
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

/// Four times the capacity, with a restart between: the newest entries are kept, the oldest evicted.
#[tokio::test]
async fn sled_evicts_the_oldest_entries() {
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
async fn sleds_counts_follow_removals_and_repeated_writes() {
    let home = home();
    let config = SledConfig { path: home.path().to_owned(), capacity: 1 << 20 };
    let tier = SledTier::open(&config, envelope()).unwrap();
    put(&tier, 0..100).await;
    let before = tier.stats();
    put(&tier, 50..100).await;
    assert_eq!(tier.stats().bytes, before.bytes, "a repeated write takes no more space");
    tier.remove_many(&keys(0..100)).await.unwrap();
    assert_eq!((tier.stats().entries, tier.stats().bytes), (0, 0));
    put(&tier, 0..1000).await;
    let held = held(&tier, 1000);
    assert_eq!(held.len() as u64, tier.stats().entries);
    assert_eq!(held.last(), Some(&999), "ages of removed entries do not affect eviction");
    assert_eq!(tier.stats().bytes, before.bytes / 100 * held.len() as u64);
}

#[tokio::test]
async fn sled_without_a_limit_evicts_nothing() {
    let home = home();
    let tier = SledTier::open(&SledConfig { path: home.path().to_owned(), capacity: 0 }, envelope()).unwrap();
    put(&tier, 0..1000).await;
    assert_eq!((tier.stats().entries, tier.stats().limit), (1000, 0));
}

/// Many times the capacity, without pauses.
#[tokio::test]
async fn sled_evicts_under_continuous_writes() {
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

/// An earlier release had no ages and no counts.
#[tokio::test]
async fn sled_evicts_from_a_store_of_an_earlier_release() {
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
    assert_eq!(tier.stats().entries, 1000, "recounted");
    put(&tier, 1000..1001).await;
    let stats = tier.stats();
    assert!(stats.bytes <= 1 << 20 && stats.bytes > (1 << 20) * 9 / 10, "{stats:?}");
    let held = held(&tier, 1001);
    assert_eq!(held.len() as u64, stats.entries);
    assert!(held.contains(&1000), "the newest entry is kept");
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
