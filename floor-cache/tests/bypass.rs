//! A tier that has become slower than generating is passed by, and asked again when it is faster: shown on a real Redis
//! behind a road that can be held up.

mod fixture;

use std::time::{Duration, Instant};

use fixture::{Fixture, LONG_TIMEOUT, key, keys, redis_server::RedisServer, slow_proxy::SlowProxy, wait_until};
use floor_cache::{Bypass, Options, Outcome, RedisConfig, Served, TierKind};

/// The earlier game's ratio of 0.55 ms to 6.19 ms, ten times slower: far from what a busy machine adds to either.
const GENERATION: Duration = Duration::from_micros(5500);
const SLOW: Duration = Duration::from_micros(61_900);

const TRACED: Options = Options { trace: true, no_cache: false, priority: floor_cache::Priority::Foreground };
const CLOSE: Duration = Duration::from_secs(10);

/// A chain of Redis alone, which holds the keys 0 to 99.
async fn warm(server: &RedisServer, proxy: &SlowProxy, bypass: Bypass) -> Fixture {
    let fixture = Fixture::new(&[TierKind::Redis], |config| {
        config.redis = RedisConfig { url: proxy.url(), ..server.config() };
        config.bypass = bypass;
    });
    fixture.source.set_cost(GENERATION);
    fixture.chain.get_many(&keys(0..100), Options::default()).await.expect("it serves");
    assert!(fixture.chain.close(CLOSE).await);
    ask(&fixture, 50).await;
    assert_eq!(fixture.tier("redis").verdict, "probed");
    fixture
}

/// Asks until the verdict on Redis is `verdict`, which follows what lookups of the last second or two did.
async fn ask_until(fixture: &Fixture, verdict: &str) {
    let began = Instant::now();
    while began.elapsed() < LONG_TIMEOUT {
        if fixture.tier("redis").verdict == verdict {
            return;
        }
        ask(fixture, 50).await;
    }
    panic!("the verdict is not {verdict}: {:?}", fixture.tier("redis"));
}

/// Asks for `count` keys that Redis holds; how many of them Redis was asked for.
async fn ask(fixture: &Fixture, count: u64) -> u64 {
    let mut asked = 0;
    for number in 0..count {
        let served = fixture.chain.get(key(number % 100, 1), TRACED).await.expect("it serves");
        asked += u64::from(served.trace.expect("a trace was asked for")[0].outcome != Outcome::Bypass);
    }
    asked
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slowed_tier_is_passed_by_within_200_requests_and_asked_again_within_200_of_its_return() {
    let Some(server) = RedisServer::start() else { return };
    let proxy = SlowProxy::to(server.port()).await;
    let fixture = warm(&server, &proxy, Bypass::Auto).await;

    proxy.set_delay(SLOW);
    let asked = ask(&fixture, 200).await;
    assert!(asked < 100, "{asked} of 200 callers waited for a tier 11 times slower than generating");
    ask_until(&fixture, "bypassed").await;
    assert_eq!(fixture.tier("redis").reason, "slower than generating");
    assert!(fixture.metric("floors_tier_bypassed", &[("tier", "redis")]) > 0.9);
    assert_eq!(fixture.metric("floors_tier_reason", &[("tier", "redis"), ("reason", "slower than generating")]), 1.0);
    assert_eq!(ask(&fixture, 100).await, 0, "the tier is sampled beside the calls, never before their eyes");
    assert!(fixture.tier("redis").bypasses >= 200);

    let returned = Instant::now();
    proxy.set_delay(Duration::ZERO);
    ask(&fixture, 200).await;
    let asked = ask(&fixture, 100).await;
    assert!(asked > 90, "{asked} of 100");
    ask_until(&fixture, "probed").await;
    let redis = fixture.tier("redis");
    assert_eq!(redis.reason, "answers sooner");
    assert!(redis.since < returned.elapsed(), "{redis:?}");
    let shown = fixture.metric("floors_tier_verdict_seconds", &[("tier", "redis")]);
    assert!(shown > 0.0 && shown < returned.elapsed().as_secs_f64(), "{shown}");
    let generation = fixture.metric("floors_tier_generation_cost_seconds", &[("tier", "redis")]);
    assert!((1.0..3.0).contains(&(generation / GENERATION.as_secs_f64())), "{generation}");
}

/// The road makes a question for a batch cheap for each key, and the same question for one key dear: 4 ms for 64 keys of a
/// millisecond each, or for one.
const ROUND_TRIP: Duration = Duration::from_millis(4);
const STALL: Duration = Duration::from_millis(400);
const BATCH: u64 = 64;
const WARM: u64 = 50;

/// A chain of Redis alone, at the end of a road for batches, which holds the keys 0 to 99 and was asked for batches.
async fn warm_for_batches(server: &RedisServer, proxy: &SlowProxy) -> Fixture {
    let fixture = Fixture::serial(&[TierKind::Redis], |config| {
        config.redis = RedisConfig { url: proxy.url(), timeout: CLOSE, ..server.config() };
    });
    fixture.source.set_cost(Duration::from_millis(1));
    proxy.set_delay(ROUND_TRIP);
    fixture.chain.get_many(&keys(0..100), Options::default()).await.expect("it serves");
    assert!(fixture.chain.close(CLOSE).await);
    assert_eq!(ask_in_batches(&fixture, WARM).await, WARM);
    fixture
}

/// Asks for `count` batches of keys that Redis holds; for how many of them Redis was asked.
async fn ask_in_batches(fixture: &Fixture, count: u64) -> u64 {
    let mut asked = 0;
    for number in 0..count {
        let first = number * 7 % (100 - BATCH);
        let served = fixture.chain.get_many(&keys(first..first + BATCH), TRACED).await.expect("it serves");
        let passed_by = |served: &Served| served.trace.as_ref().expect("a trace")[0].outcome == Outcome::Bypass;
        asked += u64::from(!served.iter().any(passed_by));
    }
    asked
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tier_that_stalled_for_batches_is_asked_for_batches_again() {
    let Some(server) = RedisServer::start() else { return };
    let proxy = SlowProxy::to(server.port()).await;
    let fixture = warm_for_batches(&server, &proxy).await;

    proxy.set_delay(STALL);
    // Few, since what is asked beside the calls stands in line on a road that is held up.
    let asked = ask_in_batches(&fixture, 60).await;
    assert!(asked < 30, "{asked} of 60 batches waited for a tier at 2 ms a key");
    assert_eq!(ask_in_batches(&fixture, 5).await, 0);
    // One batch filled Redis, and of 16 that passed it by one had it asked beside: all have gone over the slow road.
    let passed_by = fixture.tier("redis").bypasses / BATCH;
    let questions = || fixture.observations("floors_tier_seconds", &[("tier", "redis"), ("op", "get_many")]);
    wait_until("all is answered", || questions() == 1 + WARM + asked + passed_by / 16).await;

    proxy.set_delay(ROUND_TRIP);
    ask_in_batches(&fixture, 200).await;
    assert_eq!(
        ask_in_batches(&fixture, 20).await,
        20,
        "a single question would not have paid: {:?}",
        fixture.tier("redis")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn batches_that_pay_do_not_have_single_questions_asked_that_do_not() {
    let Some(server) = RedisServer::start() else { return };
    let proxy = SlowProxy::to(server.port()).await;
    let fixture = warm_for_batches(&server, &proxy).await;
    for _ in 0..20 {
        assert_eq!(ask(&fixture, 10).await, 0, "4 ms for what takes 1 ms to make");
        assert_eq!(ask_in_batches(&fixture, 2).await, 2);
    }
    assert_eq!(fixture.tier("redis").verdict, "bypassed in part");
}

/// After a restart nothing is known of what generating costs, and a tier that has everything gives no occasion to find out.
#[tokio::test(flavor = "multi_thread")]
async fn a_slow_tier_that_has_everything_is_passed_by_too() {
    let Some(server) = RedisServer::start() else { return };
    let proxy = SlowProxy::to(server.port()).await;
    let fixture = warm(&server, &proxy, Bypass::Auto).await.reopened().await;
    fixture.source.set_cost(GENERATION);
    proxy.set_delay(SLOW);
    let asked = ask(&fixture, 200).await;
    assert!(asked < 60, "{asked} of 200 callers waited");
    ask_until(&fixture, "bypassed").await;
}

/// Nothing is asked of it, not even beside a call; it is written to and removed from, so that it can be asked again.
#[tokio::test(flavor = "multi_thread")]
async fn with_bypass_forced_a_tier_is_written_to_and_never_asked() {
    let mut fixture = Fixture::new(&[TierKind::Lmdb], |config| config.bypass = Bypass::Forced);
    fixture.source.set_cost(Duration::from_micros(300));
    for _ in 0..2 {
        assert_eq!(ask(&fixture, 100).await, 0);
    }
    assert_eq!(fixture.source.generations(), 200, "each of 200 calls was made anew");
    assert!(fixture.chain.close(CLOSE).await);
    let lmdb = fixture.tier("lmdb");
    assert_eq!((lmdb.hits, lmdb.misses, lmdb.bypasses, lmdb.entries), (0, 0, 200, 100), "{lmdb:?}");
    assert_eq!(lmdb.verdict, "bypassed by configuration");
    assert!(lmdb.generation_cost_us > 0.0, "{lmdb:?}");
    assert_eq!(fixture.metric("floors_tier_bypassed", &[("tier", "lmdb")]), 1.0);
    fixture.chain.remove_many(&[key(7, 1)]).await;
    assert!(!fixture.chain.contains(&key(7, 1)).await[0].1);

    fixture.config.bypass = Bypass::Auto;
    let fixture = fixture.reopened().await;
    assert_eq!(fixture.chain.get(key(8, 1), Options::default()).await.expect("it serves").by, "lmdb");
}

#[tokio::test(flavor = "multi_thread")]
async fn with_bypass_off_a_tier_is_always_asked() {
    let Some(server) = RedisServer::start() else { return };
    let proxy = SlowProxy::to(server.port()).await;
    let fixture = warm(&server, &proxy, Bypass::Off).await;
    proxy.set_delay(SLOW);
    assert_eq!(ask(&fixture, 40).await, 40);
    assert_eq!(fixture.tier("redis").verdict, "probed");
}
