//! Clauses of a tier in files: a damaged store is quarantined, an undamaged one is not.

use crate::fixture::{fake_source::value_of, key, keys, put_durably, stores::StoreDir};

pub(crate) async fn a_damaged_store_is_quarantined_and_a_new_one_created(dir: &StoreDir) {
    for (name, damage) in dir.store.damages() {
        let tier = dir.open();
        put_durably(&*tier, &keys(0..300)).await;
        drop(tier);
        damage(&dir.path());
        let tier = dir.open();
        assert_eq!(dir.quarantined(), 1, "{name}: the latest is kept, and no other");
        assert_eq!(tier.stats().entries, 0, "{name}");
        assert_eq!(tier.get(&key(1, 1)).await.unwrap(), None, "{name}");
    }
}

/// In LMDB, a transaction that allocates and frees pages at the end of the file leaves the file shorter than the page
/// count.
pub(crate) async fn a_store_after_many_removals_is_not_quarantined(dir: &StoreDir) {
    for kept in [1, 7, 40] {
        let entries: Vec<_> = keys(0..2000).into_iter().map(|key| (key, value_of(&key).slice(..1))).collect();
        let tier = dir.open();
        tier.put_many(&entries).await.unwrap();
        tier.remove_many(&keys(kept..2000)).await.unwrap();
        drop(tier);
        let tier = dir.open();
        assert_eq!((dir.quarantined(), tier.stats().entries), (0, kept), "the store was quarantined");
        tier.remove_many(&keys(0..kept)).await.unwrap();
    }
}
