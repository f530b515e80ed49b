//! Tests of a Redis that is down, killed, paused, refusing writes or storing other data: no call fails, and none waits
//! long.

mod fixture;

use std::time::{Duration, Instant};

use fixture::{
    Fixture, LONG_TIMEOUT,
    fake_source::value_of,
    key, keys,
    redis_server::{RedisServer, free_port},
    wait_until,
};
use floor_cache::{Bypass, ChainConfig, Options, RedisConfig, TierKind, layers::CircuitState};

// Bypass is off in every chain here, so that the tests see the faults and not the policy.

/// The deadline of one call in these tests.
const TIMEOUT: Duration = Duration::from_millis(50);

fn over_redis(server: &RedisServer) -> impl FnOnce(&mut ChainConfig) {
    let config = RedisConfig { timeout: TIMEOUT, ..server.config() };
    move |chain| {
        chain.redis = config;
        chain.bypass = Bypass::Off;
    }
}

/// Asks for new values, and checks that each call is right and none hangs.
async fn assert_all_served(fixture: &Fixture, numbers: std::ops::Range<u64>) {
    for key in keys(numbers) {
        let call = fixture.chain.get(key, Options::default());
        // A guard against hanging, much longer than a call takes on a busy machine.
        let served = tokio::time::timeout(LONG_TIMEOUT, call).await.expect("no call hangs");
        assert_eq!(served.expect("a fault fails no call").value, value_of(&key));
    }
}

/// Writes new values until Redis serves them again.
async fn wait_until_redis_is_back(fixture: &Fixture) {
    let started = Instant::now();
    let mut number = 1_000_000;
    loop {
        number += 1;
        fixture.chain.get(key(number, 1), Options::default()).await.expect("a fault fails no call");
        fixture.chain.close(LONG_TIMEOUT).await;
        let served = fixture.chain.get(key(number, 1), Options::default()).await.expect("a fault fails no call");
        if served.by == "redis" {
            return;
        }
        assert!(started.elapsed() < Duration::from_secs(20), "Redis is back, but the chain has not noticed");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn down_at_the_start() {
    let fixture = Fixture::new(&[TierKind::Redis], |config| {
        config.redis.url = format!("redis://:hunter2@127.0.0.1:{}", free_port());
        config.bypass = Bypass::Off;
    });
    assert_all_served(&fixture, 0..50).await;
    let redis = fixture.tier("redis");
    assert!(redis.errors > 0, "{redis:?}");
    assert_eq!(redis.verdict, "open");
    assert!(redis.bypasses > 0, "{redis:?}");
    assert_eq!(fixture.lower("redis").breaker, CircuitState::Open);
    assert!(!format!("{:?} {:?}", fixture.chain, fixture.config).contains("hunter2"));
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_and_back() {
    let Some((fixture, _server)) = killed_and_restarted().await else { return };
    wait_until_redis_is_back(&fixture).await;
    assert_eq!(fixture.tier("redis").verdict, "probed");
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_and_back_without_calls() {
    let Some((fixture, _server)) = killed_and_restarted().await else { return };
    wait_until("the server has noticed", || fixture.tier("redis").verdict == "probed").await;
    assert_eq!(fixture.lower("redis").breaker, CircuitState::Closed);
}

/// A chain whose breaker opened while its Redis was killed, which runs again.
async fn killed_and_restarted() -> Option<(Fixture, RedisServer)> {
    let mut server = RedisServer::start()?;
    let fixture = Fixture::new(&[TierKind::Redis], over_redis(&server));
    wait_until_redis_is_back(&fixture).await;
    server.kill();
    assert_all_served(&fixture, 0..50).await;
    assert_eq!(fixture.tier("redis").verdict, "open");
    server.restart();
    Some((fixture, server))
}

#[tokio::test(flavor = "multi_thread")]
async fn paused_and_back() {
    let Some(server) = RedisServer::start() else { return };
    let fixture = Fixture::new(&[TierKind::Redis], over_redis(&server));
    wait_until_redis_is_back(&fixture).await;
    server.pause();
    assert_all_served(&fixture, 0..200).await;
    let waited = fixture.metrics("redis").requests.timeouts;
    // Five failures open the breaker, and one query probes after each pause.
    assert!((1..=40).contains(&waited), "most calls do not wait: {waited} of 200 waited");
    server.resume();
    wait_until_redis_is_back(&fixture).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn flapping() {
    let Some(mut server) = RedisServer::start() else { return };
    let fixture = Fixture::new(&[TierKind::Lru, TierKind::Redis], over_redis(&server));
    for round in 0..5 {
        server.kill();
        assert_all_served(&fixture, 100 * round..100 * round + 30).await;
        server.restart();
        assert_all_served(&fixture, 100 * round + 30..100 * round + 60).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn refusing_to_write() {
    let Some(server) = RedisServer::start_with(&["--maxmemory", "1mb"]) else { return };
    let fixture = Fixture::new(&[TierKind::Redis], over_redis(&server));
    // Redis is nearly full, so the first request for a value does not write it.
    assert_all_served(&fixture, 0..1000).await;
    assert_all_served(&fixture, 0..1000).await;
    wait_until("a write was refused", || fixture.lower("redis").writes.failed > 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn other_data_under_our_keys() {
    let Some(server) = RedisServer::start() else { return };
    let fixture = Fixture::new(&[TierKind::Redis], |config| config.redis = server.config());
    let stored = |number| [b"values:".as_slice(), key(number, 1).as_bytes()].concat();
    server.command(&[b"RPUSH", &stored(0), b"a", b"list"]);
    server.command(&[b"SET", &stored(1), b"not an envelope"]);
    server.command(&[b"HSET", &stored(2), b"a", b"hash"]);
    let served = fixture.chain.get_many(&keys(0..3), Options::default()).await.unwrap();
    assert!(served.iter().all(|served| served.by == "generated"));
    assert!(fixture.chain.close(LONG_TIMEOUT).await);
    for key in keys(0..3) {
        let served = fixture.chain.get(key, Options::default()).await.unwrap();
        assert_eq!((served.by, served.value), ("redis", value_of(&key)), "the right value has replaced it");
    }
    assert_eq!(fixture.metrics("redis").stats.corrupt, 1);
}
