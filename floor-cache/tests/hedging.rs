//! A tier that is slow for once costs a caller little more than generating does.

mod fixture;

use std::time::Duration;

use fixture::{
    Fixture, LONG_TIMEOUT,
    fake_source::{Behavior, value_of},
    key, keys,
    redis_server::RedisServer,
    slow_proxy::SlowProxy,
    wait_until,
};
use floor_cache::{Bypass, Lease, Options, Outcome, RedisConfig, Served, TierKind};

const TRACED: Options = Options { trace: true, no_cache: false, priority: floor_cache::Priority::Foreground };

/// Longer than anything here takes on a busy machine, and shorter than the tier's deadline.
const SLOW: Duration = Duration::from_millis(1000);

/// Keys in the batches that a chain is warmed by. It may save up leave to make as many beside a slow question.
const BATCH: u64 = 100;

fn hedges(fixture: &Fixture, winner: &str) -> f64 {
    fixture.metric("floors_hedges_total", &[("tier", "redis"), ("winner", winner)])
}

/// A chain of Redis alone that holds the keys 0 to 99 and knows what they cost, and in which all leave is saved up that can
/// be: batches enough for that were asked for, of which none was slow.
async fn warm(server: &RedisServer, proxy: &SlowProxy) -> Fixture {
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
    fixture
}

fn steps(served: &Served) -> Vec<(&'static str, Outcome)> {
    served.trace.as_ref().expect("a trace").iter().map(|step| (step.tier, step.outcome)).collect()
}

const OVERTAKEN: [(&str, Outcome); 2] = [("redis", Outcome::Slow), ("generated", Outcome::Hit)];

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_answer_is_overtaken() {
    let Some(server) = RedisServer::start() else { return };
    let proxy = SlowProxy::to(server.port()).await;
    let fixture = warm(&server, &proxy).await;
    let before = hedges(&fixture, "source");
    proxy.set_delay(SLOW);
    let served = fixture.chain.get(key(7, 1), TRACED).await.unwrap();
    assert_eq!(steps(&served), OVERTAKEN);
    assert_eq!((served.by, served.value), ("generated", value_of(&key(7, 1))));
    assert_eq!(hedges(&fixture, "source"), before + 1.0);

    let batch = fixture.chain.get_many(&keys(10..13), TRACED).await.unwrap();
    assert!(batch.iter().all(|served| steps(served) == OVERTAKEN), "{batch:?}");
    assert!(batch.iter().zip(keys(10..13)).all(|(served, key)| served.value == value_of(&key)));
    assert_eq!(hedges(&fixture, "source"), before + 4.0);
}

/// A batch waits for all its keys, so it is overtaken when all are.
#[tokio::test(flavor = "multi_thread")]
async fn a_large_batch_is_overtaken_too() {
    let Some(server) = RedisServer::start() else { return };
    let proxy = SlowProxy::to(server.port()).await;
    let fixture = warm(&server, &proxy).await;
    proxy.set_delay(SLOW);
    let batch = fixture.chain.get_many(&keys(0..BATCH), TRACED).await.unwrap();
    assert!(batch.iter().all(|served| steps(served) == OVERTAKEN), "{batch:?}");
    assert!(batch.iter().zip(keys(0..BATCH)).all(|(served, key)| served.value == value_of(&key)));
}

/// One value that cannot be made is left to the tier. The others land as they are made, and none is made again when the
/// tier has answered that it has not got them.
#[tokio::test(flavor = "multi_thread")]
async fn a_value_that_cannot_be_made_takes_no_other_with_it() {
    let Some(server) = RedisServer::start() else { return };
    let proxy = SlowProxy::to(server.port()).await;
    let fixture = warm(&server, &proxy).await;
    let (before, source, tier) = (fixture.source.generations(), hedges(&fixture, "source"), hedges(&fixture, "tier"));
    proxy.set_delay(SLOW);
    fixture.source.set(Behavior::WaitAndPanicOn(key(7, 1)));
    let batch: Vec<_> = keys(1000..1007).into_iter().chain([key(7, 1)]).collect();
    let call = tokio::spawn({
        let (chain, batch) = (fixture.chain.clone(), batch.clone());
        async move { chain.get_many(&batch, TRACED).await }
    });
    wait_until("all are in the making", || fixture.source.generations() == before + 8).await;
    fixture.source.open_gate();
    let served = call.await.unwrap().expect("what cannot be made is in Redis");
    assert!(served.iter().zip(&batch).all(|(served, key)| served.value == value_of(key)));
    assert!(served[..7].iter().all(|served| steps(served) == OVERTAKEN), "{served:?}");
    assert_eq!(served[7].by, "redis");
    assert_eq!(fixture.source.generations(), before + 8, "each once");
    assert_eq!(hedges(&fixture, "source"), source + 7.0);
    wait_until("it is counted", || hedges(&fixture, "tier") == tier + 1.0).await;
}

/// The tier answers first, and has nothing: what is in the making is waited for and not begun again.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_in_the_making_when_the_tier_has_answered_is_not_made_again() {
    let Some(server) = RedisServer::start() else { return };
    let proxy = SlowProxy::to(server.port()).await;
    let fixture = warm(&server, &proxy).await;
    let (before, misses) = (fixture.source.generations(), fixture.tier("redis").misses);
    proxy.set_delay(Duration::from_millis(100));
    fixture.source.set(Behavior::WaitAndPanicOn(key(1007, 1)));
    let call = tokio::spawn({
        let chain = fixture.chain.clone();
        async move { chain.get_many(&keys(1000..1008), TRACED).await }
    });
    wait_until("the tier has answered", || fixture.tier("redis").misses == misses + 8).await;
    wait_until("what could not be made is tried again", || fixture.source.generations() == before + 9).await;
    fixture.source.open_gate();
    assert!(call.await.unwrap().is_err(), "all or nothing, and one cannot be made");
    let stored = || fixture.metric("floors_tier_writes_total", &[("tier", "redis"), ("outcome", "stored")]);
    wait_until("the others have landed and are stored", || stored() >= (BATCH + 7) as f64).await;
    assert_eq!(fixture.source.generations(), before + 9, "the others once");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tier_that_is_always_slow_is_not_hedged_for_ever() {
    let Some(server) = RedisServer::start() else { return };
    let proxy = SlowProxy::to(server.port()).await;
    let fixture = warm(&server, &proxy).await;
    proxy.set_delay(Duration::from_millis(10));
    let before = fixture.source.generations();
    for number in 0..300 {
        fixture.chain.get(key(number % BATCH, 1), Options::default()).await.unwrap();
    }
    let made = fixture.source.generations() - before;
    assert!(made > 0);
    let most = BATCH + 300 / 20;
    assert!(made <= most, "{made} made beside 300 questions: what was saved up, and a twentieth");
    let (total, redis) = (fixture.source.generations() - BATCH, fixture.tier("redis"));
    assert!(total <= (redis.hits + redis.misses) / 20, "{total} made beside {redis:?}");
}

/// The tier answers while the value is being made: its answer is taken.
#[tokio::test(flavor = "multi_thread")]
async fn the_tier_may_still_be_first() {
    let Some(server) = RedisServer::start() else { return };
    let proxy = SlowProxy::to(server.port()).await;
    let fixture = warm(&server, &proxy).await;
    let before = hedges(&fixture, "tier");
    fixture.source.set(Behavior::Wait);
    proxy.set_delay(Duration::from_millis(50));
    let served = fixture.chain.get(key(7, 1), TRACED).await.unwrap();
    assert_eq!((served.by, served.value), ("redis", value_of(&key(7, 1))));
    wait_until("it is counted", || hedges(&fixture, "tier") == before + 1.0).await;
}
