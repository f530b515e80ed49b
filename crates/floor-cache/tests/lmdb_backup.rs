//! Tests of backups of an LMDB store that is in use.

mod fixture;

use std::{
    fs,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
};

use fixture::{Fixture, entries, envelope, fake_source::value_of, keys, names_in, put_durably, small_disk::SmallDisk};
use floor_cache::{LmdbConfig, Tier, TierAdmin, TierErrorKind, TierKind, tiers::LmdbTier};

fn open(path: &Path) -> LmdbTier {
    let config = LmdbConfig { path: path.to_owned(), map_size: 64 << 20 };
    LmdbTier::open(&config, envelope()).expect("it opens")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_of_a_store_that_is_written_to_has_everything_from_before() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("lmdb");
    let tier = Arc::new(open(&path));
    put_durably(&*tier, &keys(0..3000)).await;
    // Pages that the copy leaves out.
    tier.remove_many(&keys(1000..3000)).await.unwrap();
    let is_copied = Arc::new(AtomicBool::new(false));
    let writer = tokio::spawn({
        let (tier, is_copied) = (tier.clone(), is_copied.clone());
        async move {
            let mut first = 10_000;
            while !is_copied.load(SeqCst) {
                tier.put_many(&entries(&keys(first..first + 20))).await.unwrap();
                first += 20;
            }
        }
    });
    let copies: Vec<_> = (0..3).map(|_| tier.back_up().unwrap()).collect();
    is_copied.store(true, SeqCst);
    writer.await.unwrap();
    assert_eq!(names_in(home.path()).len(), 4, "{:?}", names_in(home.path()));
    assert!(copies[0].bytes < tier.stats().disk / 2, "{copies:?} without the free pages of {:?}", tier.stats());
    for copy in copies {
        assert_eq!(names_in(&copy.path), ["data.mdb"]);
        assert_eq!(copy.bytes, fs::metadata(copy.path.join("data.mdb")).unwrap().len());
        let copied = open(&copy.path);
        for (key, value) in keys(0..1000).iter().zip(copied.get_many(&keys(0..1000)).await.unwrap()) {
            assert_eq!(value, Some(value_of(key)));
        }
        assert!(copied.get_many(&keys(1000..3000)).await.unwrap().iter().all(Option::is_none));
        put_durably(&copied, &keys(1000..1010)).await;
    }
    assert_eq!(tier.get_many(&keys(0..1000)).await.unwrap().iter().flatten().count(), 1000);
}

#[tokio::test]
async fn a_copy_for_which_the_disk_has_no_space_is_refused() {
    let Some(disk) = SmallDisk::mount(8 << 20) else { return };
    let tier = open(&disk.path().join("lmdb"));
    put_durably(&tier, &keys(0..10)).await;
    let error = tier.back_up().unwrap_err();
    assert_eq!(error.kind(), TierErrorKind::Refused);
    assert!(error.to_string().contains("bytes free; a copy needs"), "{error}");
    assert_eq!(names_in(disk.path()), ["lmdb"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn only_lmdb_can_be_copied() {
    let fixture = Fixture::new(&[TierKind::Lru, TierKind::Lmdb, TierKind::Sled], |_| {});
    assert!(fixture.chain.back_up("lru").await.is_none());
    assert!(fixture.chain.back_up("lmdb").await.unwrap().is_ok());
    assert_eq!(fixture.chain.back_up("sled").await.unwrap().unwrap_err().kind(), TierErrorKind::Refused);
}
