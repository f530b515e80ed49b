//! Tests of the write-behind queue: callers never wait for it, it is bounded, and a flush loses nothing.

mod fixture;

use std::time::{Duration, Instant};

use bytes::Bytes;
use fixture::{
    Fixture, LONG_TIMEOUT, NO_CACHE, build_chain, fake_source::value_of, key, keys, redis_server::RedisServer,
    wait_until,
};
use floor_cache::{
    Admit, Answer, Bypass, Chain, ChainConfig, Key, Options, RedisConfig, Tier, TierAdmin, TierError, TierErrorKind,
    TierKind, TierStats, Tuning,
};

/// A paused server accepts no writes: what does not fit the queue is dropped and counted, and callers do not wait.
#[tokio::test(flavor = "multi_thread")]
async fn a_full_queue_drops_and_counts() {
    let Some(server) = RedisServer::start() else { return };
    let fixture = Fixture::new(&[TierKind::Redis], |config| {
        config.redis = RedisConfig { timeout: Duration::from_secs(30), ..server.config() };
    });
    server.pause();
    let started = Instant::now();
    fixture.chain.get_many(&keys(0..12_000), NO_CACHE).await.unwrap();
    assert!(started.elapsed() < Duration::from_secs(25), "no caller waits for a write");
    let dropped = fixture.lower("redis").writes.dropped;
    assert!(dropped > 0, "12,000 do not fit a queue of 8,192");
    assert!(!fixture.chain.close(Duration::from_millis(100)).await, "a flush that times out returns false");

    server.resume();
    assert!(fixture.chain.close(Duration::from_secs(20)).await);
    assert_eq!(fixture.lower("redis").writes.stored + fixture.lower("redis").writes.dropped, 12_000);
    assert_eq!(fixture.lower("redis").writes.dropped, dropped);
    assert_eq!(fixture.chain.get(keys(0..1)[0], Options::default()).await.unwrap().by, "redis");
}

/// The queues of disk and network tiers are independent.
#[tokio::test(flavor = "multi_thread")]
async fn a_paused_tier_delays_no_other() {
    let Some(server) = RedisServer::start() else { return };
    let fixture = Fixture::new(&[TierKind::Redis, TierKind::Lmdb], |config| {
        config.redis = RedisConfig { timeout: Duration::from_secs(30), ..server.config() };
    });
    server.pause();
    fixture.chain.get_many(&keys(0..500), NO_CACHE).await.unwrap();
    wait_until("lmdb has them all", || fixture.tier("lmdb").entries == 500).await;
    assert_eq!(fixture.lower("redis").writes.stored, 0);
    server.resume();
    assert!(fixture.chain.close(Duration::from_secs(20)).await);
    assert_eq!(fixture.lower("redis").writes.stored, 500);
}

/// Values read back are the generated ones.
#[tokio::test(flavor = "multi_thread")]
async fn flushed_values_survive_a_restart() {
    let fixture = Fixture::new(&[TierKind::Lmdb, TierKind::Sled], |_| {});
    fixture.chain.get_many(&keys(0..2000), Options::default()).await.unwrap();
    let fixture = fixture.reopened().await;
    let served = fixture.chain.get_many(&keys(0..2000), Options::default()).await.unwrap();
    assert!(served.iter().zip(keys(0..2000)).all(|(s, key)| s.by == "lmdb" && s.value == value_of(&key)));
    assert_eq!(fixture.tier("sled").entries, 2000);
}

/// A tier that has every value and whose writes fail with a timeout. Its flush fails unless `flushes`.
#[derive(Debug)]
struct FailingWrites {
    flushes: bool,
}

impl FailingWrites {
    fn fails(kind: TierErrorKind) -> Answer<'static, ()> {
        Answer::Now(Err(TierError::new(kind, "write", "the write timed out")))
    }
}

impl Tier for FailingWrites {
    fn name(&self) -> &'static str {
        "failing"
    }

    fn get<'a>(&'a self, key: &'a Key) -> Answer<'a, Option<Bytes>> {
        Answer::Now(Ok(Some(value_of(key))))
    }

    fn get_many<'a>(&'a self, keys: &'a [Key]) -> Answer<'a, Vec<Option<Bytes>>> {
        Answer::Now(Ok(keys.iter().map(|key| Some(value_of(key))).collect()))
    }

    fn put_many<'a>(&'a self, _entries: &'a [(Key, Bytes)]) -> Answer<'a, ()> {
        Self::fails(TierErrorKind::Timeout)
    }

    fn remove_many<'a>(&'a self, _keys: &'a [Key]) -> Answer<'a, ()> {
        Answer::Now(Ok(()))
    }

    fn flush(&self) -> Answer<'_, ()> {
        if self.flushes { Answer::Now(Ok(())) } else { Self::fails(TierErrorKind::Internal) }
    }

    fn batch_bytes(&self) -> usize {
        1
    }
}

impl TierAdmin for FailingWrites {
    fn contains<'a>(&'a self, _key: &'a Key) -> Answer<'a, bool> {
        Answer::Now(Ok(true))
    }

    fn stats(&self) -> TierStats {
        TierStats::default()
    }
}

fn over_failing_writes(flushes: bool) -> Chain {
    let config = ChainConfig { bypass: Bypass::Off, ..ChainConfig::default() };
    let tuning = Tuning::default();
    build_chain(&config, &tuning, |chain| chain.tier(FailingWrites { flushes }, Admit::All))
}

#[tokio::test(flavor = "multi_thread")]
async fn failed_writes_do_not_open_the_breaker_for_readers() {
    let chain = over_failing_writes(false);
    keys(0..100).iter().for_each(|key| chain.put(*key, &value_of(key)));
    chain.close(LONG_TIMEOUT).await;
    let writes = chain.holdings()[0].writes.unwrap();
    assert_eq!((writes.stored, writes.failed), (0, 100), "each was a batch of its own, and failed");
    assert_eq!(chain.get(key(1, 1), Options::default()).await.unwrap().by, "failing");
    assert_eq!(chain.report()[0].verdict, "probed");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_flush_is_reported() {
    assert!(!over_failing_writes(false).close(LONG_TIMEOUT).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flush_after_failed_writes_is_reported() {
    let chain = over_failing_writes(true);
    assert!(chain.close(LONG_TIMEOUT).await, "nothing was queued");
    keys(0..100).iter().for_each(|key| chain.put(*key, &value_of(key)));
    assert!(!chain.close(LONG_TIMEOUT).await);
    assert!(chain.close(LONG_TIMEOUT).await, "earlier losses are not reported again");
}

/// A value longer than the limit is not stored outside the process, and counts as failed.
#[tokio::test(flavor = "multi_thread")]
async fn a_value_that_is_too_long_is_counted_as_failed() {
    let fixture = Fixture::new(&[TierKind::Lmdb], |_| {});
    fixture.chain.put(key(1, 1), &Bytes::from(vec![7; (8 << 20) + 1]));
    fixture.chain.put(key(2, 1), &value_of(&key(2, 1)));
    assert!(fixture.chain.close(LONG_TIMEOUT).await);
    let writes = fixture.chain.holdings()[0].writes.unwrap();
    assert_eq!((writes.stored, writes.failed), (1, 1));
}
