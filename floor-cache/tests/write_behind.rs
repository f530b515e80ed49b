//! Writes behind the response: never waited for, bounded, and none lost that was promised by a flush.

mod setting;

use std::time::{Duration, Instant};

use floor_cache::{Options, RedisConfig, TierKind};
use setting::{Setting, keys, mill::value_of, redis_server::RedisServer, until};

const NO_CACHE: Options = Options { no_cache: true, trace: false, priority: floor_cache::Priority::Foreground };

fn writes(setting: &Setting, outcome: &str) -> f64 {
    setting.metric("floors_tier_writes_total", &[("tier", "redis"), ("outcome", outcome)])
}

/// A server that stands still takes no writes: what does not fit the queue is dropped and counted, and callers wait for
/// none of it.
#[tokio::test(flavor = "multi_thread")]
async fn a_full_queue_drops_and_counts() {
    let Some(server) = RedisServer::start() else { return };
    let setting = Setting::new(&[TierKind::Redis], |config| {
        config.redis = RedisConfig { timeout: Duration::from_secs(30), ..server.config() };
    });
    server.pause();
    let started = Instant::now();
    setting.chain.get_many(&keys(0..12_000), NO_CACHE).await.unwrap();
    assert!(started.elapsed() < Duration::from_secs(25), "nobody waits for a write");
    let dropped = writes(&setting, "dropped");
    assert!(dropped > 0.0, "12,000 do not fit a queue of 8,192");
    assert!(!setting.chain.close(Duration::from_millis(100)).await, "a flush that cannot end says so");

    server.resume();
    assert!(setting.chain.close(Duration::from_secs(20)).await);
    assert_eq!(writes(&setting, "stored") + writes(&setting, "dropped"), 12_000.0);
    assert_eq!(writes(&setting, "dropped"), dropped);
    assert_eq!(setting.chain.get(keys(0..1)[0], Options::default()).await.unwrap().by, "redis");
}

/// Disk and network take their writes side by side, each in its own time.
#[tokio::test(flavor = "multi_thread")]
async fn a_tier_that_stands_still_holds_up_no_other() {
    let Some(server) = RedisServer::start() else { return };
    let setting = Setting::new(&[TierKind::Redis, TierKind::Lmdb], |config| {
        config.redis = RedisConfig { timeout: Duration::from_secs(30), ..server.config() };
    });
    server.pause();
    setting.chain.get_many(&keys(0..500), NO_CACHE).await.unwrap();
    until("lmdb has them all", || setting.tier("lmdb").entries == 500).await;
    assert_eq!(writes(&setting, "stored"), 0.0);
    server.resume();
    assert!(setting.chain.close(Duration::from_secs(20)).await);
    assert_eq!(writes(&setting, "stored"), 500.0);
}

/// A write takes its value's bytes and no more: what is read back is what was made.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_flushed_is_there_after_a_restart() {
    let setting = Setting::new(&[TierKind::Lmdb, TierKind::Sled], |_| {});
    setting.chain.get_many(&keys(0..2000), Options::default()).await.unwrap();
    let setting = setting.reopened().await;
    let served = setting.chain.get_many(&keys(0..2000), Options::default()).await.unwrap();
    assert!(served.iter().zip(keys(0..2000)).all(|(s, key)| s.by == "lmdb" && s.value == value_of(&key)));
    assert_eq!(setting.tier("sled").entries, 2000);
}
