//! Tests of leases between servers with one Redis: a value that several miss is generated about once, also if a server
//! dies.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod fixture;

use std::time::{Duration, Instant};

use bytes::Bytes;
use fixture::{
    Fixture, LONG_TIMEOUT,
    fake_source::{Behavior, value_of},
    key, keys,
    redis_cluster::RedisCluster,
    redis_server::RedisServer,
    slow_proxy::SlowProxy,
    wait_until,
};
use floor_cache::{Bypass, Key, Lease, Options, Served, SourceError, TierKind};
use futures_util::future::{join_all, try_join_all};
use tokio::task::JoinHandle;

/// Cost of a value: long compared with a query, even on a busy machine. A lease lasts as long.
const COST: Duration = Duration::from_millis(200);

/// Of 100 keys, how many may be generated twice because a busy machine renewed or polled late.
const MAX_DUPLICATES: u64 = 10;

/// A server in this process: its own memory, connections, flights and source.
fn server_of(url: String, lease: Lease) -> Fixture {
    let server = Fixture::new(&[TierKind::Lru, TierKind::Redis], |config| {
        config.redis.url = url;
        config.redis.timeout = Duration::from_secs(2);
        config.redis.lease = lease;
    });
    server.source.set_cost(COST);
    server
}

/// As [`server_of`], after generating one value, so that its cost is known, and writing it, so that later commands are
/// the test's.
async fn warmed_up(url: String, number: u64, lease: Lease) -> Fixture {
    let server = server_of(url, lease);
    server.chain.get(key(number, 1), Options::default()).await.unwrap();
    let began = Instant::now();
    while !server.chain.contains(&key(number, 1)).await.contains(&("redis", true)) {
        assert!(began.elapsed() < LONG_TIMEOUT, "the value is not written");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    server
}

async fn three(redis: &RedisServer, lease: Lease) -> Vec<Fixture> {
    join_all((0..3).map(|number| warmed_up(redis.url(), 1_000_000 + number, lease))).await
}

fn generations(servers: &[Fixture]) -> u64 {
    servers.iter().map(|server| server.source.generations()).sum()
}

/// Asks `server` for each of `keys` with concurrent calls.
async fn ask_each(server: &Fixture, keys: &[Key]) {
    let calls = keys.iter().map(|key| server.chain.get(*key, Options::default()));
    let served = try_join_all(calls).await.expect("no call fails");
    assert!(served.iter().zip(keys).all(|(served, key)| served.value == value_of(key)));
}

fn leases(server: &Fixture, outcome: &str) -> f64 {
    server.metric("floors_leases_total", &[("outcome", outcome)])
}

fn stored(number: u64) -> Vec<u8> {
    [b"floors:".as_slice(), key(number, 1).as_bytes()].concat()
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_that_three_servers_miss_are_generated_about_once() {
    let Some(redis) = RedisServer::start() else { return };
    let servers = three(&redis, Lease::Auto).await;
    let before = generations(&servers);

    let wanted = keys(0..100);
    join_all(servers.iter().map(|server| ask_each(server, &wanted))).await;
    let made = generations(&servers) - before;
    assert!((100..=100 + MAX_DUPLICATES).contains(&made), "{made} generated for 100 keys");
    println!("100 keys missed on three servers at once: {made} generated");

    let wanted = keys(100..200);
    let batches = servers.iter().map(|server| server.chain.get_many(&wanted, Options::default()));
    for served in try_join_all(batches).await.expect("no call fails") {
        assert!(served.iter().zip(&wanted).all(|(served, key)| served.value == value_of(key)));
        assert!(served.iter().all(|served| ["redis", "generated"].contains(&served.by)));
    }
    let made = generations(&servers) - before - made;
    assert!((100..=100 + MAX_DUPLICATES).contains(&made), "{made} generated for 100 keys");
    println!("three batches of the same 100 keys: {made} generated");

    let found: f64 = servers.iter().map(|server| leases(server, "found")).sum();
    assert!(found >= 2.0 * (200 - 2 * MAX_DUPLICATES) as f64, "{found} found");
    let corrupt = [("tier", "redis"), ("outcome", "corrupt")];
    assert!(servers.iter().all(|server| server.metric("floors_tier_requests_total", &corrupt) == 0.0));
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_server_dies_one_of_the_others_generates_its_values() {
    let Some(redis) = RedisServer::start() else { return };
    // The dying server has its own runtime, which is shut down without releasing anything.
    let own = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let url = redis.url();
    let dying = own.block_on_other_thread(async move {
        let dying = server_of(url, Lease::On);
        dying.source.set(Behavior::Wait);
        dying
    });
    let [others @ .., _] = &three(&redis, Lease::Auto).await[..] else { unreachable!("there are three") };
    let before = generations(others);
    let wanted = keys(0..100);
    let chain = dying.chain.clone();
    own.spawn({
        let wanted = wanted.clone();
        async move { join_all(wanted.iter().map(|key| chain.get(*key, Options::default()))).await }
    });
    wait_until("all generations have started", || dying.source.generations() == 100).await;
    let calls = others.iter().map(|server| ask_each(server, &wanted));
    let kill = async {
        // Each of the others has polled at least once and waits.
        wait_until("the others wait", || sets(&redis) >= 300).await;
        own.shutdown_background();
    };
    tokio::join!(join_all(calls), kill);
    let made = generations(others) - before;
    assert!((100..=100 + MAX_DUPLICATES).contains(&made), "{made} generated for 100 keys");
    println!("100 keys whose server died: {made} generated by the two others");
}

/// Runs a future on another runtime from a thread outside any runtime.
trait BlockOnOtherThread {
    fn block_on_other_thread<T: Send>(&self, work: impl Future<Output = T> + Send) -> T;
}

impl BlockOnOtherThread for tokio::runtime::Runtime {
    fn block_on_other_thread<T: Send>(&self, work: impl Future<Output = T> + Send) -> T {
        std::thread::scope(|scope| scope.spawn(|| self.block_on(work)).join().unwrap())
    }
}

/// The number of `SET`s that the server has executed.
fn sets(redis: &RedisServer) -> u64 {
    let info = String::from_utf8(redis.command(&[b"INFO", b"commandstats"])).unwrap();
    let calls = info.lines().find_map(|line| line.strip_prefix("cmdstat_set:calls="));
    calls.and_then(|calls| calls.split(',').next()).map_or(0, |calls| calls.parse().unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_wait_for_a_slow_holder_is_bounded() {
    let Some(redis) = RedisServer::start() else { return };
    // It knows the cost of a value, so its lease is long enough to be renewed on a busy machine.
    let slow = warmed_up(redis.url(), 1_000_001, Lease::On).await;
    slow.source.set(Behavior::Wait);
    let before = slow.source.generations();
    let other = warmed_up(redis.url(), 1_000_000, Lease::Auto).await;
    let chain = slow.chain.clone();
    let call = tokio::spawn(async move { chain.get(key(1, 1), Options::default()).await });
    wait_until("it holds the lease", || slow.source.generations() > before).await;
    assert_eq!(other.chain.contains(&key(1, 1)).await, [("lru", false), ("redis", false)], "a lease is not a value");
    ask_each(&other, &keys(1..2)).await;
    assert_eq!(leases(&other, "overdue"), 1.0, "the lease was renewed, and the wait was bounded");
    slow.source.open_gate();
    assert_eq!(call.await.unwrap().unwrap().value, value_of(&key(1, 1)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_generation_releases_the_lease() {
    let Some(redis) = RedisServer::start() else { return };
    let failing = server_of(redis.url(), Lease::On);
    failing.source.set(Behavior::Fail);
    failing.chain.get(key(1, 1), Options::default()).await.expect_err("the source is busy");
    wait_until("the lease is gone", || redis.command(&[b"EXISTS", &stored(1)]) == b":0\r\n").await;
    assert_eq!(leases(&failing, "taken"), 1.0);
}

/// A server that generates the value of key 1 with `behavior` when its lease is replaced by `another`.
async fn with_lost_lease(
    redis: &RedisServer,
    behavior: Behavior,
    another: &[u8],
) -> (Fixture, JoinHandle<Result<Served, SourceError>>) {
    let server = server_of(redis.url(), Lease::On);
    server.source.set(behavior);
    let chain = server.chain.clone();
    let call = tokio::spawn(async move { chain.get(key(1, 1), Options::default()).await });
    wait_until("it holds the lease", || server.source.generations() == 1).await;
    redis.command(&[b"SET", &stored(1), another, b"PX", b"60000"]);
    (server, call)
}

/// The record of a lease of another server.
const OTHER_LEASE: &[u8; 20] = b"FLL\x01 another's token";

#[tokio::test(flavor = "multi_thread")]
async fn a_late_server_neither_releases_nor_renews_the_lease_of_another() {
    let Some(redis) = RedisServer::start() else { return };
    let (late, call) = with_lost_lease(&redis, Behavior::WaitAndFail, OTHER_LEASE).await;
    late.source.open_gate();
    call.await.unwrap().expect_err("the source failed");
    // The release was sent before this query, on the same connection.
    ask_each(&late, &keys(2..3)).await;
    assert!(late.chain.close(LONG_TIMEOUT).await);
    let left = redis.command(&[b"GET", &stored(1)]);
    assert!(left.ends_with(&[&OTHER_LEASE[..], b"\r\n"].concat()), "another server's lease was released: {left:?}");
    let ttl = String::from_utf8(redis.command(&[b"PTTL", &stored(1)])).unwrap();
    let ttl: u64 = ttl.trim_start_matches(':').trim().parse().unwrap();
    assert!(ttl > 10_000, "another server's lease was renewed to {ttl} ms");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_late_server_writes_the_same_value() {
    let Some(redis) = RedisServer::start() else { return };
    let (late, call) = with_lost_lease(&redis, Behavior::Wait, OTHER_LEASE).await;
    late.source.open_gate();
    call.await.unwrap().unwrap();
    assert!(late.chain.close(LONG_TIMEOUT).await);
    let reader = server_of(redis.url(), Lease::On);
    let served = reader.chain.get(key(1, 1), Options::default()).await.unwrap();
    assert_eq!((served.by, served.value), ("redis", value_of(&key(1, 1))));
    assert_eq!(redis.command(&[b"PTTL", &stored(1)]), b":-1\r\n", "a value has no expiry");
}

/// The value waits in the write queue for some seconds, behind others on a slow connection.
#[tokio::test(flavor = "multi_thread")]
async fn a_lease_lasts_until_the_value_is_written() {
    let Some(redis) = RedisServer::start() else { return };
    let proxy = SlowProxy::to(redis.port()).await;
    let server = warmed_up(proxy.url(), 1_000_000, Lease::On).await;
    server.source.set_cost(Duration::from_secs(1));
    // The duration of a lease depends on the cost of the value before: this value sets it for the next.
    ask_each(&server, &keys(2..3)).await;
    proxy.set_mebibyte_time(Duration::from_secs(1));
    for number in 100..105 {
        server.chain.put(key(number, 1), &Bytes::from(vec![7; 1 << 20]));
    }
    ask_each(&server, &keys(1..2)).await;
    let (began, mut polls) = (Instant::now(), 0);
    loop {
        let stored_bytes = redis.command(&[b"GETRANGE", &stored(1), b"0", b"2"]);
        if stored_bytes == b"$3\r\nFLC\r\n" {
            break;
        }
        assert_eq!(stored_bytes, b"$3\r\nFLL\r\n", "neither lease nor value after {:?}", began.elapsed());
        assert!(began.elapsed() < LONG_TIMEOUT, "the value is not written");
        polls += 1;
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert!(polls > 10, "the value waited in the queue");
}

/// Leases taken as samples among 100 values that are not worth one: every 64th per thread.
const SAMPLES: f64 = 6.0;

#[tokio::test(flavor = "multi_thread")]
async fn cheap_values_take_few_leases_and_leases_off_takes_none() {
    let Some(redis) = RedisServer::start() else { return };
    let cheap = server_of(redis.url(), Lease::Auto);
    cheap.source.set_cost(Duration::from_micros(10));
    let off = warmed_up(redis.url(), 1_000_000, Lease::Off).await;
    let before = sets(&redis);
    // Sequential: concurrent calls raise the price of CPU time, and with it the value of a lease.
    for key in keys(0..100) {
        ask_each(&cheap, &[key]).await;
    }
    ask_each(&off, &keys(100..200)).await;
    for (server, most) in [(&cheap, SAMPLES), (&off, 0.0)] {
        assert!(server.chain.close(LONG_TIMEOUT).await);
        for outcome in ["taken", "found", "overdue", "failed"] {
            assert!(leases(server, outcome) <= most, "{outcome}");
        }
    }
    let leased = leases(&cheap, "taken") as u64;
    assert_eq!(sets(&redis) - before, 200 + leased, "each value is written once");
}

#[tokio::test(flavor = "multi_thread")]
async fn leases_work_in_a_cluster() {
    let Some(cluster) = RedisCluster::start().await else { return };
    let servers = [
        warmed_up(cluster.url(), 1_000_000, Lease::Auto).await,
        warmed_up(cluster.url(), 1_000_001, Lease::Auto).await,
    ];
    let before = generations(&servers);
    let wanted = keys(0..50);
    join_all(servers.iter().map(|server| ask_each(server, &wanted))).await;
    let made = generations(&servers) - before;
    assert!((50..=50 + MAX_DUPLICATES).contains(&made), "{made} generated for 50 keys");
    servers[0].source.set(Behavior::Fail);
    servers[0].chain.get(key(99, 1), Options::default()).await.expect_err("the source is busy");
    ask_each(&servers[1], &keys(99..100)).await;
    assert_eq!(leases(&servers[1], "overdue"), 0.0, "a lease is released on any node");
}

/// A value that is ready during a renewal of its lease: the renewal continues, and so does the connection, which all
/// readers share.
#[tokio::test(flavor = "multi_thread")]
async fn a_renewal_that_outlives_its_value_keeps_the_connection() {
    let Some(redis) = RedisServer::start() else { return };
    let proxy = SlowProxy::to(redis.port()).await;
    let server = Fixture::new(&[TierKind::Redis], |config| {
        config.redis.url = proxy.url();
        config.redis.timeout = Duration::from_secs(2);
        config.redis.lease = Lease::On;
        config.bypass = Bypass::Off;
    });
    server.source.set_cost(Duration::from_millis(11));
    server.chain.get(key(1000, 1), Options::default()).await.unwrap();
    // Also establishes the connection for writes.
    assert!(server.chain.close(LONG_TIMEOUT).await);
    proxy.set_delay(Duration::from_millis(6));
    let connections = || {
        let text = String::from_utf8(redis.command(&[b"INFO", b"stats"])).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix("total_connections_received:")).unwrap();
        line.trim().parse::<u64>().unwrap()
    };
    let before = connections();
    for key in keys(0..40) {
        server.chain.get(key, Options::default()).await.unwrap();
    }
    // One connection is the test's own.
    assert_eq!(connections(), before + 1, "no call reconnected");
}
