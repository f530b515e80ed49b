//! Several servers with one Redis: what they miss at once is made about once, whoever dies over it.
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

/// What a value costs: long beside a question, even on a busy machine, and so is a lease, which lasts as long.
const COST: Duration = Duration::from_millis(200);

/// Of 100 keys, how many may be made twice because a busy machine was late in renewing a lease or in asking.
const MAX_DUPLICATES: u64 = 10;

/// A server of its own in all but the process: memory, connection, flights and source.
fn server_of(url: String, lease: Lease) -> Fixture {
    let server = Fixture::new(&[TierKind::Lru, TierKind::Redis], |config| {
        config.redis.url = url;
        config.redis.timeout = Duration::from_secs(2);
        config.redis.lease = lease;
    });
    server.source.set_cost(COST);
    server
}

/// The same, after it has made one value and so knows what that costs, and has written it, so that what is sent from here on is
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

/// Asks `server` for each of `keys` by a call of its own, all at once.
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
async fn what_three_servers_miss_at_once_is_made_about_once() {
    let Some(redis) = RedisServer::start() else { return };
    let servers = three(&redis, Lease::Auto).await;
    let before = generations(&servers);

    let wanted = keys(0..100);
    join_all(servers.iter().map(|server| ask_each(server, &wanted))).await;
    let made = generations(&servers) - before;
    assert!((100..=100 + MAX_DUPLICATES).contains(&made), "{made} made for 100 keys");
    println!("100 keys missed on three servers at once: {made} made");

    let wanted = keys(100..200);
    let batches = servers.iter().map(|server| server.chain.get_many(&wanted, Options::default()));
    for served in try_join_all(batches).await.expect("no call fails") {
        assert!(served.iter().zip(&wanted).all(|(served, key)| served.value == value_of(key)));
        assert!(served.iter().all(|served| ["redis", "generated"].contains(&served.by)));
    }
    let made = generations(&servers) - before - made;
    assert!((100..=100 + MAX_DUPLICATES).contains(&made), "{made} made for 100 keys");
    println!("three batches of the same 100: {made} made");

    let found: f64 = servers.iter().map(|server| leases(server, "found")).sum();
    assert!(found >= 2.0 * (200 - 2 * MAX_DUPLICATES) as f64, "{found} found");
    let corrupt = [("tier", "redis"), ("outcome", "corrupt")];
    assert!(servers.iter().all(|server| server.metric("floors_tier_requests_total", &corrupt) == 0.0));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_server_was_making_when_it_died_is_made_by_one_of_the_others() {
    let Some(redis) = RedisServer::start() else { return };
    // The one that dies has a runtime of its own, which dies with it: nothing is given up, everything is cut off.
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
    wait_until("it has begun them all", || dying.source.generations() == 100).await;
    let calls = others.iter().map(|server| ask_each(server, &wanted));
    let kill = async {
        // Each of the others has asked at least once and waits.
        wait_until("the others wait", || sets(&redis) >= 300).await;
        own.shutdown_background();
    };
    tokio::join!(join_all(calls), kill);
    let made = generations(others) - before;
    assert!((100..=100 + MAX_DUPLICATES).contains(&made), "{made} made for 100 keys");
    println!("100 keys whose maker died: {made} made by the two others");
}

/// Starts a task on a runtime that is not the test's own and waits for it on a thread that is no runtime's.
trait BlockOnOtherThread {
    fn block_on_other_thread<T: Send>(&self, work: impl Future<Output = T> + Send) -> T;
}

impl BlockOnOtherThread for tokio::runtime::Runtime {
    fn block_on_other_thread<T: Send>(&self, work: impl Future<Output = T> + Send) -> T {
        std::thread::scope(|scope| scope.spawn(|| self.block_on(work)).join().unwrap())
    }
}

/// How many `SET`s the server has carried out.
fn sets(redis: &RedisServer) -> u64 {
    let info = String::from_utf8(redis.command(&[b"INFO", b"commandstats"])).unwrap();
    let calls = info.lines().find_map(|line| line.strip_prefix("cmdstat_set:calls="));
    calls.and_then(|calls| calls.split(',').next()).map_or(0, |calls| calls.parse().unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_holder_that_does_not_come_to_an_end_is_not_waited_for() {
    let Some(redis) = RedisServer::start() else { return };
    // It knows what a value costs, so its lease is long enough for a busy machine to renew.
    let slow = warmed_up(redis.url(), 1_000_001, Lease::On).await;
    slow.source.set(Behavior::Wait);
    let before = slow.source.generations();
    let other = warmed_up(redis.url(), 1_000_000, Lease::Auto).await;
    let chain = slow.chain.clone();
    let call = tokio::spawn(async move { chain.get(key(1, 1), Options::default()).await });
    wait_until("it holds the lease", || slow.source.generations() > before).await;
    assert_eq!(other.chain.contains(&key(1, 1)).await, [("lru", false), ("redis", false)], "a lease is no value");
    ask_each(&other, &keys(1..2)).await;
    assert_eq!(leases(&other, "overdue"), 1.0, "the lease was renewed all the while, and waited for only so long");
    slow.source.open_gate();
    assert_eq!(call.await.unwrap().unwrap().value, value_of(&key(1, 1)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_cannot_make_a_value_gives_its_lease_up() {
    let Some(redis) = RedisServer::start() else { return };
    let failing = server_of(redis.url(), Lease::On);
    failing.source.set(Behavior::Fail);
    failing.chain.get(key(1, 1), Options::default()).await.expect_err("the source is busy");
    wait_until("the lease is gone", || redis.command(&[b"EXISTS", &stored(1)]) == b":0\r\n").await;
    assert_eq!(leases(&failing, "taken"), 1.0);
}

/// A server that holds the lease of key 1 and is at work on its value in `behavior`, when the lease ends and goes to `another`.
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

/// A lease that no server here took.
const OTHER_LEASE: &[u8; 20] = b"FLL\x01 another's token";

#[tokio::test(flavor = "multi_thread")]
async fn a_late_server_neither_ends_nor_renews_anothers_lease() {
    let Some(redis) = RedisServer::start() else { return };
    let (late, call) = with_lost_lease(&redis, Behavior::WaitAndFail, OTHER_LEASE).await;
    late.source.open_gate();
    call.await.unwrap().expect_err("the source failed");
    // The release was sent before the question for this one, on the same connection.
    ask_each(&late, &keys(2..3)).await;
    assert!(late.chain.close(LONG_TIMEOUT).await);
    let left = redis.command(&[b"GET", &stored(1)]);
    assert!(left.ends_with(&[&OTHER_LEASE[..], b"\r\n"].concat()), "another's lease was ended: {left:?}");
    let ttl = String::from_utf8(redis.command(&[b"PTTL", &stored(1)])).unwrap();
    let ttl: u64 = ttl.trim_start_matches(':').trim().parse().unwrap();
    assert!(ttl > 10_000, "another's lease was renewed to {ttl} ms");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_late_server_writes_what_everybody_would() {
    let Some(redis) = RedisServer::start() else { return };
    let (late, call) = with_lost_lease(&redis, Behavior::Wait, OTHER_LEASE).await;
    late.source.open_gate();
    call.await.unwrap().unwrap();
    assert!(late.chain.close(LONG_TIMEOUT).await);
    let reader = server_of(redis.url(), Lease::On);
    let served = reader.chain.get(key(1, 1), Options::default()).await.unwrap();
    assert_eq!((served.by, served.value), ("redis", value_of(&key(1, 1))));
    assert_eq!(redis.command(&[b"PTTL", &stored(1)]), b":-1\r\n", "a value does not end with the lease it replaced");
}

/// What is made lies in the queue of writes for some seconds, behind others on a narrow road.
#[tokio::test(flavor = "multi_thread")]
async fn a_lease_lasts_until_the_value_is_written() {
    let Some(redis) = RedisServer::start() else { return };
    let proxy = SlowProxy::to(redis.port()).await;
    let server = warmed_up(proxy.url(), 1_000_000, Lease::On).await;
    server.source.set_cost(Duration::from_secs(1));
    // The lease of this one goes by what the last cost; that of the next by what this does.
    ask_each(&server, &keys(2..3)).await;
    proxy.set_mebibyte_time(Duration::from_secs(1));
    for number in 100..105 {
        server.chain.put(key(number, 1), &Bytes::from(vec![7; 1 << 20]));
    }
    ask_each(&server, &keys(1..2)).await;
    let (began, mut looks) = (Instant::now(), 0);
    loop {
        let stored_bytes = redis.command(&[b"GETRANGE", &stored(1), b"0", b"2"]);
        if stored_bytes == b"$3\r\nFLC\r\n" {
            break;
        }
        assert_eq!(stored_bytes, b"$3\r\nFLL\r\n", "neither lease nor value after {:?}", began.elapsed());
        assert!(began.elapsed() < LONG_TIMEOUT, "the value is not written");
        looks += 1;
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert!(looks > 10, "the value was a while in the queue");
}

/// Of 100 values that are not worth a lease, how many take one to learn whether that has changed: every 64th of a thread's.
const SAMPLES: f64 = 6.0;

#[tokio::test(flavor = "multi_thread")]
async fn hardly_a_lease_is_taken_where_generating_is_cheap_and_none_where_it_is_off() {
    let Some(redis) = RedisServer::start() else { return };
    let cheap = server_of(redis.url(), Lease::Auto);
    cheap.source.set_cost(Duration::from_micros(10));
    let off = warmed_up(redis.url(), 1_000_000, Lease::Off).await;
    let before = sets(&redis);
    // One after the other: many calls at once raise the price of CPU time, which a lease may save.
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
    assert_eq!(sets(&redis) - before, 200 + leased, "each value is written, and nothing else");
}

#[tokio::test(flavor = "multi_thread")]
async fn leases_hold_in_a_cluster() {
    let Some(cluster) = RedisCluster::start().await else { return };
    let servers = [
        warmed_up(cluster.url(), 1_000_000, Lease::Auto).await,
        warmed_up(cluster.url(), 1_000_001, Lease::Auto).await,
    ];
    let before = generations(&servers);
    let wanted = keys(0..50);
    join_all(servers.iter().map(|server| ask_each(server, &wanted))).await;
    let made = generations(&servers) - before;
    assert!((50..=50 + MAX_DUPLICATES).contains(&made), "{made} made for 50 keys");
    servers[0].source.set(Behavior::Fail);
    servers[0].chain.get(key(99, 1), Options::default()).await.expect_err("the source is busy");
    ask_each(&servers[1], &keys(99..100)).await;
    assert_eq!(leases(&servers[1], "overdue"), 0.0, "a lease is given up on whichever node it lies");
}

/// A value that is made while the renewal of its lease is under way: the renewal goes on, and so does the connection, which all
/// readers share.
#[tokio::test(flavor = "multi_thread")]
async fn a_renewal_that_nobody_waits_for_any_more_hangs_up_on_nobody() {
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
    // The connection for writes is there too, then.
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
    // One is the test's own.
    assert_eq!(connections(), before + 1, "nobody dialled anew");
}
