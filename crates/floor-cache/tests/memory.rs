//! Tests of the memory tier: its limit, its TTL, and its resistance to scans.

mod fixture;

use std::{num::NonZeroUsize, time::Duration};

use bytes::Bytes;
use fixture::{key, keys, wait_until};
use floor_cache::{Answer, Key, LruConfig, Tier, TierAdmin, tiers::LruTier};
use lru::LruCache;

const VALUE: usize = 3000;

/// Floors that fit the tier, and floors in the load.
const CAPACITY: u64 = 2_000;
const FLOORS: u64 = 20_000;

/// A load in which the nth floor has the weight 1 / n.
struct Zipf {
    cumulative: Vec<f64>,
    state: u64,
}

impl Zipf {
    fn new() -> Self {
        let mut sum = 0.0;
        let weight = |rank: u64| {
            sum += 1.0 / rank as f64;
            sum
        };
        Self { cumulative: (1..=FLOORS).map(weight).collect(), state: 0 }
    }

    fn next(&mut self) -> Key {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.state ^ self.state >> 31).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let uniform = (mixed >> 11) as f64 / (1_u64 << 53) as f64 * self.cumulative[self.cumulative.len() - 1];
        key(self.cumulative.partition_point(|sum| *sum < uniform) as u64, 1)
    }
}

/// The hit ratio of the load without and with a concurrent scan. `ask` returns whether a key was a hit, and inserts a
/// missing one.
fn hit_ratios(mut ask: impl FnMut(Key) -> bool) -> (f64, f64) {
    let mut load = Zipf::new();
    for _ in 0..100_000 {
        ask(load.next());
    }
    let (mut unscanned, mut scanned) = (0, 0);
    for _ in 0..100_000 {
        unscanned += u32::from(ask(load.next()));
    }
    for number in 0..100_000 {
        scanned += u32::from(ask(load.next()));
        ask(key(1_000_000 + number, 1));
    }
    (f64::from(unscanned) / 1e5, f64::from(scanned) / 1e5)
}

/// The hit ratio of a Zipf load during a scan of 100,000 other floors, compared with a plain LRU.
#[test]
fn a_scan_of_100_000_floors_does_not_flush_the_tier() {
    /// The entries that fit a tier without a filter: the overhead of each is 196 bytes.
    const PLAIN: usize = CAPACITY as usize * (VALUE + 300) / (VALUE + 196);
    let mut plain = LruCache::new(NonZeroUsize::new(PLAIN).expect("it has room"));
    let (plain_unscanned, plain_scanned) = hit_ratios(|key| plain.put(key, ()).is_some());
    let tier = LruTier::new(&LruConfig { capacity: CAPACITY * (VALUE as u64 + 300), ttl: None });
    let value = Bytes::from(vec![7; VALUE]);
    let (unscanned, scanned) = hit_ratios(|key| {
        let hit = matches!(tier.get(&key), Answer::Now(Ok(Some(_))));
        if !hit {
            assert!(matches!(tier.put_many(&[(key, value.clone())]), Answer::Now(Ok(()))));
        }
        hit
    });
    println!("hit ratio of a Zipf load: plain LRU {plain_unscanned:.3}, during a scan {plain_scanned:.3}");
    println!("                          selective {unscanned:.3}, during a scan {scanned:.3}");
    assert!(unscanned >= plain_unscanned, "admission costs nothing without a scan");
    assert!(scanned >= 0.97 * unscanned, "a scan costs almost nothing: {unscanned} to {scanned}");
    assert!(scanned > plain_scanned + 0.04);
}

#[tokio::test]
async fn the_limit_holds_for_values_of_any_size() {
    for capacity in [0, 10_000, 1 << 20, 64 << 20] {
        let tier = LruTier::new(&LruConfig { capacity, ttl: None });
        for number in 0..20_000 {
            let value = Bytes::from(vec![7; (number * 7919 % 6000) as usize]);
            tier.put_many(&[(key(number, 1), value)]).await.expect("memory takes it");
        }
        let stats = tier.stats();
        assert!(stats.bytes <= capacity, "{stats:?} in {capacity}");
        assert!(capacity < 1 << 20 || stats.bytes > capacity * 9 / 10, "the capacity is used: {stats:?} in {capacity}");
    }
}

#[tokio::test]
async fn a_value_larger_than_the_tier_evicts_nothing() {
    let tier = LruTier::new(&LruConfig { capacity: 1 << 20, ttl: None });
    tier.put_many(&[(key(1, 1), Bytes::from_static(b"small"))]).await.expect("memory takes it");
    tier.put_many(&[(key(2, 1), Bytes::from(vec![7; 2 << 20]))]).await.expect("memory accepts or ignores it");
    assert!(tier.contains(&key(1, 1)).await.expect("memory answers"));
    assert!(!tier.contains(&key(2, 1)).await.expect("memory answers"));
}

#[tokio::test]
async fn expired_entries_are_not_served() {
    let tier = LruTier::new(&LruConfig { capacity: 1 << 20, ttl: Some(Duration::from_millis(300)) });
    let entries: Vec<_> = keys(0..100).into_iter().map(|key| (key, Bytes::from_static(b"floor"))).collect();
    tier.put_many(&entries).await.expect("memory takes them");
    wait_until("all have expired", || keys(0..100).iter().all(|key| matches!(tier.get(key), Answer::Now(Ok(None)))))
        .await;
    assert_eq!(tier.stats().entries, 0, "expired entries are removed");
    let lasting = LruTier::new(&LruConfig { capacity: 1 << 20, ttl: Some(Duration::from_secs(3600)) });
    lasting.put_many(&entries).await.expect("memory takes them");
    assert!(lasting.get(&key(1, 1)).await.expect("memory answers").is_some());
}
