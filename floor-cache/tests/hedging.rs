//! Tests of hedging: a query that is slow once costs a caller little more than generating.

mod fixture;

use std::time::Duration;

use fixture::{
    Fixture, LONG_TIMEOUT, TRACED,
    fake_source::{Behavior, value_of},
    key, keys,
    redis_server::RedisServer,
    slow_proxy::SlowProxy,
    wait_until,
};
use floor_cache::{Bypass, Lease, Options, Outcome, RedisConfig, Served, TierKind};

/// Longer than other steps on a busy machine, and shorter than the tier's deadline.
const SLOW: Duration = Duration::from_millis(1000);

/// Keys in the warm-up batches, which is also the largest allowance.
const BATCH: u64 = 100;

fn hedges(fixture: &Fixture, winner: &str) -> f64 {
    fixture.metric("floors_hedges_total", &[("tier", "redis"), ("winner", winner)])
}

/// A chain of Redis alone with the keys 0 to 99, a measured generation cost and a full allowance, from enough batches
/// without a slow one.
async fn warm() -> Option<(RedisServer, SlowProxy, Fixture)> {
    let server = RedisServer::start()?;
    let proxy = SlowProxy::to(server.port()).await;
    let fixture = Fixture::new(&[TierKind::Redis], |config| {
        config.redis = RedisConfig { url: proxy.url(), timeout: LONG_TIMEOUT, lease: Lease::Off, ..server.config() };
        config.bypass = Bypass::Off;
    });
    fixture.chain.get_many(&keys(0..BATCH), Options::default()).await.expect("it serves");
    assert!(fixture.chain.close(LONG_TIMEOUT).await);
    let mut made = 0;
    while made != fixture.source.generations() {
        made = fixture.source.generations();
        for _ in 0..25 {
            fixture.chain.get_many(&keys(0..BATCH), Options::default()).await.expect("it serves");
        }
    }
    Some((server, proxy, fixture))
}

fn steps(served: &Served) -> Vec<(&'static str, Outcome)> {
    served.trace.as_ref().expect("a trace").iter().map(|step| (step.tier, step.outcome)).collect()
}

const HEDGED: [(&str, Outcome); 2] = [("redis", Outcome::Slow), ("generated", Outcome::Hit)];

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_answer_is_hedged() {
    let Some((_server, proxy, fixture)) = warm().await else { return };
    let before = hedges(&fixture, "source");
    proxy.set_delay(SLOW);
    let served = fixture.chain.get(key(7, 1), TRACED).await.unwrap();
    assert_eq!(steps(&served), HEDGED);
    assert_eq!((served.by, served.value), ("generated", value_of(&key(7, 1))));
    assert_eq!(hedges(&fixture, "source"), before + 1.0);

    let batch = fixture.chain.get_many(&keys(10..13), TRACED).await.unwrap();
    assert!(batch.iter().all(|served| steps(served) == HEDGED), "{batch:?}");
    assert!(batch.iter().zip(keys(10..13)).all(|(served, key)| served.value == value_of(&key)));
    assert_eq!(hedges(&fixture, "source"), before + 4.0);
}

/// A batch waits for all its keys, so all are hedged.
#[tokio::test(flavor = "multi_thread")]
async fn a_large_batch_is_hedged() {
    let Some((_server, proxy, fixture)) = warm().await else { return };
    proxy.set_delay(SLOW);
    let batch = fixture.chain.get_many(&keys(0..BATCH), TRACED).await.unwrap();
    assert!(batch.iter().all(|served| steps(served) == HEDGED), "{batch:?}");
    assert!(batch.iter().zip(keys(0..BATCH)).all(|(served, key)| served.value == value_of(&key)));
}

/// A value whose generation fails comes from the tier. The other flights complete when their values are generated, and
/// none is generated again after the tier missed it.
#[tokio::test(flavor = "multi_thread")]
async fn a_failed_generation_affects_no_other_key() {
    let Some((_server, proxy, fixture)) = warm().await else { return };
    let (before, source, tier) = (fixture.source.generations(), hedges(&fixture, "source"), hedges(&fixture, "tier"));
    proxy.set_delay(SLOW);
    fixture.source.set(Behavior::WaitAndPanicOn(key(7, 1)));
    let batch: Vec<_> = keys(1000..1007).into_iter().chain([key(7, 1)]).collect();
    let call = tokio::spawn({
        let (chain, batch) = (fixture.chain.clone(), batch.clone());
        async move { chain.get_many(&batch, TRACED).await }
    });
    wait_until("all generations run", || fixture.source.generations() == before + 8).await;
    fixture.source.open_gate();
    let served = call.await.unwrap().expect("Redis has the value whose generation fails");
    assert!(served.iter().zip(&batch).all(|(served, key)| served.value == value_of(key)));
    assert!(served[..7].iter().all(|served| steps(served) == HEDGED), "{served:?}");
    assert_eq!(served[7].by, "redis");
    assert_eq!(fixture.source.generations(), before + 8, "each generated once");
    assert_eq!(hedges(&fixture, "source"), source + 7.0);
    wait_until("it is counted", || hedges(&fixture, "tier") == tier + 1.0).await;
}

/// The tier misses first: running generations are awaited and not started again.
#[tokio::test(flavor = "multi_thread")]
async fn running_generations_are_not_repeated_after_the_tier_answers() {
    let Some((_server, proxy, fixture)) = warm().await else { return };
    let (before, misses) = (fixture.source.generations(), fixture.tier("redis").misses);
    proxy.set_delay(Duration::from_millis(100));
    fixture.source.set(Behavior::WaitAndPanicOn(key(1007, 1)));
    let call = tokio::spawn({
        let chain = fixture.chain.clone();
        async move { chain.get_many(&keys(1000..1008), TRACED).await }
    });
    wait_until("the tier has answered", || fixture.tier("redis").misses == misses + 8).await;
    wait_until("the failed generation is repeated", || fixture.source.generations() == before + 9).await;
    fixture.source.open_gate();
    assert!(call.await.unwrap().is_err(), "a batch fails if one key fails");
    let stored = || fixture.redis_writes("stored");
    wait_until("the others are stored", || stored() >= (BATCH + 7) as f64).await;
    assert_eq!(fixture.source.generations(), before + 9, "the others generated once");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tier_that_is_always_slow_is_not_hedged_forever() {
    let Some((_server, proxy, fixture)) = warm().await else { return };
    proxy.set_delay(Duration::from_millis(10));
    let before = fixture.source.generations();
    for number in 0..300 {
        fixture.chain.get(key(number % BATCH, 1), Options::default()).await.unwrap();
    }
    let made = fixture.source.generations() - before;
    assert!(made > 0);
    let most = BATCH + 300 / 20;
    assert!(made <= most, "{made} hedged of 300 queries: the saved allowance and a twentieth");
    let (total, redis) = (fixture.source.generations() - BATCH, fixture.tier("redis"));
    assert!(total <= (redis.hits + redis.misses) / 20, "{total} hedged of {redis:?}");
}

/// The tier answers during the generation: its answer wins.
#[tokio::test(flavor = "multi_thread")]
async fn the_tier_may_answer_first() {
    let Some((_server, proxy, fixture)) = warm().await else { return };
    let before = hedges(&fixture, "tier");
    fixture.source.set(Behavior::Wait);
    proxy.set_delay(Duration::from_millis(50));
    let served = fixture.chain.get(key(7, 1), TRACED).await.unwrap();
    assert_eq!((served.by, served.value), ("redis", value_of(&key(7, 1))));
    wait_until("it is counted", || hedges(&fixture, "tier") == before + 1.0).await;
}
