//! A tier that is slow for once costs a caller little more than generating does.

mod setting;

use std::time::Duration;

use floor_cache::{Bypass, Lease, Options, Outcome, RedisConfig, Served, TierKind};
use setting::{
    PATIENCE, Setting, key, keys,
    mill::{Mood, value_of},
    redis_server::RedisServer,
    slow_road::SlowRoad,
    until,
};

const TRACED: Options = Options { trace: true, no_cache: false, priority: floor_cache::Priority::Foreground };

/// Longer than anything here takes on a busy machine, and shorter than the tier's deadline.
const SLOW: Duration = Duration::from_millis(1000);

/// Keys in the batches that a chain is warmed by. It may save up leave to make as many beside a slow question.
const BATCH: u64 = 100;

fn hedges(setting: &Setting, winner: &str) -> f64 {
    setting.metric("floors_hedges_total", &[("tier", "redis"), ("winner", winner)])
}

/// A chain of Redis alone that holds the keys 0 to 99 and knows what they cost, and in which all leave is saved up that can
/// be: batches enough for that were asked for, of which none was slow.
async fn warm(server: &RedisServer, road: &SlowRoad) -> Setting {
    let setting = Setting::new(&[TierKind::Redis], |config| {
        config.redis = RedisConfig { url: road.url(), timeout: PATIENCE, lease: Lease::Off, ..server.config() };
        config.bypass = Bypass::Off;
    });
    setting.chain.get_many(&keys(0..BATCH), Options::default()).await.expect("it serves");
    assert!(setting.chain.close(PATIENCE).await);
    let mut made = 0;
    while made != setting.mill.ground() {
        made = setting.mill.ground();
        for _ in 0..25 {
            setting.chain.get_many(&keys(0..BATCH), Options::default()).await.expect("it serves");
        }
    }
    setting
}

fn steps(served: &Served) -> Vec<(&'static str, Outcome)> {
    served.trace.as_ref().expect("a trace").iter().map(|step| (step.tier, step.outcome)).collect()
}

const OVERTAKEN: [(&str, Outcome); 2] = [("redis", Outcome::Slow), ("generated", Outcome::Hit)];

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_answer_is_overtaken() {
    let Some(server) = RedisServer::start() else { return };
    let road = SlowRoad::to(server.port()).await;
    let setting = warm(&server, &road).await;
    let before = hedges(&setting, "source");
    road.hold_up(SLOW);
    let served = setting.chain.get(key(7, 1), TRACED).await.unwrap();
    assert_eq!(steps(&served), OVERTAKEN);
    assert_eq!((served.by, served.value), ("generated", value_of(&key(7, 1))));
    assert_eq!(hedges(&setting, "source"), before + 1.0);

    let batch = setting.chain.get_many(&keys(10..13), TRACED).await.unwrap();
    assert!(batch.iter().all(|served| steps(served) == OVERTAKEN), "{batch:?}");
    assert!(batch.iter().zip(keys(10..13)).all(|(served, key)| served.value == value_of(&key)));
    assert_eq!(hedges(&setting, "source"), before + 4.0);
}

/// A batch waits for all its keys, so it is overtaken when all are.
#[tokio::test(flavor = "multi_thread")]
async fn a_large_batch_is_overtaken_too() {
    let Some(server) = RedisServer::start() else { return };
    let road = SlowRoad::to(server.port()).await;
    let setting = warm(&server, &road).await;
    road.hold_up(SLOW);
    let batch = setting.chain.get_many(&keys(0..BATCH), TRACED).await.unwrap();
    assert!(batch.iter().all(|served| steps(served) == OVERTAKEN), "{batch:?}");
    assert!(batch.iter().zip(keys(0..BATCH)).all(|(served, key)| served.value == value_of(&key)));
}

/// One value that cannot be made is left to the tier. The others land as they are made, and none is made again when the
/// tier has answered that it has not got them.
#[tokio::test(flavor = "multi_thread")]
async fn a_value_that_cannot_be_made_takes_no_other_with_it() {
    let Some(server) = RedisServer::start() else { return };
    let road = SlowRoad::to(server.port()).await;
    let setting = warm(&server, &road).await;
    let (before, source, tier) = (setting.mill.ground(), hedges(&setting, "source"), hedges(&setting, "tier"));
    road.hold_up(SLOW);
    setting.mill.set(Mood::WaitAndPanicOn(key(7, 1)));
    let batch: Vec<_> = keys(1000..1007).into_iter().chain([key(7, 1)]).collect();
    let call = tokio::spawn({
        let (chain, batch) = (setting.chain.clone(), batch.clone());
        async move { chain.get_many(&batch, TRACED).await }
    });
    until("all are in the making", || setting.mill.ground() == before + 8).await;
    setting.mill.open();
    let served = call.await.unwrap().expect("what cannot be made is in Redis");
    assert!(served.iter().zip(&batch).all(|(served, key)| served.value == value_of(key)));
    assert!(served[..7].iter().all(|served| steps(served) == OVERTAKEN), "{served:?}");
    assert_eq!(served[7].by, "redis");
    assert_eq!(setting.mill.ground(), before + 8, "each once");
    assert_eq!(hedges(&setting, "source"), source + 7.0);
    until("it is counted", || hedges(&setting, "tier") == tier + 1.0).await;
}

/// The tier answers first, and has nothing: what is in the making is waited for and not begun again.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_in_the_making_when_the_tier_has_answered_is_not_made_again() {
    let Some(server) = RedisServer::start() else { return };
    let road = SlowRoad::to(server.port()).await;
    let setting = warm(&server, &road).await;
    let (before, misses) = (setting.mill.ground(), setting.tier("redis").misses);
    road.hold_up(Duration::from_millis(100));
    setting.mill.set(Mood::WaitAndPanicOn(key(1007, 1)));
    let call = tokio::spawn({
        let chain = setting.chain.clone();
        async move { chain.get_many(&keys(1000..1008), TRACED).await }
    });
    until("the tier has answered", || setting.tier("redis").misses == misses + 8).await;
    until("what could not be made is tried again", || setting.mill.ground() == before + 9).await;
    setting.mill.open();
    assert!(call.await.unwrap().is_err(), "all or nothing, and one cannot be made");
    let stored = || setting.metric("floors_tier_writes_total", &[("tier", "redis"), ("outcome", "stored")]);
    until("the others have landed and are stored", || stored() >= (BATCH + 7) as f64).await;
    assert_eq!(setting.mill.ground(), before + 9, "the others once");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tier_that_is_always_slow_is_not_hedged_for_ever() {
    let Some(server) = RedisServer::start() else { return };
    let road = SlowRoad::to(server.port()).await;
    let setting = warm(&server, &road).await;
    road.hold_up(Duration::from_millis(10));
    let before = setting.mill.ground();
    for number in 0..300 {
        setting.chain.get(key(number % BATCH, 1), Options::default()).await.unwrap();
    }
    let made = setting.mill.ground() - before;
    assert!(made > 0);
    let most = BATCH + 300 / 20;
    assert!(made <= most, "{made} made beside 300 questions: what was saved up, and a twentieth");
    let (total, redis) = (setting.mill.ground() - BATCH, setting.tier("redis"));
    assert!(total <= (redis.hits + redis.misses) / 20, "{total} made beside {redis:?}");
}

/// The tier answers while the value is being made: its answer is taken.
#[tokio::test(flavor = "multi_thread")]
async fn the_tier_may_still_be_first() {
    let Some(server) = RedisServer::start() else { return };
    let road = SlowRoad::to(server.port()).await;
    let setting = warm(&server, &road).await;
    let before = hedges(&setting, "tier");
    setting.mill.set(Mood::Wait);
    road.hold_up(Duration::from_millis(50));
    let served = setting.chain.get(key(7, 1), TRACED).await.unwrap();
    assert_eq!((served.by, served.value), ("redis", value_of(&key(7, 1))));
    until("it is counted", || hedges(&setting, "tier") == before + 1.0).await;
}
