//! Connections that Redis closes, and servers that are no master any more while they keep their connections.

use std::time::Duration;

use super::{
    RedisServer, ask,
    fixture::{LONG_TIMEOUT, faulty_proxy::FaultyProxy, keys, redis_cluster::RedisCluster, wait_until},
    forms::one_master,
    last_error, over, store, wait_until_well,
};

/// A failover behind a name, as of a managed Redis or HAProxy: new connections reach the new master, the old ones stay
/// with a server that is a replica now.
#[tokio::test(flavor = "multi_thread")]
async fn a_failover_behind_a_name_that_keeps_the_connections() {
    let Some(old) = RedisServer::start() else { return };
    let Some(new) = RedisServer::start() else { return };
    let name = FaultyProxy::to(old.port()).await;
    let fixture = over(name.url());
    new.follow(Some(&old)).await;
    store(&fixture, 0..30).await;
    // WAIT waits for the writes of its own connection only.
    wait_until("the replica has every value", || new.command(&[b"DBSIZE"]) == old.command(&[b"DBSIZE"])).await;
    new.follow(None).await;
    old.follow(Some(&new)).await;
    name.redirect_to(new.port());

    // The next write is sent again to the new master, so none is lost and none fails.
    let before = fixture.lower("redis").writes;
    ask(&fixture, 100..110).await;
    assert!(fixture.chain.close(LONG_TIMEOUT).await, "{}", last_error(&fixture));
    let after = fixture.lower("redis").writes;
    assert!(after.stored - before.stored >= 10 && after.failed == before.failed, "{after:?}: {}", last_error(&fixture));
    assert_eq!(ask(&fixture, 0..30).await, [30; 2]);
    wait_until_well(&fixture).await;
    assert_eq!(fixture.tier("redis").errors, 0);
}

/// The name still has the old address when the first write fails.
#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_changes_after_the_failover() {
    let Some(old) = RedisServer::start() else { return };
    let Some(new) = RedisServer::start() else { return };
    let name = FaultyProxy::to(old.port()).await;
    let fixture = over(name.url());
    store(&fixture, 0..30).await;
    old.follow(Some(&new)).await;
    ask(&fixture, 100..110).await;
    assert!(!fixture.chain.close(LONG_TIMEOUT).await);
    assert!(last_error(&fixture).contains("READONLY"), "{}", last_error(&fixture));
    let connections = || {
        let info = String::from_utf8(old.command(&[b"INFO", b"stats"])).unwrap();
        let line = info.lines().find_map(|line| line.strip_prefix("total_connections_received:")).unwrap().to_owned();
        line.parse::<u64>().unwrap()
    };
    let before = connections();
    for round in 0..50 {
        ask(&fixture, 200 + round..201 + round).await;
        fixture.chain.close(LONG_TIMEOUT).await;
    }
    assert!(connections() - before < 10, "a replica that stays one is not flooded with connections");
    name.redirect_to(new.port());
    let took = wait_until_well(&fixture).await;
    assert!(took < Duration::from_secs(3), "within a second and what a busy machine adds: {took:?}");
}

/// A cluster without an owner of the slots.
#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_that_loses_its_slots() {
    let Some(server) = one_master().await else { return };
    let fixture = over(server.url().replace("redis://", "redis+cluster://"));
    store(&fixture, 0..10).await;
    assert_eq!(server.command(&[b"CLUSTER", b"DELSLOTSRANGE", b"0", b"16383"]), b"+OK\r\n");
    wait_until("the cluster is down", || server.command(&[b"GET", b"a"]).starts_with(b"-CLUSTERDOWN")).await;
    for _ in 0..5 {
        assert_eq!(ask(&fixture, 0..10).await, [0; 2]);
    }
    assert_eq!(fixture.tier("redis").verdict, "open", "{:?}", fixture.tier("redis"));
    assert_eq!(server.command(&[b"CLUSTER", b"ADDSLOTSRANGE", b"0", b"16383"]), b"+OK\r\n");
    wait_until_well(&fixture).await;
}

/// The old master keeps its connections, and answers that the slots are elsewhere.
#[tokio::test(flavor = "multi_thread")]
async fn a_replica_that_is_promoted_in_a_cluster() {
    let Some(cluster) = RedisCluster::start().await else { return };
    let fixture = over(cluster.url());
    store(&fixture, 0..100).await;
    cluster.promote_a_replica().await;
    for round in 0..10 {
        assert_eq!(ask(&fixture, 0..100).await, [100; 2], "{}", last_error(&fixture));
        ask(&fixture, 1000 + 10 * round..1010 + 10 * round).await;
        assert!(fixture.chain.close(LONG_TIMEOUT).await, "{}", last_error(&fixture));
    }
    assert_eq!((fixture.tier("redis").errors, fixture.lower("redis").writes.failed), (0, 0));
}

/// `timeout 1` of Redis.
#[tokio::test(flavor = "multi_thread")]
async fn an_idle_connection_that_redis_closes() {
    let Some(server) = RedisServer::start_with(&["--timeout", "1"]) else { return };
    let fixture = over(server.url());
    store(&fixture, 0..10).await;
    for round in 0..2 {
        let clients = || String::from_utf8(server.command(&[b"INFO", b"clients"])).unwrap();
        wait_until("only the test is connected", || clients().contains("connected_clients:1\r")).await;
        let generated = fixture.source.generations();
        assert_eq!(ask(&fixture, 0..10).await, [10; 2], "{}", last_error(&fixture));
        assert_eq!(fixture.source.generations(), generated, "no lookup was generated");
        ask(&fixture, 100 + round..101 + round).await;
        assert!(fixture.chain.close(LONG_TIMEOUT).await, "no write was lost: {}", last_error(&fixture));
    }
    assert_eq!((fixture.tier("redis").errors, fixture.lower("redis").writes.failed), (0, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_that_redis_kills_under_load() {
    let Some(server) = RedisServer::start() else { return };
    let fixture = over(server.url());
    store(&fixture, 0..30).await;
    for _ in 0..20 {
        server.command(&[b"CLIENT", b"KILL", b"TYPE", b"normal", b"SKIPME", b"yes"]);
        // A request that redis 1.8 queues in the microsecond in which it notices the end has no answer until its timeout:
        // the message lies behind a receiver that is gone.
        tokio::time::sleep(Duration::from_millis(5)).await;
        assert_eq!(ask(&fixture, 0..30).await, [30; 2], "{}", last_error(&fixture));
    }
    assert_eq!((fixture.tier("redis").errors, fixture.tier("redis").verdict), (0, "probed"));
    let held = fixture.chain.contains(&keys(0..1)[0]).await;
    assert!(matches!(held[..], [("redis", Ok(true))]), "{held:?}");
}
