//! URLs whose form does not fit the Redis there: the first error names the one that does. Sockets and Sentinels.

use std::time::Duration;

use floor_cache::{Options, Tier, tiers::RedisTier};
use tokio::runtime::Handle;

use super::{
    Admin, RedisConfig, admin, ask,
    fixture::{envelope, keys, redis_cluster::RedisCluster, redis_sentinel::RedisSentinel, redis_server::RedisServer},
    last_error,
    log::Log,
    over, store, wait_until_well,
};

/// A server that is a cluster of its own: one master with every slot.
pub(crate) async fn one_master() -> Option<RedisServer> {
    let bus = super::fixture::redis_server::free_port().to_string();
    let server = RedisServer::start_with(&["--cluster-enabled", "yes", "--cluster-port", &bus])?;
    assert_eq!(server.command(&[b"CLUSTER", b"ADDSLOTSRANGE", b"0", b"16383"]), b"+OK\r\n");
    super::fixture::wait_until("it serves the slots", || {
        String::from_utf8_lossy(&server.command(&[b"CLUSTER", b"INFO"])).contains("cluster_state:ok")
    })
    .await;
    Some(server)
}

/// The error of a lookup of two values.
async fn error_of(url: String) -> String {
    let config = RedisConfig { url, timeout: Duration::from_secs(2), ..RedisConfig::default() };
    let tier = RedisTier::open(&config, envelope(), &Handle::current()).unwrap();
    tier.get_many(&keys(0..2)).await.unwrap_err().to_string()
}

#[tokio::test]
async fn a_plain_url_of_a_cluster() {
    let Some(cluster) = RedisCluster::start().await else { return };
    let node = cluster.url().replace("+cluster", "");
    let error = error_of(node.split(',').next().unwrap().to_owned()).await;
    let is_named = ["MOVED", "CROSSSLOT"].iter().any(|code| error.contains(code));
    assert!(is_named && error.contains("write redis+cluster://host:port"), "{error}");
}

/// Single lookups find values, and batches fail. So the breaker opens, and says why.
#[tokio::test]
async fn a_plain_url_of_a_cluster_of_one_master() {
    let log = Log::start();
    let Some(server) = one_master().await else { return };
    let fixture = over(server.url());
    for key in keys(0..10) {
        fixture.chain.get(key, Options::default()).await.unwrap();
        fixture.chain.close(Duration::from_secs(5)).await;
    }
    let mut rounds = 0;
    while fixture.tier("redis").verdict == "probed" {
        ask(&fixture, 0..10).await;
        rounds += 1;
        assert!(rounds < 20, "every batch fails: {:?}", fixture.tier("redis"));
    }
    assert!(log.lines().iter().any(|line| line.contains("CROSSSLOT") && line.contains("redis+cluster://")));
    // The URL that the error names.
    let fixture = over(server.url().replace("redis://", "redis+cluster://"));
    store(&fixture, 100..110).await;
}

#[tokio::test]
async fn a_cluster_url_of_a_server() {
    let Some(server) = RedisServer::start() else { return };
    let error = error_of(server.url().replace("redis://", "redis+cluster://")).await;
    assert!(error.contains("cluster support disabled") && error.contains("write redis:// or rediss://"), "{error}");
}

#[tokio::test]
async fn a_number_of_a_database_that_is_not_there() {
    let Some(server) = RedisServer::start() else { return };
    let error = error_of(server.url() + "/99").await;
    assert!(error.contains("DB index is out of range") && error.contains("number of a database"), "{error}");
    let Some(server) = one_master().await else { return };
    let error = error_of(server.url() + "/3").await;
    assert!(error.contains("SELECT is not allowed in cluster mode") && error.contains("redis+cluster://"), "{error}");
}

#[tokio::test]
async fn a_password_for_a_server_without_one() {
    let Some(server) = RedisServer::start() else { return };
    let error = error_of(server.url().replace("//", "//:hush@")).await;
    assert!(
        error.contains("without any password configured") && error.contains("this Redis has no password"),
        "{error}"
    );
    assert!(!error.contains("hush"), "{error}");
}

/// Redis repeats the arguments of a command that it does not know.
#[tokio::test]
async fn a_password_for_a_server_without_the_command_auth() {
    let Some(server) = RedisServer::start_with(&["--rename-command", "AUTH", ""]) else { return };
    let error = error_of(server.url().replace("//", "//me:hush@")).await;
    assert!(error.contains("unknown command 'AUTH'") && !error.contains("hush"), "{error}");
}

#[tokio::test]
async fn a_user_without_info_leaves_figures_out() {
    let Some(server) = RedisServer::start() else { return };
    server.command(&[b"ACL", b"SETUSER", b"few", b"on", b">hush", b"~*", b"+mget", b"+set", b"+dbsize"]);
    let fixture = over(server.url().replace("//", "//few:hush@"));
    store(&fixture, 0..10).await;
    fixture.chain.refresh_stats().await;
    let redis = fixture.tier("redis");
    assert_eq!((redis.entries, redis.unknown.entries, redis.unknown.bytes), (10, false, true));
    server.command(&[b"ACL", b"SETUSER", b"few", b"-dbsize", b"+info"]);
    tokio::time::sleep(Duration::from_millis(1100)).await; // The interval of pages.
    fixture.chain.refresh_stats().await;
    let redis = fixture.tier("redis");
    assert!(redis.unknown.entries && !redis.unknown.bytes && redis.bytes > 0, "{redis:?}");
    assert_eq!((redis.errors, redis.verdict), (0, "probed"), "{}", last_error(&fixture));
}

#[tokio::test]
async fn a_socket() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("redis.sock").display().to_string();
    let Some(server) = RedisServer::start_with(&["--unixsocket", &path]) else { return };
    server.command(&[b"ACL", b"SETUSER", b"few", b"on", b">p#ss", b"~*", b"+@all"]);
    let fixture = over(format!("redis+unix://{path}?db=2&user=few&pass=p%23ss"));
    store(&fixture, 0..10).await;
    let keyspace = String::from_utf8(server.command(&[b"INFO", b"keyspace"])).unwrap();
    assert!(keyspace.contains("db2:keys=10"), "{keyspace}");
    server.command(&[b"CLIENT", b"KILL", b"TYPE", b"normal", b"SKIPME", b"yes"]);
    assert_eq!(ask(&fixture, 0..10).await, [10; 2]);
}

/// The Sentinels are asked for the master again when it is lost.
#[tokio::test]
async fn a_sentinel() {
    for has_password in [false, true] {
        let Some(mut sentinel) = RedisSentinel::start(has_password).await else { return };
        let fixture = over(sentinel.url(3));
        store(&fixture, 0..10).await;
        sentinel.wait_for_the_copy().await;
        sentinel.kill_the_master();
        ask(&fixture, 0..10).await;
        // Its Sentinel needs a second to miss the master, and the breaker probes after its pause.
        wait_until_well(&fixture).await;
        assert_eq!(ask(&fixture, 0..10).await, [10; 2], "the replica has taken over");
    }
}

#[tokio::test]
async fn a_name_that_the_sentinels_do_not_know() {
    let Some(sentinel) = RedisSentinel::start(false).await else { return };
    let error = error_of(sentinel.url(0).replace("/mymaster", "/another")).await;
    assert!(error.contains("SENTINEL MASTERS lists the names"), "{error}");
    let error = error_of(sentinel.url_of_the_master()).await;
    assert!(error.contains("sentinel"), "{error}");
}

#[tokio::test]
async fn a_user_that_may_nothing_in_a_cluster() {
    let Some(server) = one_master().await else { return };
    server.command(&[b"ACL", b"SETUSER", b"admin", b"on", &[b">", super::ADMIN].concat(), b"~*", b"&*", b"+@all"]);
    admin(&server, &["ACL SETUSER few on >hush ~* +ping +cluster"]);
    let error = error_of(server.url().replace("redis://", "redis+cluster://few:hush@")).await;
    assert!(error.contains("NOPERM") && error.contains("MGET, SET"), "{error}");
    Admin::of(server.port()).run("ACL SETUSER few resetpass >another");
    let error = error_of(server.url().replace("redis://", "redis+cluster://few:hush@")).await;
    assert!(error.contains("check the user in cache.redis.url") && !error.contains("hush"), "{error}");
}
