//! The tier in a cluster of Redis servers: values lie on the node that has their slot, and a master that dies costs no call.

mod setting;

use std::time::{Duration, Instant};

use floor_cache::{Bypass, Options, RedisConfig, TierKind};
use setting::{PATIENCE, Setting, keys, mill::value_of, redis_cluster::RedisCluster};

fn over(cluster: &RedisCluster) -> Setting {
    Setting::new(&[TierKind::Redis], |config| {
        config.redis =
            RedisConfig { url: cluster.url(), timeout: Duration::from_millis(500), ..RedisConfig::default() };
        config.bypass = Bypass::Off;
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn values_are_spread_over_the_slots_and_found_again() {
    let Some(cluster) = RedisCluster::start().await else { return };
    let setting = over(&cluster);
    setting.chain.get_many(&keys(0..300), Options::default()).await.unwrap();
    assert!(setting.chain.close(PATIENCE).await);
    let sizes = cluster.sizes();
    assert!(sizes.len() == 3 && sizes.iter().all(|size| *size > 50), "each master has its share: {sizes:?}");
    assert_eq!(sizes.iter().sum::<u64>(), 300);

    // One question for keys of many slots, in order.
    let served = setting.chain.get_many(&keys(0..300), Options::default()).await.unwrap();
    assert!(served.iter().zip(keys(0..300)).all(|(s, key)| s.by == "redis" && s.value == value_of(&key)));
    assert_eq!(setting.chain.contains(&keys(7..8)[0]).await, [("redis", true)]);
    setting.chain.remove_many(&keys(0..100)).await;
    assert_eq!(cluster.sizes().iter().sum::<u64>(), 200);
    assert_eq!(setting.tier("redis").errors, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_master_that_dies_costs_no_call_and_its_replica_takes_over() {
    let Some(mut cluster) = RedisCluster::start().await else { return };
    let setting = over(&cluster);
    setting.chain.get_many(&keys(0..300), Options::default()).await.unwrap();
    assert!(setting.chain.close(PATIENCE).await);
    cluster.kill_a_master();
    let started = Instant::now();
    loop {
        let served =
            setting.chain.get_many(&keys(0..300), Options::default()).await.expect("no fault reaches a caller");
        assert!(served.iter().zip(keys(0..300)).all(|(served, key)| served.value == value_of(&key)));
        if served.iter().all(|served| served.by == "redis") {
            return;
        }
        assert!(
            started.elapsed() < Duration::from_secs(30),
            "the replica has not taken over: {:?}",
            setting.tier("redis")
        );
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
