//! Clauses of a tier in files: its limit, and which entries are evicted.

use std::ops::Range;

use bytes::Bytes;
use floor_cache::{Tier, TierStats};

use crate::fixture::{
    key,
    stores::{BATCH, StoreDir, VALUE, fill, held},
};

/// Reads each of `numbers`. Returns how many are stored.
async fn read(tier: &dyn Tier, numbers: Range<u64>) -> u64 {
    let mut found = 0;
    for number in numbers {
        found += u64::from(tier.get(&key(number, 1)).await.expect("it reads").is_some());
    }
    found
}

/// Asks for each of `numbers` as a chain does and inserts missing ones. Returns how many were missing.
async fn ask(tier: &dyn Tier, numbers: Range<u64>) -> usize {
    let mut missing = Vec::new();
    for number in numbers {
        if read(tier, number..number + 1).await == 0 {
            missing.push(number);
        }
    }
    for number in &missing {
        fill(tier, *number..*number + 1).await;
    }
    missing.len()
}

/// How often [`VALUE`] fits `times` the small capacity.
fn small_capacity_in_values(dir: &StoreDir, times: u64) -> u64 {
    times * dir.store.small_capacity() / VALUE as u64
}

/// Asserts the size of a full store of the small capacity.
fn assert_full(dir: &StoreDir, stats: TierStats) {
    let capacity = dir.store.small_capacity();
    assert!(stats.bytes <= capacity && stats.limit <= capacity, "{stats:?} in {capacity}");
    assert!(stats.bytes as f64 > dir.store.least_use() * stats.limit as f64, "most is used: {stats:?}");
}

/// Four times the capacity, with a restart between: the newest entries are kept, the oldest evicted.
pub(crate) async fn the_oldest_entries_are_evicted(dir: &StoreDir) {
    let count = small_capacity_in_values(dir, 4);
    for half in [0..count / 2, count / 2..count] {
        let tier = dir.open_small();
        fill(&*tier, half.clone()).await;
        let stats = tier.stats();
        assert_full(dir, stats);
        let held = held(&*tier, 0..count).await;
        assert_eq!(held.len() as u64, stats.entries);
        assert_eq!(held, (half.end - stats.entries..half.end).collect::<Vec<_>>(), "the newest, without a gap");
        assert_eq!(tier.get(&key(half.end - 1, 1)).await.unwrap(), Some(Bytes::from(vec![7; VALUE])));
        tier.flush().await.unwrap();
    }
}

/// Many times the capacity, without pauses.
pub(crate) async fn entries_are_evicted_under_continuous_writes(dir: &StoreDir) {
    let tier = dir.open_small();
    let count = small_capacity_in_values(dir, 20);
    fill(&*tier, 0..count).await;
    assert_full(dir, tier.stats());
    assert_eq!(tier.get(&key(count - 1, 1)).await.unwrap(), Some(Bytes::from(vec![7; VALUE])));
    assert_eq!(tier.get(&key(0, 1)).await.unwrap(), None);
}

/// The limit holds for any length of values and any order of keys.
pub(crate) async fn the_limit_holds_for_values_of_any_length(dir: &StoreDir) {
    const CAPACITY: u64 = 8 << 20;
    let scattered = |number: u64| key(number.wrapping_mul(0x9E37_79B9_7F4A_7C15), 1);
    for length in [200, 1700, 3820, 4090] {
        let dir = StoreDir::new(dir.store);
        let tier = dir.open_sized(CAPACITY);
        let value = Bytes::from(vec![7; length]);
        let count = 3 * CAPACITY / (length as u64 + 150);
        for first in (0..count).step_by(256) {
            let batch: Vec<_> = (first..first + 256).map(|number| (scattered(number), value.clone())).collect();
            tier.put_many(&batch).await.unwrap_or_else(|error| panic!("{length} bytes, {first}: {error}"));
            let stats = tier.stats();
            assert!(stats.bytes <= stats.limit + CAPACITY / 16, "{length} bytes, {first}: {stats:?}");
        }
        assert!(tier.stats().bytes > CAPACITY / 3, "{length} bytes: most is used: {:?}", tier.stats());
    }
}

/// A smaller store keeps what fits; the rest is evicted, gradually if that takes long.
pub(crate) async fn a_store_shrinks_into_a_smaller_capacity(dir: &StoreDir) {
    let tier = dir.open_sized(16 << 20);
    fill(&*tier, 0..3008).await;
    assert!(tier.stats().bytes > 8 << 20);
    drop(tier);
    let tier = dir.open_sized(4 << 20);
    fill(&*tier, 3000..9024).await;
    let stats = tier.stats();
    assert!(stats.bytes <= stats.limit && stats.limit <= 4 << 20, "{stats:?}");
}

/// A value larger than the store.
pub(crate) async fn a_batch_that_cannot_fit_affects_no_other(dir: &StoreDir) {
    let tier = dir.open_sized(1 << 20);
    fill(&*tier, 1..2).await;
    let _refused_or_not = tier.put_many(&[(key(2, 1), Bytes::from(vec![7; 3 << 20]))]).await;
    assert_eq!(tier.get(&key(2, 1)).await.unwrap(), None);
    fill(&*tier, 3..4).await;
    assert_eq!(tier.get(&key(3, 1)).await.unwrap(), Some(Bytes::from(vec![7; VALUE])));
}

pub(crate) async fn read_entries_are_kept_and_unread_ones_evicted(dir: &StoreDir) {
    let tier = dir.open_small();
    fill(&*tier, 0..400).await;
    // Five times the capacity, while a hundred of the first are read repeatedly. A few of those are lost, because
    // entries share bits.
    let mut missed = 0;
    for first in (400..4400).step_by(200) {
        missed += ask(&*tier, 100..200).await;
        fill(&*tier, first..first + 200).await;
    }
    assert!(missed < 100, "{missed} of 2000 reads");
    assert!(held(&*tier, 100..200).await.len() >= 90);
    let unread = held(&*tier, 0..100).await.len() + held(&*tier, 200..2400).await.len();
    assert!(unread < 30, "{unread} of 2300 unread entries");
    assert_eq!(held(&*tier, 4200..4400).await.len(), 200, "the newest entries");
}

pub(crate) async fn an_entry_that_is_no_longer_read_is_evicted(dir: &StoreDir) {
    let tier = dir.open_small();
    fill(&*tier, 0..400).await;
    assert_eq!(read(&*tier, 0..400).await, 400);
    fill(&*tier, 400..10_000).await;
    assert!(held(&*tier, 0..400).await.is_empty());
}

/// Every entry was read, so the sieve prefers none. A write still evicts about what it needs.
pub(crate) async fn a_write_evicts_only_what_it_needs_if_everything_was_read(dir: &StoreDir) {
    let tier = dir.open_small();
    fill(&*tier, 0..2000).await;
    for first in (2000..4000).step_by(BATCH as usize) {
        let before = tier.stats().entries;
        assert_eq!(read(&*tier, 0..4000).await, before);
        fill(&*tier, first..first + BATCH).await;
        let stats = tier.stats();
        assert!(stats.bytes <= stats.limit + (4 << 20) / 16, "{stats:?}");
        assert!(stats.entries + BATCH >= before, "{before} entries became {}", stats.entries);
        let kept = held(&*tier, first..first + BATCH).await.len() as u64;
        assert!(kept > BATCH / 2, "{kept} of the entries just written");
    }
}

/// The read entries are the oldest, and a restart loses the read bits. The hand, which has passed them, is persisted.
pub(crate) async fn a_restart_does_not_evict_read_entries_first(dir: &StoreDir) {
    let tier = dir.open_small();
    fill(&*tier, 0..100).await;
    for first in (100..2000).step_by(100) {
        ask(&*tier, 0..100).await;
        fill(&*tier, first..first + 100).await;
    }
    ask(&*tier, 0..100).await;
    tier.flush().await.expect("it flushes");
    drop(tier);
    let tier = dir.open_small();
    fill(&*tier, 2000..2200).await;
    let kept = held(&*tier, 0..100).await.len();
    assert!(kept >= 90, "{kept} after a restart");
}
