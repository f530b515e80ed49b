//! What may lie between a chain and its Redis, and what may have become of the Redis behind it: a road that breaks, delays or
//! swallows, a replica, a server out of memory, another server. No call fails, no value is wrong, and the chain comes back.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod setting;

use std::{
    ops::Range,
    time::{Duration, Instant},
};

use bytes::Bytes;
use floor_cache::{Bypass, Lease, Options, Outcome, RedisConfig, Removal, TierErrorKind, TierKind, Tuning};
use futures_util::future::join_all;
use setting::{
    PATIENCE, Setting,
    bad_road::{BadRoad, Weather},
    key, keys,
    mill::value_of,
    redis_server::RedisServer,
    slow_road::SlowRoad,
    until,
};

/// A chain of Redis alone at `url`, always asked, always leased and never overtaken by the source, so that every sort of
/// question meets the fault, and what Redis has comes from there.
fn over(url: String, timeout: Duration) -> Setting {
    let tuning = Tuning { audit: 0, hedge: false, ..Tuning::default() };
    Setting::tuned(&[TierKind::Redis], &tuning, |config| {
        config.redis = RedisConfig { url, timeout, lease: Lease::On, ..RedisConfig::default() };
        config.bypass = Bypass::Off;
    })
}

/// Asks for `numbers` one by one; how many Redis had.
async fn ask(setting: &Setting, numbers: Range<u64>) -> usize {
    let mut found = 0;
    for key in keys(numbers) {
        let served = setting.chain.get(key, Options::default()).await.expect("no fault reaches a caller");
        assert_eq!(served.value, value_of(&key), "{key}");
        found += usize::from(served.by == "redis");
    }
    found
}

/// Has `numbers` in Redis.
async fn store(setting: &Setting, numbers: Range<u64>) {
    ask(setting, numbers.clone()).await;
    assert!(setting.chain.close(PATIENCE).await);
    assert_eq!(ask(setting, numbers.clone()).await, numbers.count());
}

/// Waits until Redis serves all of `numbers` again, and new ones as well.
async fn is_back(setting: &Setting, numbers: Range<u64>) {
    let started = Instant::now();
    for round in 0.. {
        let new = 1_000_000 + 10 * round..1_000_005 + 10 * round;
        ask(setting, new.clone()).await;
        setting.chain.close(PATIENCE).await;
        if ask(setting, new).await == 5 && ask(setting, numbers.clone()).await == numbers.clone().count() {
            break;
        }
        assert!(started.elapsed() < 2 * PATIENCE, "the chain has not come back: {:?}", setting.tier("redis"));
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(setting.tier("redis").verdict, "probed");
}

fn outcome(setting: &Setting, outcome: &str) -> f64 {
    setting.metric("floors_tier_requests_total", &[("tier", "redis"), ("outcome", outcome)])
}

fn writes(setting: &Setting, outcome: &str) -> f64 {
    setting.metric("floors_tier_writes_total", &[("tier", "redis"), ("outcome", outcome)])
}

#[tokio::test(flavor = "multi_thread")]
async fn reset_in_the_middle_of_a_reply() {
    let Some(server) = RedisServer::start() else { return };
    let road = BadRoad::to(server.port()).await;
    let setting = over(road.url(), Duration::from_secs(2));
    store(&setting, 0..30).await;
    // Nothing of a reply, its first byte, some of its header, some of a value, and some whole values.
    for bytes in [0, 1, 7, 1000, 20_000] {
        let before = outcome(&setting, "error");
        road.set(Weather::BreaksAfter(bytes));
        let found = ask(&setting, 0..60).await;
        assert!(found < 60, "the road broke after {bytes} bytes");
        assert!(outcome(&setting, "error") > before, "after {bytes} bytes");
        road.set(Weather::Fair);
        is_back(&setting, 0..30).await;
    }
    assert_eq!(outcome(&setting, "corrupt"), 0.0, "half a reply is no value");
}

#[tokio::test(flavor = "multi_thread")]
async fn replies_that_come_too_late() {
    const TIMEOUT: Duration = Duration::from_millis(100);
    let Some(server) = RedisServer::start() else { return };
    let road = SlowRoad::to(server.port()).await;
    let setting = over(road.url(), TIMEOUT);
    store(&setting, 0..30).await;
    road.hold_up(3 * TIMEOUT);
    ask(&setting, 0..60).await;
    assert!(outcome(&setting, "timeout") > 0.0);
    assert_eq!(setting.tier("redis").verdict, "open");
    road.hold_up(Duration::ZERO);
    is_back(&setting, 0..30).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_road_that_swallows_everything_costs_each_caller_one_deadline_at_the_most() {
    const TIMEOUT: Duration = Duration::from_secs(1);
    let Some(server) = RedisServer::start() else { return };
    let road = BadRoad::to(server.port()).await;
    let setting = over(road.url(), TIMEOUT);
    store(&setting, 0..30).await;
    road.set(Weather::Swallows);
    let before = outcome(&setting, "timeout");
    let calls = keys(0..40).into_iter().map(async |key| {
        let call = setting.chain.get(key, Options::default());
        // A guard against hanging, many times the deadline.
        let served = tokio::time::timeout(PATIENCE, call).await.expect("no call hangs");
        assert_eq!(served.expect("no fault reaches a caller").value, value_of(&key));
    });
    join_all(calls).await;
    assert_eq!(setting.tier("redis").verdict, "open");
    let deadlines = outcome(&setting, "timeout") - before;
    assert!((1.0..=40.0).contains(&deadlines), "{deadlines} deadlines for 40 callers");
    assert_eq!(setting.metric("floors_leases_total", &[("outcome", "failed")]), 0.0, "no lease is asked for in vain");

    // From now on nobody waits but the one call at a time that finds out.
    let before = outcome(&setting, "timeout");
    let started = Instant::now();
    ask(&setting, 100..1100).await;
    let waited = outcome(&setting, "timeout") - before;
    assert!(waited <= 2.0 + started.elapsed().as_secs_f64(), "{waited} of 1,000 callers waited");
    road.set(Weather::Fair);
    is_back(&setting, 0..30).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replica_is_read_and_refuses_what_is_written() {
    let Some(primary) = RedisServer::start() else { return };
    let Some(replica) = RedisServer::start() else { return };
    store(&over(primary.url(), PATIENCE), 0..30).await;
    replica.follow(Some(&primary)).await;
    let setting = over(replica.url(), PATIENCE);
    assert_eq!(ask(&setting, 0..30).await, 30);
    for round in 0..10 {
        assert_eq!(ask(&setting, 100 + 10 * round..110 + 10 * round).await, 0);
        setting.chain.close(PATIENCE).await;
        let removals = setting.chain.purge(&keys(round..round + 1)).await;
        let refused =
            |removal: &Removal| removal.result.as_ref().is_err_and(|error| error.kind() == TierErrorKind::Refused);
        assert!(removals.iter().all(refused), "who asks is told: {removals:?}");
        assert_eq!(ask(&setting, 0..30).await, 30, "reading goes on");
    }
    assert_eq!((writes(&setting, "failed"), writes(&setting, "stored")), (100.0, 0.0));
    assert!(setting.metric("floors_leases_total", &[("outcome", "failed")]) > 0.0);
    assert_eq!((outcome(&setting, "error"), setting.tier("redis").verdict), (0.0, "probed"));
    replica.follow(None).await;
    is_back(&setting, 0..30).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_out_of_memory_is_read_and_refuses_what_is_written() {
    let Some(server) = RedisServer::start() else { return };
    let setting = over(server.url(), PATIENCE);
    store(&setting, 0..30).await;
    assert_eq!(server.command(&[b"CONFIG", b"SET", b"maxmemory", b"1mb"]), b"+OK\r\n");
    assert_eq!(server.command(&[b"CONFIG", b"SET", b"maxmemory-policy", b"noeviction"]), b"+OK\r\n");
    // More than the server has room for.
    ask(&setting, 1000..2000).await;
    setting.chain.close(PATIENCE).await;
    assert!(writes(&setting, "failed") > 0.0);
    assert_eq!(ask(&setting, 0..30).await, 30, "reading goes on");
    assert_eq!((outcome(&setting, "error"), setting.tier("redis").verdict), (0.0, "probed"));
    assert_eq!(server.command(&[b"CONFIG", b"SET", b"maxmemory", b"0"]), b"+OK\r\n");
    is_back(&setting, 0..30).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_primary_that_dies_is_replaced_by_its_replica_at_the_same_address() {
    let Some(mut primary) = RedisServer::start() else { return };
    let Some(replica) = RedisServer::start() else { return };
    let road = BadRoad::to(primary.port()).await;
    let setting = over(road.url(), Duration::from_secs(2));
    replica.follow(Some(&primary)).await;
    store(&setting, 0..30).await;
    assert_eq!(primary.command(&[b"WAIT", b"1", b"5000"]), b":1\r\n", "the replica has it all");
    primary.kill();
    ask(&setting, 0..60).await;
    assert!(outcome(&setting, "error") > 0.0);
    road.lead_to(replica.port());
    replica.follow(None).await;
    is_back(&setting, 0..30).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_it_holds_is_told_when_it_is_looked_at() {
    let Some(server) = RedisServer::start() else { return };
    let setting = over(server.url(), PATIENCE);
    server.command(&[b"SET", b"another's", b"value"]);
    // Nothing was written by this chain, and nothing will be.
    until("a look has had the server asked", || setting.tier("redis").entries == 1).await;
    assert!(setting.metric("floors_tier_bytes", &[("tier", "redis")]) > 100_000.0, "what an empty server takes");
}

#[tokio::test(flavor = "multi_thread")]
async fn refusals_of_the_breaker_are_not_timed() {
    let Some(mut server) = RedisServer::start() else { return };
    let setting = over(server.url(), PATIENCE);
    store(&setting, 0..30).await;
    server.kill();
    ask(&setting, 0..200).await;
    let redis = setting.tier("redis");
    assert!(redis.bypasses > 100, "{redis:?}");
    let timed = setting.observations("floors_tier_seconds", &[("tier", "redis"), ("op", "get")]);
    assert_eq!(timed, redis.hits + redis.misses + redis.errors);
}

/// Twenty of the largest floors over a road on which a mebibyte takes four times as long as a caller waits.
#[tokio::test(flavor = "multi_thread")]
async fn large_writes_over_a_narrow_road_arrive_and_are_in_no_readers_way() {
    let Some(server) = RedisServer::start() else { return };
    let road = SlowRoad::to(server.port()).await;
    let timeout = Duration::from_millis(250);
    let setting = over(road.url(), timeout);
    store(&setting, 0..10).await;
    road.narrow(4 * timeout);
    let large = Bytes::from(vec![7; 130 << 10]);
    for number in 100..120 {
        setting.chain.put(key(number, 1), &large);
    }
    let mut rounds = 0;
    while setting.chain.holdings()[0].writes.is_some_and(|writes| writes.stored + writes.failed < 30) {
        assert_eq!(ask(&setting, 0..10).await, 10, "readers find what they look for");
        rounds += 1;
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(rounds > 0, "the writes took a while");
    assert_eq!(writes(&setting, "failed"), 0.0);
    for number in 100..120 {
        assert_eq!(setting.chain.get(key(number, 1), Options::default()).await.unwrap().value, large);
    }
    assert_eq!(outcome(&setting, "timeout"), 0.0);
}

/// A dialling that failed long ago is not what the next caller is told.
#[tokio::test(flavor = "multi_thread")]
async fn a_dialling_that_failed_is_forgotten_when_it_fails() {
    let Some(server) = RedisServer::start() else { return };
    let road = BadRoad::to(server.port()).await;
    road.set(Weather::Swallows);
    let setting = over(road.url(), Duration::from_millis(200));
    let mut key = keys(0..2).into_iter();
    let mut asked = async || {
        let options = Options { trace: true, ..Options::default() };
        let served = setting.chain.get(key.next().unwrap(), options).await.unwrap();
        served.trace.unwrap()[0].outcome
    };
    assert_eq!(asked().await, Outcome::Timeout);
    let clients = || String::from_utf8(server.command(&[b"INFO", b"clients"])).unwrap();
    until("dialling is given up, and only the test asks", || clients().contains("connected_clients:1\r")).await;
    road.set(Weather::Fair);
    assert_eq!(asked().await, Outcome::Miss);
}
