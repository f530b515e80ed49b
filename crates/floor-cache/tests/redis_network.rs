//! Tests of network faults and of changes of the Redis behind them: resets, delays, dropped replies, a replica, a
//! server out of memory, a failover. No call fails, no value is wrong, and the chain recovers.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod fixture;

use std::{
    ops::Range,
    time::{Duration, Instant},
};

use bytes::Bytes;
use fixture::{
    Fixture, LONG_TIMEOUT,
    fake_source::value_of,
    faulty_proxy::{Fault, FaultyProxy},
    key, keys,
    redis_server::RedisServer,
    slow_proxy::SlowProxy,
    wait_until,
};
use floor_cache::{
    Bypass, Options, Outcome, RedisConfig, Removal, TierErrorKind, TierKind, Tuning, metrics::RequestCounts,
};
use futures_util::future::join_all;

/// A chain of Redis alone at `url`, without bypass, so that values in Redis come from there.
fn over(url: String, timeout: Duration) -> Fixture {
    let tuning = Tuning::default();
    Fixture::tuned(&[TierKind::Redis], &tuning, |config| {
        config.redis = RedisConfig { url, timeout, ..RedisConfig::default() };
        config.bypass = Bypass::Off;
    })
}

/// Asks for `numbers` one by one. Returns how many Redis had.
async fn ask(fixture: &Fixture, numbers: Range<u64>) -> usize {
    let mut found = 0;
    for key in keys(numbers) {
        let served = fixture.chain.get(key, Options::default()).await.expect("a fault fails no call");
        assert_eq!(served.value, value_of(&key), "{key}");
        found += usize::from(served.by == "redis");
    }
    found
}

/// Stores `numbers` in Redis.
async fn store(fixture: &Fixture, numbers: Range<u64>) {
    ask(fixture, numbers.clone()).await;
    assert!(fixture.chain.close(LONG_TIMEOUT).await);
    assert_eq!(ask(fixture, numbers.clone()).await, numbers.count());
}

/// Waits until Redis serves all of `numbers` and new values again.
async fn wait_until_back(fixture: &Fixture, numbers: Range<u64>) {
    let started = Instant::now();
    for round in 0.. {
        let new = 1_000_000 + 10 * round..1_000_005 + 10 * round;
        ask(fixture, new.clone()).await;
        fixture.chain.close(LONG_TIMEOUT).await;
        if ask(fixture, new).await == 5 && ask(fixture, numbers.clone()).await == numbers.clone().count() {
            break;
        }
        assert!(started.elapsed() < 2 * LONG_TIMEOUT, "the chain has not come back: {:?}", fixture.tier("redis"));
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(fixture.tier("redis").verdict, "probed");
}

fn requests(fixture: &Fixture) -> RequestCounts {
    fixture.metrics("redis").requests
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_reset_during_a_reply() {
    let Some(server) = RedisServer::start() else { return };
    let proxy = FaultyProxy::to(server.port()).await;
    let fixture = over(proxy.url(), Duration::from_secs(2));
    store(&fixture, 0..30).await;
    /// The largest reply. A new connection gets so far.
    const LARGEST: usize = 5000;
    // Cuts a reply after nothing, its first byte, part of its header, part of a value, and some values.
    for bytes in [0, 1, 7, 1000, 20_000] {
        let before = requests(&fixture).errors;
        proxy.set(Fault::ResetAfter(bytes));
        let found = ask(&fixture, 0..60).await;
        if bytes < LARGEST {
            assert!(found < 60, "the connection was reset after {bytes} bytes");
            assert!(requests(&fixture).errors > before, "after {bytes} bytes");
        } else {
            assert_eq!(requests(&fixture).errors, before, "the second attempt succeeds");
        }
        proxy.set(Fault::None);
        wait_until_back(&fixture, 0..30).await;
    }
    assert_eq!(fixture.metrics("redis").stats.corrupt, 0, "a partial reply is not a value");
}

#[tokio::test(flavor = "multi_thread")]
async fn replies_after_the_deadline() {
    const TIMEOUT: Duration = Duration::from_millis(100);
    let Some(server) = RedisServer::start() else { return };
    let proxy = SlowProxy::to(server.port()).await;
    let fixture = over(proxy.url(), TIMEOUT);
    store(&fixture, 0..30).await;
    proxy.set_delay(3 * TIMEOUT);
    ask(&fixture, 0..60).await;
    assert!(requests(&fixture).timeouts > 0);
    assert_eq!(fixture.tier("redis").verdict, "open");
    proxy.set_delay(Duration::ZERO);
    wait_until_back(&fixture, 0..30).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn dropped_replies_cost_each_caller_at_most_one_deadline() {
    const TIMEOUT: Duration = Duration::from_secs(1);
    let Some(server) = RedisServer::start() else { return };
    let proxy = FaultyProxy::to(server.port()).await;
    let fixture = over(proxy.url(), TIMEOUT);
    store(&fixture, 0..30).await;
    proxy.set(Fault::DropReplies);
    let before = requests(&fixture).timeouts;
    let calls = keys(0..40).into_iter().map(async |key| {
        let call = fixture.chain.get(key, Options::default());
        // A guard against hanging, many times the deadline.
        let served = tokio::time::timeout(LONG_TIMEOUT, call).await.expect("no call hangs");
        assert_eq!(served.expect("a fault fails no call").value, value_of(&key));
    });
    join_all(calls).await;
    assert_eq!(fixture.tier("redis").verdict, "open");
    let deadlines = requests(&fixture).timeouts - before;
    assert!((1..=40).contains(&deadlines), "{deadlines} deadlines for 40 callers");

    // Now only the probe waits.
    let before = requests(&fixture).timeouts;
    let started = Instant::now();
    ask(&fixture, 100..1100).await;
    let waited = requests(&fixture).timeouts - before;
    assert!(waited <= 2 + started.elapsed().as_secs(), "{waited} of 1,000 callers waited");
    proxy.set(Fault::None);
    wait_until_back(&fixture, 0..30).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replica_is_readable_and_refuses_writes() {
    let Some(primary) = RedisServer::start() else { return };
    let Some(replica) = RedisServer::start() else { return };
    store(&over(primary.url(), LONG_TIMEOUT), 0..30).await;
    replica.follow(Some(&primary)).await;
    let fixture = over(replica.url(), LONG_TIMEOUT);
    assert_eq!(ask(&fixture, 0..30).await, 30);
    for round in 0..10 {
        assert_eq!(ask(&fixture, 100 + 10 * round..110 + 10 * round).await, 0);
        fixture.chain.close(LONG_TIMEOUT).await;
        let removals = fixture.chain.purge(&keys(round..round + 1)).await;
        let refused =
            |removal: &Removal| removal.result.as_ref().is_err_and(|error| error.kind() == TierErrorKind::Refused);
        assert!(removals.iter().all(refused), "the caller gets the error: {removals:?}");
        assert_eq!(ask(&fixture, 0..30).await, 30, "reads continue");
    }
    let redis_writes = fixture.lower("redis").writes;
    assert_eq!((redis_writes.failed, redis_writes.stored), (100, 0));
    assert_eq!((requests(&fixture).errors, fixture.tier("redis").verdict), (0, "probed"));
    replica.follow(None).await;
    wait_until_back(&fixture, 0..30).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_password_is_told_by_its_key() {
    let Some(server) = RedisServer::start() else { return };
    assert_eq!(server.command(&[b"CONFIG", b"SET", b"requirepass", b"hush"]), b"+OK\r\n");
    let removals = over(server.url(), LONG_TIMEOUT).chain.purge(&keys(0..1)).await;
    let error = removals[0].result.as_ref().unwrap_err().to_string();
    assert!(error.contains("NOAUTH") && error.contains("cache.redis.password_file"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_out_of_memory_is_readable_and_refuses_writes() {
    let Some(server) = RedisServer::start() else { return };
    let fixture = over(server.url(), LONG_TIMEOUT);
    store(&fixture, 0..30).await;
    assert_eq!(server.command(&[b"CONFIG", b"SET", b"maxmemory", b"1mb"]), b"+OK\r\n");
    assert_eq!(server.command(&[b"CONFIG", b"SET", b"maxmemory-policy", b"noeviction"]), b"+OK\r\n");
    // More than fits the server.
    ask(&fixture, 1000..2000).await;
    fixture.chain.close(LONG_TIMEOUT).await;
    assert!(fixture.lower("redis").writes.failed > 0);
    assert_eq!(ask(&fixture, 0..30).await, 30, "reads continue");
    assert_eq!((requests(&fixture).errors, fixture.tier("redis").verdict), (0, "probed"));
    assert_eq!(server.command(&[b"CONFIG", b"SET", b"maxmemory", b"0"]), b"+OK\r\n");
    wait_until_back(&fixture, 0..30).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failover_to_a_replica_at_the_same_address_is_followed() {
    let Some(mut primary) = RedisServer::start() else { return };
    let Some(replica) = RedisServer::start() else { return };
    let proxy = FaultyProxy::to(primary.port()).await;
    let fixture = over(proxy.url(), Duration::from_secs(2));
    replica.follow(Some(&primary)).await;
    store(&fixture, 0..30).await;
    // WAIT waits for the writes of its own connection only.
    wait_until("the replica has every value", || replica.command(&[b"DBSIZE"]) == primary.command(&[b"DBSIZE"])).await;
    primary.kill();
    ask(&fixture, 0..60).await;
    assert!(requests(&fixture).errors > 0);
    proxy.redirect_to(replica.port());
    replica.follow(None).await;
    wait_until_back(&fixture, 0..30).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn reading_the_stats_refreshes_them() {
    let Some(server) = RedisServer::start() else { return };
    let fixture = over(server.url(), LONG_TIMEOUT);
    server.command(&[b"SET", b"another's", b"value"]);
    // This chain writes nothing.
    wait_until("reading the stats has refreshed them", || fixture.tier("redis").entries == 1).await;
    assert!(fixture.metrics("redis").stats.bytes > 100_000, "the memory of an empty server");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_shows_what_was_just_stored() {
    let Some(server) = RedisServer::start() else { return };
    let fixture = over(server.url(), LONG_TIMEOUT);
    store(&fixture, 0..200).await;
    let shown = async {
        while fixture.tier("redis").entries != 200 {
            fixture.chain.refresh_stats().await;
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    // Less than the 5 s after which the stats refresh themselves.
    tokio::time::timeout(Duration::from_secs(4), shown).await.expect("a page refreshes the stats");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_does_not_wait_for_a_server_that_hangs() {
    let Some(server) = RedisServer::start() else { return };
    let fixture = over(server.url(), 6 * LONG_TIMEOUT);
    store(&fixture, 0..10).await;
    server.pause();
    for _ in 0..3 {
        let page = fixture.chain.refresh_stats();
        tokio::time::timeout(LONG_TIMEOUT, page).await.expect("the wait for the server is bounded");
        // The interval of pages, so that the next one asks again.
        tokio::time::sleep(Duration::from_millis(1100)).await;
    }
    server.resume();
    wait_until("the server has answered a page", || fixture.tier("redis").entries == 10).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn refusals_of_the_breaker_are_not_recorded() {
    let Some(mut server) = RedisServer::start() else { return };
    let fixture = over(server.url(), LONG_TIMEOUT);
    store(&fixture, 0..30).await;
    server.kill();
    ask(&fixture, 0..200).await;
    let redis = fixture.tier("redis");
    assert!(redis.bypasses > 100, "{redis:?}");
    let timed = fixture.observations("redis", "get");
    assert_eq!(timed, redis.hits + redis.misses + redis.errors);
}

/// Twenty of the largest floors over a connection on which a mebibyte takes four times the deadline of a query.
#[tokio::test(flavor = "multi_thread")]
async fn large_writes_on_a_slow_connection_succeed_and_delay_no_reader() {
    let Some(server) = RedisServer::start() else { return };
    let proxy = SlowProxy::to(server.port()).await;
    let timeout = Duration::from_millis(250);
    let fixture = over(proxy.url(), timeout);
    store(&fixture, 0..10).await;
    proxy.set_mebibyte_time(4 * timeout);
    let large = Bytes::from(vec![7; 130 << 10]);
    for number in 100..120 {
        fixture.chain.put(key(number, 1), &large);
    }
    let mut rounds = 0;
    while fixture.chain.holdings()[0].writes.is_some_and(|writes| writes.stored + writes.failed < 30) {
        assert_eq!(ask(&fixture, 0..10).await, 10, "readers find their values");
        rounds += 1;
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(rounds > 0, "the writes took a while");
    assert_eq!(fixture.lower("redis").writes.failed, 0);
    for number in 100..120 {
        assert_eq!(fixture.chain.get(key(number, 1), Options::default()).await.unwrap().value, large);
    }
    assert_eq!(requests(&fixture).timeouts, 0);
}

/// A failed attempt to connect is not the result of the next call.
#[tokio::test(flavor = "multi_thread")]
async fn a_failed_connection_attempt_is_discarded() {
    let Some(server) = RedisServer::start() else { return };
    let proxy = FaultyProxy::to(server.port()).await;
    proxy.set(Fault::DropReplies);
    let fixture = over(proxy.url(), Duration::from_millis(200));
    let mut key = keys(0..2).into_iter();
    let mut asked = async || {
        let options = Options { trace: true, ..Options::default() };
        let served = fixture.chain.get(key.next().unwrap(), options).await.unwrap();
        served.trace.unwrap()[0].outcome
    };
    assert_eq!(asked().await, Outcome::Timeout);
    let clients = || String::from_utf8(server.command(&[b"INFO", b"clients"])).unwrap();
    wait_until("connecting has failed, and only the test is connected", || clients().contains("connected_clients:1\r"))
        .await;
    proxy.set(Fault::None);
    assert_eq!(asked().await, Outcome::Miss);
}
