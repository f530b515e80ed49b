//! A tier that is slow for once costs a caller little more than generating does.

mod setting;

use std::time::{Duration, Instant};

use floor_cache::{Bypass, Options, Outcome, RedisConfig, TierKind};
use setting::{PATIENCE, Setting, key, keys, mill::value_of, redis_server::RedisServer, slow_road::SlowRoad, until};

const TRACED: Options = Options { trace: true, no_cache: false, priority: floor_cache::Priority::Foreground };

/// Longer than anything here takes on a busy machine, and shorter than the tier's deadline.
const SLOW: Duration = Duration::from_millis(1000);

fn hedges(setting: &Setting, winner: &str) -> f64 {
    setting.metric("floors_hedges_total", &[("tier", "redis"), ("winner", winner)])
}

/// A chain of Redis alone that holds the keys 0 to 99 and has answered for each four times.
async fn warm(server: &RedisServer, road: &SlowRoad) -> Setting {
    let setting = Setting::new(&[TierKind::Redis], |config| {
        config.redis = RedisConfig { url: road.url(), ..server.config() };
        config.bypass = Bypass::Off;
    });
    setting.chain.get_many(&keys(0..100), Options::default()).await.expect("it serves");
    assert!(setting.chain.close(PATIENCE).await);
    for number in 0..400 {
        setting.chain.get(key(number % 100, 1), Options::default()).await.expect("it serves");
    }
    setting
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_answer_is_overtaken() {
    let Some(server) = RedisServer::start() else { return };
    let road = SlowRoad::to(server.port()).await;
    let setting = warm(&server, &road).await;
    let before = hedges(&setting, "source");
    road.hold_up(SLOW);
    let started = Instant::now();
    let served = setting.chain.get(key(7, 1), TRACED).await.unwrap();
    assert!(started.elapsed() < SLOW / 2, "took {:?}", started.elapsed());
    assert_eq!((served.by, served.value), ("generated", value_of(&key(7, 1))));
    let steps: Vec<_> = served.trace.unwrap().iter().map(|step| (step.tier, step.outcome)).collect();
    assert_eq!(steps, [("redis", Outcome::Slow), ("generated", Outcome::Hit)]);
    until("it is counted", || hedges(&setting, "source") == before + 1.0).await;

    let started = Instant::now();
    let batch = setting.chain.get_many(&keys(10..13), TRACED).await.unwrap();
    assert!(started.elapsed() < SLOW / 2, "took {:?}", started.elapsed());
    assert!(batch.iter().zip(keys(10..13)).all(|(served, key)| served.value == value_of(&key)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tier_that_is_always_slow_is_not_hedged_for_ever() {
    let Some(server) = RedisServer::start() else { return };
    let road = SlowRoad::to(server.port()).await;
    let setting = warm(&server, &road).await;
    let before = setting.mill.ground();
    road.hold_up(Duration::from_millis(20));
    for number in 0..100 {
        setting.chain.get(key(number, 1), Options::default()).await.unwrap();
    }
    let extra = setting.mill.ground() - before;
    assert!((1..=13).contains(&extra), "{extra} made beside 100 questions: 8 in a row and a twentieth");
}

/// The tier answers while the value is being made: its answer is taken.
#[tokio::test(flavor = "multi_thread")]
async fn the_tier_may_still_be_first() {
    let Some(server) = RedisServer::start() else { return };
    let road = SlowRoad::to(server.port()).await;
    let setting = warm(&server, &road).await;
    setting.mill.set_cost(4 * SLOW);
    road.hold_up(Duration::from_millis(50));
    let served = setting.chain.get(key(7, 1), TRACED).await.unwrap();
    assert_eq!((served.by, served.value), ("redis", value_of(&key(7, 1))));
    until("it is counted", || hedges(&setting, "tier") >= 1.0).await;
}
