//! Tests of the tier in a Redis cluster: values are on the node of their slot, and the failure of a master fails no
//! call.

mod fixture;

use std::time::{Duration, Instant};

use fixture::{Fixture, LONG_TIMEOUT, fake_source::value_of, held, keys, redis_cluster::RedisCluster};
use floor_cache::{Bypass, KeyPattern, Options, RedisConfig, TierKind};

fn over(cluster: &RedisCluster) -> Fixture {
    Fixture::new(&[TierKind::Redis], |config| {
        config.redis =
            RedisConfig { url: cluster.url(), timeout: Duration::from_millis(500), ..RedisConfig::default() };
        config.bypass = Bypass::Off;
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn values_are_distributed_over_the_slots_and_found() {
    let Some(cluster) = RedisCluster::start().await else { return };
    let fixture = over(&cluster);
    fixture.chain.get_many(&keys(0..300), Options::default()).await.unwrap();
    assert!(fixture.chain.close(LONG_TIMEOUT).await);
    let sizes = cluster.sizes();
    assert!(sizes.len() == 3 && sizes.iter().all(|size| *size > 50), "each master has its share: {sizes:?}");
    assert_eq!(sizes.iter().sum::<u64>(), 300);

    // One query for keys of many slots, in order.
    let served = fixture.chain.get_many(&keys(0..300), Options::default()).await.unwrap();
    assert!(served.iter().zip(keys(0..300)).all(|(s, key)| s.by == "redis" && s.value == value_of(&key)));
    assert_eq!(held(&fixture.chain, &keys(7..8)[0]).await, [("redis", true)]);
    fixture.chain.remove_many(&keys(0..100)).await;
    assert_eq!(cluster.sizes().iter().sum::<u64>(), 200);
    assert_eq!(fixture.tier("redis").errors, 0);

    let removals = fixture.chain.purge_matching(KeyPattern::ALL).await;
    assert!(removals[0].removed == 200 && removals[0].result.is_ok(), "{removals:?}");
    assert_eq!(cluster.sizes(), [0; 3], "every master is scanned");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dead_master_fails_no_call_and_its_replica_takes_over() {
    let Some(mut cluster) = RedisCluster::start().await else { return };
    let fixture = over(&cluster);
    fixture.chain.get_many(&keys(0..300), Options::default()).await.unwrap();
    assert!(fixture.chain.close(LONG_TIMEOUT).await);
    cluster.kill_a_master();
    let started = Instant::now();
    loop {
        let served = fixture.chain.get_many(&keys(0..300), Options::default()).await.expect("a fault fails no call");
        assert!(served.iter().zip(keys(0..300)).all(|(served, key)| served.value == value_of(&key)));
        if served.iter().all(|served| served.by == "redis") {
            return;
        }
        assert!(
            started.elapsed() < Duration::from_secs(30),
            "the replica has not taken over: {:?}",
            fixture.tier("redis")
        );
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
