//! Tests of the bypass policy with a real Redis behind a proxy: a tier that becomes slower than generating is bypassed,
//! and asked again when it is faster.

mod fixture;

use std::time::{Duration, Instant};

use fixture::{
    Fixture, LONG_TIMEOUT, TRACED, held, key, keys, redis_server::RedisServer, slow_proxy::SlowProxy, wait_until,
};
use floor_cache::{Bypass, Options, Outcome, RedisConfig, Served, TierKind};

/// The ratio of an earlier game, 0.55 ms to 6.19 ms, ten times slower: far above the noise of a busy machine.
const GENERATION: Duration = Duration::from_micros(5500);
const SLOW: Duration = Duration::from_micros(61_900);

/// A Redis, a proxy to it, and a chain of it alone with the keys 0 to 99.
async fn warm(bypass: Bypass) -> Option<(RedisServer, SlowProxy, Fixture)> {
    let server = RedisServer::start()?;
    let proxy = SlowProxy::to(server.port()).await;
    let fixture = Fixture::new(&[TierKind::Redis], |config| {
        config.redis = RedisConfig { url: proxy.url(), ..server.config() };
        config.bypass = bypass;
    });
    fixture.source.set_cost(GENERATION);
    fixture.chain.get_many(&keys(0..100), Options::default()).await.expect("it serves");
    assert!(fixture.chain.close(LONG_TIMEOUT).await);
    ask(&fixture, 50).await;
    assert_eq!(fixture.tier("redis").verdict, "probed");
    Some((server, proxy, fixture))
}

/// Asks until the verdict on Redis is `verdict`. The verdict follows the lookups of the last second or two.
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

/// Asks for `count` keys that Redis has. Returns for how many Redis was asked.
async fn ask(fixture: &Fixture, count: u64) -> u64 {
    let mut asked = 0;
    for number in 0..count {
        let served = fixture.chain.get(key(number % 100, 1), TRACED).await.expect("it serves");
        asked += u64::from(served.trace.expect("a trace was asked for")[0].outcome != Outcome::Bypass);
    }
    asked
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_tier_is_bypassed_within_200_requests_and_a_fast_one_asked_again_within_200() {
    let Some((_server, proxy, fixture)) = warm(Bypass::Auto).await else { return };

    proxy.set_delay(SLOW);
    let asked = ask(&fixture, 200).await;
    assert!(asked < 100, "{asked} of 200 callers waited for a tier 11 times slower than generating");
    ask_until(&fixture, "bypassed").await;
    assert_eq!(fixture.tier("redis").reason, "slower than generating");
    assert!(fixture.lower("redis").asked_ratio < 0.1);
    assert_eq!(ask(&fixture, 100).await, 0, "the tier is only sampled in the background");
    assert!(fixture.tier("redis").bypasses >= 200);

    let returned = Instant::now();
    proxy.set_delay(Duration::ZERO);
    ask(&fixture, 200).await;
    let asked = ask(&fixture, 100).await;
    assert!(asked > 90, "{asked} of 100");
    ask_until(&fixture, "probed").await;
    let redis = fixture.tier("redis");
    assert_eq!(redis.reason, "answers sooner");
    assert!(!redis.since.is_zero() && redis.since < returned.elapsed(), "{redis:?}");
    assert!((redis.generation_cost_us / (GENERATION.as_secs_f64() * 1e6) - 1.0).abs() < 0.01, "{redis:?}");
}

/// Proxy delay that makes a batch cheap per key and a single query expensive: 4 ms for 64 keys that cost 1 ms each, or
/// for one.
const ROUND_TRIP: Duration = Duration::from_millis(4);
const STALL: Duration = Duration::from_millis(400);
const BATCH: u64 = 64;
const WARM: u64 = 50;

/// A chain of Redis alone behind a delay of [`ROUND_TRIP`], with the keys 0 to 99 and past batches.
async fn warm_for_batches() -> Option<(RedisServer, SlowProxy, Fixture)> {
    let server = RedisServer::start()?;
    let proxy = SlowProxy::to(server.port()).await;
    let fixture = Fixture::serial(&[TierKind::Redis], |config| {
        config.redis = RedisConfig { url: proxy.url(), timeout: LONG_TIMEOUT, ..server.config() };
    });
    fixture.source.set_cost(Duration::from_millis(1));
    proxy.set_delay(ROUND_TRIP);
    fixture.chain.get_many(&keys(0..100), Options::default()).await.expect("it serves");
    assert!(fixture.chain.close(LONG_TIMEOUT).await);
    assert_eq!(ask_in_batches(&fixture, WARM).await, WARM);
    Some((server, proxy, fixture))
}

/// Asks for `count` batches of keys that Redis has. Returns for how many Redis was asked.
async fn ask_in_batches(fixture: &Fixture, count: u64) -> u64 {
    let mut asked = 0;
    for number in 0..count {
        let first = number * 7 % (100 - BATCH);
        let served = fixture.chain.get_many(&keys(first..first + BATCH), TRACED).await.expect("it serves");
        let bypassed = |served: &Served| served.trace.as_ref().expect("a trace")[0].outcome == Outcome::Bypass;
        asked += u64::from(!served.iter().any(bypassed));
    }
    asked
}

#[tokio::test(flavor = "multi_thread")]
async fn batches_ask_a_tier_again_after_a_stall() {
    let Some((_server, proxy, fixture)) = warm_for_batches().await else { return };

    proxy.set_delay(STALL);
    // Few batches, because background queries queue up behind the delay.
    let asked = ask_in_batches(&fixture, 60).await;
    assert!(asked < 30, "{asked} of 60 batches waited for a tier at 2 ms a key");
    assert_eq!(ask_in_batches(&fixture, 5).await, 0);
    // One batch filled Redis, and one of 16 bypassing batches was sampled: all of these have passed the proxy.
    let bypassed = fixture.tier("redis").bypasses / BATCH;
    let queries = || fixture.observations("redis", "get_many");
    wait_until("all is answered", || queries() == 1 + WARM + asked + bypassed / 16).await;

    proxy.set_delay(ROUND_TRIP);
    ask_in_batches(&fixture, 200).await;
    assert_eq!(ask_in_batches(&fixture, 20).await, 20, "a single query would bypass: {:?}", fixture.tier("redis"));
}

#[tokio::test(flavor = "multi_thread")]
async fn batches_ask_a_tier_that_single_queries_bypass() {
    let Some((_server, _proxy, fixture)) = warm_for_batches().await else { return };
    for _ in 0..20 {
        assert_eq!(ask(&fixture, 10).await, 0, "4 ms for a value that takes 1 ms to generate");
        assert_eq!(ask_in_batches(&fixture, 2).await, 2);
    }
    assert_eq!(fixture.tier("redis").verdict, "bypassed in part");
}

/// After a restart the generation cost is unknown, and a tier with every value causes no generation.
#[tokio::test(flavor = "multi_thread")]
async fn a_slow_tier_with_every_value_is_bypassed() {
    let Some((_server, proxy, fixture)) = warm(Bypass::Auto).await else { return };
    let fixture = fixture.reopened().await;
    fixture.source.set_cost(GENERATION);
    proxy.set_delay(SLOW);
    let asked = ask(&fixture, 200).await;
    assert!(asked < 60, "{asked} of 200 callers waited");
    ask_until(&fixture, "bypassed").await;
}

/// The tier is not asked, not even in the background. It still gets writes and removals.
#[tokio::test(flavor = "multi_thread")]
async fn with_bypass_forced_a_tier_is_written_and_never_asked() {
    let mut fixture = Fixture::new(&[TierKind::Lmdb], |config| config.bypass = Bypass::Forced);
    fixture.source.set_cost(Duration::from_micros(300));
    for _ in 0..2 {
        assert_eq!(ask(&fixture, 100).await, 0);
    }
    assert_eq!(fixture.source.generations(), 200, "each of 200 calls generated its value");
    assert!(fixture.chain.close(LONG_TIMEOUT).await);
    let lmdb = fixture.tier("lmdb");
    assert_eq!((lmdb.hits, lmdb.misses, lmdb.bypasses, lmdb.entries), (0, 0, 200, 100), "{lmdb:?}");
    assert_eq!(lmdb.verdict, "bypassed by configuration");
    assert!(lmdb.generation_cost_us > 0.0, "{lmdb:?}");
    assert_eq!(fixture.lower("lmdb").asked_ratio, 0.0);
    fixture.chain.remove_many(&[key(7, 1)]).await;
    assert!(!held(&fixture.chain, &key(7, 1)).await[0].1);

    fixture.config.bypass = Bypass::Auto;
    let fixture = fixture.reopened().await;
    assert_eq!(fixture.chain.get(key(8, 1), Options::default()).await.expect("it serves").by, "lmdb");
}

#[tokio::test(flavor = "multi_thread")]
async fn with_bypass_off_a_tier_is_always_asked() {
    let Some((_server, proxy, fixture)) = warm(Bypass::Off).await else { return };
    proxy.set_delay(SLOW);
    assert_eq!(ask(&fixture, 40).await, 40);
    assert_eq!(fixture.tier("redis").verdict, "probed");
}
