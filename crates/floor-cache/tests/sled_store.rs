//! Tests of the sled tier alone: its counts, stores of an earlier release, and stores of another version of sled.

mod fixture;

use std::fs;

use fixture::{
    keys, names_in,
    stores::{Sled, StoreDir, fill, held},
    when_free,
};

#[tokio::test]
async fn sleds_counts_follow_removals_and_repeated_writes() {
    let dir = StoreDir::new(&Sled);
    let tier = dir.open_sized(1 << 20);
    fill(&*tier, 0..100).await;
    let before = tier.stats();
    assert_eq!(before.limit, 1 << 20);
    fill(&*tier, 50..100).await;
    assert_eq!(tier.stats().bytes, before.bytes, "a repeated write takes no more space");
    tier.remove_many(&keys(0..100)).await.unwrap();
    assert_eq!((tier.stats().entries, tier.stats().bytes), (0, 0));
    fill(&*tier, 0..1000).await;
    let held = held(&*tier, 0..1000).await;
    assert_eq!(held.len() as u64, tier.stats().entries);
    assert_eq!(held.last(), Some(&999), "ages of removed entries do not affect eviction");
    assert_eq!(tier.stats().bytes, before.bytes / 100 * held.len() as u64);
}

#[tokio::test]
async fn sled_without_a_limit_evicts_nothing() {
    let dir = StoreDir::new(&Sled);
    let tier = dir.open_sized(0);
    fill(&*tier, 0..1000).await;
    assert_eq!((tier.stats().entries, tier.stats().limit), (1000, 0));
}

/// An earlier release had no ages and no counts.
#[tokio::test]
async fn sled_evicts_from_a_store_of_an_earlier_release() {
    let dir = StoreDir::new(&Sled);
    let tier = dir.open_sized(0);
    fill(&*tier, 0..1000).await;
    drop(tier);
    let raw = when_free(|| sled::open(dir.path()));
    assert!(raw.drop_tree("ages").unwrap());
    raw.open_tree("values").unwrap().remove(b"\0counts").unwrap().expect("counts");
    drop(raw);
    let tier = dir.open_sized(1 << 20);
    assert_eq!(tier.stats().entries, 1000, "recounted");
    fill(&*tier, 1000..1001).await;
    let stats = tier.stats();
    assert!(stats.bytes <= 1 << 20 && stats.bytes > (1 << 20) * 9 / 10, "{stats:?}");
    let held = held(&*tier, 0..1001).await;
    assert_eq!(held.len() as u64, stats.entries);
    assert!(held.contains(&1000), "the newest entry is kept");
}

/// sled reports some damage as another version.
#[test]
fn a_store_of_another_version_of_sled_is_put_aside_as_it_is() {
    let dir = StoreDir::new(&Sled);
    drop(dir.open());
    let conf = dir.path().join("conf");
    let settings = fs::read(&conf).unwrap();
    let text = String::from_utf8_lossy(&settings).into_owned();
    let version = text.lines().find(|line| line.starts_with("version: ")).unwrap_or_else(|| panic!("{text}"));
    let at = text.find(version).unwrap() + version.len() - 1;
    let mut other = settings.clone();
    other[at] = if other[at] == b'9' { b'8' } else { b'9' };
    fs::write(&conf, &other).unwrap();
    assert_eq!(dir.open().stats().entries, 0);
    let home = dir.path().parent().unwrap().to_owned();
    let aside = names_in(&home).into_iter().find(|name| name.starts_with("sled.other-version-20")).unwrap();
    assert_eq!((dir.quarantined(), fs::read(home.join(aside).join("conf")).unwrap()), (0, other));
}
