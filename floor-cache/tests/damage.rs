//! Tests of damaged stores on disk, and of undamaged ones that could be mistaken for damaged: which are quarantined and
//! which are left alone.

mod fixture;

use std::{fs, path::Path};

use bytes::Bytes;
use fixture::{envelope, fake_source::value_of, key, keys, when_free, within_lmdb};
use floor_cache::{
    LmdbConfig, OpenError, SledConfig, Tier,
    tiers::{LmdbTier, SledTier},
};
use futures_util::FutureExt;
use heed::types::Bytes as Raw;
use tempfile::TempDir;

fn home() -> TempDir {
    tempfile::tempdir().expect("a directory")
}

/// The number of quarantined directories of the store `name`.
fn quarantined(home: &TempDir, name: &str) -> usize {
    let prefix = format!("{name}.damaged-20");
    let names = fs::read_dir(home.path()).expect("it can be read").map(|entry| entry.expect("an entry").file_name());
    names.filter(|name| name.to_string_lossy().starts_with(&prefix)).count()
}

/// Writes `bytes` to `data` without changing its length and time, like bits that flip on the disk.
fn write_unseen(data: &Path, bytes: &[u8]) {
    let before = fs::metadata(data).and_then(|file| file.modified()).expect("it is there");
    fs::write(data, bytes).expect("it can be written");
    let file = fs::OpenOptions::new().write(true).open(data).expect("it is there");
    file.set_modified(before).expect("its time can be set");
}

#[tokio::test]
async fn a_damaged_lmdb_is_quarantined_and_a_new_one_created() {
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
        assert_eq!(quarantined(&home, "lmdb"), count + 1, "{name}");
        assert_eq!(tier.stats().entries, 0, "{name}");
    }
}

/// Zeroed pages of values, which are not checked after a clean close: queries fail, and the next start quarantines the
/// store.
#[tokio::test]
async fn an_lmdb_found_damaged_in_use_is_quarantined_at_the_next_start() {
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
    // A page starts with its number and flags, of which 2 means leaf, and the bounds of its free space, which may
    // contain stale data.
    let nodes = |page: &[u8]| usize::from(u16::from_le_bytes([page[14], page[15]])).min(PAGE);
    let holds_values = |page: &[u8]| page[10] & 2 != 0 && page[nodes(page)..].windows(4).any(|word| word == b"FLC\x01");
    bytes.chunks_exact_mut(PAGE).filter(|page| holds_values(page)).for_each(|page| page.fill(0));
    write_unseen(&data, &bytes);

    let tier = LmdbTier::open(&config, envelope()).expect("the damage is not detected at the start");
    assert_eq!(quarantined(&home, "lmdb"), 0);
    tier.get(&key(1, 1)).await.expect_err("the page is gone");
    tier.put_many(&entries).await.expect_err("LMDB is not used again");
    drop(tier);
    let tier = LmdbTier::open(&config, envelope()).unwrap();
    assert_eq!(quarantined(&home, "lmdb"), 1);
    tier.put_many(&entries).await.expect("the new store takes values");
    assert_eq!(tier.get(&key(1, 1)).await.unwrap(), Some(value_of(&key(1, 1))));
}

/// A damaged age, which no hash covers, breaks the order of a tree: eviction still ends.
#[tokio::test]
async fn an_lmdb_with_damaged_ages_is_quarantined_at_the_next_start() {
    let home = home();
    let config = LmdbConfig { path: home.path().join("lmdb"), map_size: 1 << 20 };
    let value = Bytes::from(vec![7; 3000]);
    let tier = LmdbTier::open(&config, envelope()).unwrap();
    tier.put_many(&keys(0..10).into_iter().map(|key| (key, value.clone())).collect::<Vec<_>>()).await.unwrap();
    tier.flush().await.unwrap();
    drop(tier);
    let data = config.path.join("data.mdb");
    let mut bytes = fs::read(&data).unwrap();
    let oldest = [&[0; 8][..], envelope().stored(&key(0, 1)).as_bytes()].concat();
    let places: Vec<usize> = (0..bytes.len() - oldest.len()).filter(|at| bytes[*at..].starts_with(&oldest)).collect();
    assert!(!places.is_empty(), "the first age is there");
    places.iter().for_each(|at| bytes[*at] = 0xFF);
    write_unseen(&data, &bytes);

    let tier = LmdbTier::open(&config, envelope()).expect("the damage is not detected at the start");
    let mut failed = false;
    for number in 10..1000 {
        failed |= tier.put_many(&[(key(number, 1), value.clone())]).await.is_err();
    }
    assert!(failed, "the oldest cannot be found");
    drop(tier);
    LmdbTier::open(&config, envelope()).unwrap();
    assert_eq!(quarantined(&home, "lmdb"), 1);
}

/// A transaction that allocates and frees pages at the end of the file leaves the file shorter than LMDB's page count.
#[tokio::test]
async fn an_lmdb_after_many_removals_is_not_quarantined() {
    let home = home();
    let config = LmdbConfig { path: home.path().join("lmdb"), map_size: 16 << 20 };
    for kept in [1, 7, 40] {
        let entries: Vec<_> = keys(0..2000).into_iter().map(|key| (key, value_of(&key).slice(..1))).collect();
        let tier = LmdbTier::open(&config, envelope()).unwrap();
        tier.put_many(&entries).await.unwrap();
        tier.remove_many(&keys(kept..2000)).await.unwrap();
        drop(tier);
        let tier = LmdbTier::open(&config, envelope()).unwrap();
        assert_eq!((quarantined(&home, "lmdb"), tier.stats().entries), (0, kept), "the store was quarantined");
        tier.remove_many(&keys(0..kept)).await.unwrap();
    }
}

#[tokio::test]
async fn a_damaged_sled_is_quarantined_and_a_new_one_created() {
    let home = home();
    let config = SledConfig { path: home.path().join("sled"), ..SledConfig::default() };
    let tier = SledTier::open(&config, envelope()).unwrap();
    tier.put_many(&[(key(1, 1), value_of(&key(1, 1)))]).await.unwrap();
    tier.flush().await.unwrap();
    drop(tier);
    fs::write(config.path.join("conf"), "this is no configuration of sled").unwrap();
    let tier = when_free(|| SledTier::open(&config, envelope()));
    assert_eq!(quarantined(&home, "sled"), 1);
    assert_eq!(tier.get(&key(1, 1)).await.unwrap(), None);
}

/// sled reports some damage as another version.
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
    assert_eq!(
        (quarantined(&home, "sled"), fs::read(&conf).unwrap()),
        (0, other),
        "the store is left for the operator"
    );

    fs::write(&conf, vec![0xFF; 64]).unwrap();
    when_free(|| SledTier::open(&config, envelope()));
    assert_eq!(quarantined(&home, "sled"), 1, "noise is damage");
}

/// The error of opening, once the store that was just dropped is free.
fn when_free_of_lock(open: impl Fn() -> Result<SledTier, OpenError>) -> OpenError {
    when_free(|| match open() {
        Err(locked @ OpenError::Locked { .. }) => Err(locked),
        Err(other) => Ok(other),
        Ok(_) => panic!("it opens"),
    })
}

/// No hash covers the age of a record. A wrong age must not replace that of another value in the eviction order.
#[tokio::test]
async fn a_damaged_age_in_lmdb_does_not_keep_another_value_forever() {
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
    // The first record gets the age of the second. The age of the third is lost.
    within_lmdb(home.path(), |env, txn| {
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
        tier.put_many(&entries(first..first + 100)).await.expect("there is space");
    }
    assert!(
        !tier.contains(&key(1, 1)).now_or_never().expect("it answers at once").expect("it answers"),
        "the second value was evicted in order"
    );
}

/// Values without an age are evicted after all others.
#[tokio::test]
async fn values_without_an_age_in_lmdb_are_evicted() {
    let home = home();
    let config = LmdbConfig { path: home.path().to_owned(), map_size: 16 << 20 };
    let tier = LmdbTier::open(&config, envelope()).unwrap();
    let value = Bytes::from(vec![7; 100_000]);
    for first in (0..300).step_by(10) {
        let batch: Vec<_> = keys(first..first + 10).into_iter().map(|key| (key, value.clone())).collect();
        tier.put_many(&batch).await.unwrap();
    }
    let held = |tier: &LmdbTier| {
        keys(0..300)
            .iter()
            .filter(|key| tier.contains(key).now_or_never().expect("it answers at once").expect("it answers"))
            .count()
    };
    let before = held(&tier);
    drop(tier);
    within_lmdb(home.path(), |env, txn| {
        let ages: Option<heed::Database<Raw, Raw>> = env.open_database(txn, Some("ages")).expect("no error");
        ages.expect("it is there").clear(txn).expect("they go");
    });
    let tier = LmdbTier::open(&config, envelope()).unwrap();
    let batch: Vec<_> = keys(3000..3004).into_iter().map(|key| (key, value.clone())).collect();
    tier.put_many(&batch).await.expect("there is space");
    assert!(held(&tier) < before, "{before} before");
    assert!(
        batch.iter().all(|(key, _)| tier
            .contains(key)
            .now_or_never()
            .expect("it answers at once")
            .expect("it answers"))
    );
}
