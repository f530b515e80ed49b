//! Tests of the admission to lower tiers: a scan does not evict what others ask for.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod fixture;

use std::ops::Range;

use bytes::Bytes;
use fixture::{
    Fixture, LONG_TIMEOUT, NO_CACHE, fake_source::value_of, held, key, keys, redis_server::RedisServer, stores::STORES,
};
use floor_cache::{Bypass, Key, Options, RedisConfig, TierKind, WriteCounts};

/// The capacity of a store: about 1,700 to 4,000 values.
const CAPACITY: u64 = 8 << 20;

/// Values that fit a store at most, of 2,000 bytes on average.
const FITTING: u64 = CAPACITY / 2000;

/// Values that are asked for often. They fit every store, with room for others.
const POPULAR: Range<u64> = 0..1000;

/// Values that are asked for once.
const SCANNED: Range<u64> = 1_000_000..1_000_000 + 5 * FITTING;

/// Values in one call.
const CALL: usize = 128;

/// A chain of `tiers`, of which the last is a store with a small capacity.
fn over_small_stores(tiers: &[TierKind]) -> Fixture {
    Fixture::new(tiers, |config| {
        config.bypass = Bypass::Off;
        config.lmdb.map_size = CAPACITY;
        config.sled.capacity = CAPACITY;
    })
}

/// Asks for `keys`, and waits now and then until the values are written, so that no queue drops any.
async fn ask(fixture: &Fixture, keys: &[Key]) {
    for part in keys.chunks(16 * CALL) {
        for call in part.chunks(CALL) {
            let served = fixture.chain.get_many(call, Options::default()).await.unwrap();
            assert!(served.iter().zip(call).all(|(served, key)| served.value == value_of(key)));
        }
        assert!(fixture.chain.close(LONG_TIMEOUT).await, "the writes are flushed");
    }
}

/// Whether the last tier has `key`.
async fn is_stored(fixture: &Fixture, key: &Key) -> bool {
    held(&fixture.chain, key).await.last().expect("a chain of tiers").1
}

async fn count_stored(fixture: &Fixture, keys: &[Key]) -> usize {
    let mut stored = 0;
    for key in keys {
        stored += usize::from(is_stored(fixture, key).await);
    }
    stored
}

/// The writes of the last tier.
fn writes(fixture: &Fixture) -> WriteCounts {
    fixture.chain.holdings().last().and_then(|tier| tier.writes).expect("the last tier is written behind")
}

/// Fills the last tier by a scan. Returns some keys of the scan that it refused.
async fn fill(fixture: &Fixture) -> Vec<Key> {
    let scanned = keys(SCANNED);
    ask(fixture, &scanned[..2 * FITTING as usize]).await;
    assert!(writes(fixture).refused > 0, "{:?}", writes(fixture));
    let mut refused = Vec::new();
    for key in &scanned[2 * FITTING as usize - 100..2 * FITTING as usize] {
        if !is_stored(fixture, key).await {
            refused.push(*key);
        }
    }
    assert!(refused.len() > 80, "{} of the last 100", refused.len());
    refused
}

/// Memory answers the repeated requests, so the stores do not see them.
#[tokio::test(flavor = "multi_thread")]
async fn a_scan_does_not_evict_what_others_ask_for() {
    for store in STORES {
        let name = store.name();
        let fixture = over_small_stores(&[TierKind::Lru, store.kind()]);
        for _ in 0..5 {
            ask(&fixture, &keys(POPULAR)).await;
        }
        assert_eq!(writes(&fixture).refused, 0, "{name} has room");
        ask(&fixture, &keys(SCANNED)).await;
        let counts = writes(&fixture);
        println!("{name}: {counts:?}");
        assert_eq!((counts.failed, counts.dropped), (0, 0), "{name}: {counts:?}");
        assert!(counts.refused > 3 * FITTING, "{name}: {counts:?}");

        let fixture = fixture.reopened().await;
        let served = fixture.chain.get_many(&keys(POPULAR), Options::default()).await.unwrap();
        let kept = served.iter().filter(|served| served.by == name).count();
        assert!(kept >= 900, "{name} has {kept} of 1,000");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_scan_does_not_evict_from_redis() {
    /// Room for about 10,000 values.
    const OPTIONS: [&str; 4] = ["--maxmemory", "24mb", "--maxmemory-policy", "allkeys-lfu"];
    let Some(server) = RedisServer::start_with(&OPTIONS) else { return };
    let fixture = Fixture::new(&[TierKind::Lru, TierKind::Redis], |config| {
        config.bypass = Bypass::Off;
        config.redis = RedisConfig { timeout: LONG_TIMEOUT, ..server.config() };
    });
    ask(&fixture, &keys(POPULAR)).await;
    ask(&fixture, &keys(1_000_000..1_050_000)).await;
    let counts = writes(&fixture);
    println!("{counts:?}");
    assert!(counts.refused > 30_000, "{counts:?}");
    let kept = count_stored(&fixture, &keys(POPULAR)).await;
    assert!(kept >= 900, "{kept} of 1,000");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tier_with_room_stores_everything() {
    let fixture = Fixture::new(&[TierKind::Lru, TierKind::Sled, TierKind::Lmdb], |_| {});
    ask(&fixture, &keys(0..2000)).await;
    for tier in fixture.chain.holdings() {
        let Some(writes) = tier.writes else { continue };
        assert_eq!((tier.stats.entries, writes.stored, writes.refused), (2000, 2000, 0), "{}", tier.name);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_tier_stores_a_value_at_its_second_request() {
    for store in STORES {
        let fixture = over_small_stores(&[store.kind()]);
        let refused = fill(&fixture).await;
        let before = writes(&fixture);
        ask(&fixture, &refused).await;
        let after = writes(&fixture);
        assert_eq!(after.stored - before.stored, refused.len() as u64, "{}", store.name());
        assert_eq!(after.refused, before.refused, "{}", store.name());
        assert_eq!(count_stored(&fixture, &refused).await, refused.len(), "{}", store.name());
        assert_eq!(fixture.lower(store.name()).writes, after, "{}", store.name());
    }
}

/// One in 1,024 hits in memory reaches the store.
#[tokio::test(flavor = "multi_thread")]
async fn a_full_tier_stores_what_memory_serves_often() {
    for store in STORES {
        let fixture = over_small_stores(&[TierKind::Lru, store.kind()]);
        let refused = fill(&fixture).await;
        let popular = &refused[..4];
        for _ in 0..20_000 {
            popular.iter().for_each(|key| assert!(fixture.chain.get_now(key).is_some()));
        }
        assert!(fixture.chain.close(LONG_TIMEOUT).await);
        assert_eq!(count_stored(&fixture, popular).await, popular.len(), "{}", store.name());
    }
}

/// A refused value would leave a wrong one in the tier.
#[tokio::test(flavor = "multi_thread")]
async fn a_full_tier_stores_what_replaces_another_value() {
    for store in STORES {
        let fixture = over_small_stores(&[TierKind::Lru, store.kind()]);
        fill(&fixture).await;
        let (wrong, fresh) = (key(2_000_000, 1), key(2_000_001, 1));
        fixture.chain.put(wrong, &Bytes::from_static(b"wrong"));
        assert!(fixture.chain.close(LONG_TIMEOUT).await);
        assert!(is_stored(&fixture, &wrong).await, "{}: a value that is put", store.name());
        for key in [wrong, fresh] {
            fixture.chain.get(key, NO_CACHE).await.unwrap();
        }
        let fixture = fixture.reopened().await;
        for key in [wrong, fresh] {
            let served = fixture.chain.get(key, Options::default()).await.unwrap();
            assert_eq!((served.by, served.value), (store.name(), value_of(&key)));
        }
    }
}

/// Purged values make room.
#[tokio::test(flavor = "multi_thread")]
async fn a_purged_tier_stores_everything_again() {
    for store in STORES {
        let fixture = over_small_stores(&[store.kind()]);
        let refused = fill(&fixture).await;
        for some in keys(SCANNED).chunks(256) {
            let removed = fixture.chain.purge(some).await;
            assert!(removed.iter().all(|removal| removal.result.is_ok()), "{removed:?}");
        }
        let before = writes(&fixture).refused;
        ask(&fixture, &keys(3_000_000..3_000_100)).await;
        assert_eq!(writes(&fixture).refused, before, "{}", store.name());
        assert_eq!(count_stored(&fixture, &refused).await, 0);
    }
}
