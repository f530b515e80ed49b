//! The tier in memory: its bound, its TTL, and that a scan does not flush what is asked for often.

mod fixture;

use std::time::Duration;

use bytes::Bytes;
use fixture::{key, keys, wait_until};
use floor_cache::{Key, LruConfig, Tier, tiers::LruTier};

const VALUE: usize = 3000;

/// Floors that the tier has room for, of those that the load asks for.
const CAPACITY: u64 = 2_000;
const FLOORS: u64 = 20_000;

/// A load in which the nth floor is asked for in proportion to 1 / n.
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

/// Asks `tier` as a chain does: what is not there is put there. Whether it was there.
async fn ask(tier: &LruTier, key: Key, value: &Bytes) -> bool {
    let hit = tier.get(&key).await.expect("memory answers").is_some();
    if !hit {
        tier.put_many(&[(key, value.clone())]).await.expect("memory takes it");
    }
    hit
}

/// The load's hit ratio without a scan and beside one.
async fn hit_ratios(selective: bool) -> (f64, f64) {
    let config = LruConfig { capacity: CAPACITY * (VALUE as u64 + 300), ttl: None };
    let tier = LruTier::with_admission("lru", &config, selective);
    let (value, mut load) = (Bytes::from(vec![7; VALUE]), Zipf::new());
    for _ in 0..100_000 {
        ask(&tier, load.next(), &value).await;
    }
    let (mut unscanned, mut scanned) = (0, 0);
    for _ in 0..100_000 {
        unscanned += u32::from(ask(&tier, load.next(), &value).await);
    }
    for number in 0..100_000 {
        scanned += u32::from(ask(&tier, load.next(), &value).await);
        ask(&tier, key(1_000_000 + number, 1), &value).await;
    }
    (f64::from(unscanned) / 1e5, f64::from(scanned) / 1e5)
}

/// The hit ratio of a Zipf load while a hundred thousand other floors pass through, beside that of a plain LRU.
#[tokio::test]
async fn a_scan_of_100_000_floors_passes_through() {
    let (plain_unscanned, plain_scanned) = hit_ratios(false).await;
    let (unscanned, scanned) = hit_ratios(true).await;
    println!("hit ratio of a Zipf load: plain LRU {plain_unscanned:.3}, beside a scan {plain_scanned:.3}");
    println!("                          selective {unscanned:.3}, beside a scan {scanned:.3}");
    assert!(unscanned >= plain_unscanned, "admission costs nothing without a scan");
    assert!(scanned >= 0.97 * unscanned, "and a scan costs next to nothing: {unscanned} to {scanned}");
    assert!(scanned > plain_scanned + 0.04);
}

#[tokio::test]
async fn it_keeps_within_its_bound_whatever_the_sizes() {
    for capacity in [0, 10_000, 1 << 20, 64 << 20] {
        let tier = LruTier::new(&LruConfig { capacity, ttl: None });
        for number in 0..20_000 {
            let value = Bytes::from(vec![7; (number * 7919 % 6000) as usize]);
            tier.put_many(&[(key(number, 1), value)]).await.expect("memory takes it");
        }
        let stats = tier.stats();
        assert!(stats.bytes <= capacity, "{stats:?} in {capacity}");
        assert!(capacity < 1 << 20 || stats.bytes > capacity * 9 / 10, "and uses it: {stats:?} in {capacity}");
    }
}

#[tokio::test]
async fn a_value_larger_than_the_tier_pushes_nothing_out() {
    let tier = LruTier::new(&LruConfig { capacity: 1 << 20, ttl: None });
    tier.put_many(&[(key(1, 1), Bytes::from_static(b"small"))]).await.expect("memory takes it");
    tier.put_many(&[(key(2, 1), Bytes::from(vec![7; 2 << 20]))]).await.expect("memory takes it or leaves it");
    assert!(tier.contains(&key(1, 1)).await.expect("memory answers"));
    assert!(!tier.contains(&key(2, 1)).await.expect("memory answers"));
}

#[tokio::test]
async fn with_a_ttl_what_is_old_is_not_served() {
    let tier = LruTier::new(&LruConfig { capacity: 1 << 20, ttl: Some(Duration::from_millis(300)) });
    let entries: Vec<_> = keys(0..100).into_iter().map(|key| (key, Bytes::from_static(b"floor"))).collect();
    tier.put_many(&entries).await.expect("memory takes them");
    wait_until("all have expired", || {
        keys(0..100).iter().all(|key| matches!(tier.get(key), floor_cache::Answer::Now(Ok(None))))
    })
    .await;
    assert_eq!(tier.stats().entries, 0, "what has expired makes room");
    let lasting = LruTier::new(&LruConfig { capacity: 1 << 20, ttl: Some(Duration::from_secs(3600)) });
    lasting.put_many(&entries).await.expect("memory takes them");
    assert!(lasting.get(&key(1, 1)).await.expect("memory answers").is_some());
}
