//! Tests of purges: a purged value is gone from every tier and is not restored by a queued write, a concurrent call or
//! a tier above.

mod fixture;

use std::{
    sync::{
        Arc,
        atomic::{
            AtomicBool, AtomicU64,
            Ordering::{Relaxed, SeqCst},
        },
    },
    time::{Duration, Instant},
};

use bytes::Bytes;
use fixture::{
    Fixture, LONG_TIMEOUT, NO_CACHE, build_chain, entries, envelope,
    fake_source::{Behavior, value_of},
    key, keys,
    redis_server::RedisServer,
    wait_until,
};
use floor_cache::{
    Admit, Answer, Chain, ChainConfig, Key, KeyPattern, LmdbConfig, LruConfig, Options, RedisConfig, SledConfig, Tier,
    TierAdmin, TierKind, TierStats, Tuning,
    tiers::{LmdbTier, SledTier},
};
use futures_util::FutureExt;
use tempfile::TempDir;
use tokio::sync::Semaphore;

/// The tiers that still have each of `keys`.
async fn held(chain: &Chain, keys: &[Key]) -> Vec<(Key, &'static str)> {
    let mut held = Vec::new();
    for key in keys {
        let places = chain.contains(key).await;
        held.extend(places.into_iter().filter(|(_, has)| matches!(has, Ok(true))).map(|(tier, _)| (*key, tier)));
    }
    held
}

#[tokio::test(flavor = "multi_thread")]
async fn a_purge_removes_the_keys_from_every_tier_and_no_others() {
    let server = RedisServer::start();
    let mut tiers = vec![TierKind::Lru, TierKind::Lmdb, TierKind::Sled];
    tiers.extend(server.as_ref().map(|_| TierKind::Redis));
    let fixture = Fixture::new(&tiers, |config| {
        if let Some(server) = &server {
            config.redis = server.config();
        }
    });
    fixture.chain.get_many(&keys(0..300), Options::default()).await.expect("it serves");
    assert!(fixture.chain.close(LONG_TIMEOUT).await);
    assert_eq!(held(&fixture.chain, &keys(0..300)).await.len(), 300 * tiers.len());
    let removals = fixture.chain.purge(&keys(0..100)).await;
    assert_eq!(removals.len(), tiers.len() - 1);
    assert!(removals.iter().all(|removal| removal.result.is_ok()), "{removals:?}");
    assert_eq!(held(&fixture.chain, &keys(0..100)).await, []);
    assert_eq!(held(&fixture.chain, &keys(100..300)).await.len(), 200 * tiers.len());
    let generations = fixture.source.generations();
    fixture.chain.get_many(&keys(0..300), Options::default()).await.expect("it serves");
    assert_eq!(fixture.source.generations() - generations, 100);
}

/// The keys of a prefix are gone from every tier, queued writes included; others stay.
#[tokio::test(flavor = "multi_thread")]
async fn a_purge_by_pattern_removes_its_keys_from_every_tier() {
    let server = RedisServer::start();
    let mut tiers = vec![TierKind::Lru, TierKind::Lmdb, TierKind::Sled];
    tiers.extend(server.as_ref().map(|_| TierKind::Redis));
    let fixture = Fixture::new(&tiers, |config| {
        if let Some(server) = &server {
            config.redis = server.config();
        }
    });
    let chain = &fixture.chain;
    chain.get_many(&keys(1000..1100), Options::default()).await.expect("it serves");
    assert!(chain.close(LONG_TIMEOUT).await);
    chain.get_many(&keys(0..300), Options::default()).await.expect("it serves");
    // A whole key is a prefix too.
    let one = key(7, 1);
    let removals =
        chain.purge_matching(KeyPattern::prefix(one.as_bytes()).expect("a key is no longer than a key")).await;
    assert_eq!(removals.iter().map(|removal| removal.removed).collect::<Vec<_>>(), vec![1; tiers.len()]);
    assert!(removals.iter().all(|removal| removal.result.is_ok()), "{removals:?}");
    assert_eq!(held(chain, &[one]).await, [], "it was queued for the lower tiers");
    assert_eq!(held(chain, &keys(8..300)).await.len(), 292 * tiers.len());
    let removals = chain.purge_matching(KeyPattern::ALL).await;
    assert_eq!(removals.iter().map(|removal| removal.removed).collect::<Vec<_>>(), vec![399; tiers.len()]);
    assert_eq!(held(chain, &keys(0..1100)).await, []);
}

/// A tier that fails is named, with the others done.
#[tokio::test(flavor = "multi_thread")]
async fn a_tier_that_fails_to_remove_by_prefix_is_reported() {
    let Some(server) = RedisServer::start() else { return };
    let fixture = Fixture::new(&[TierKind::Lru, TierKind::Redis, TierKind::Lmdb], |config| {
        config.redis = RedisConfig { timeout: Duration::from_millis(50), ..server.config() };
    });
    fixture.chain.get_many(&keys(0..10), Options::default()).await.expect("it serves");
    assert!(fixture.chain.close(LONG_TIMEOUT).await);
    server.pause();
    let removals = fixture.chain.purge_matching(KeyPattern::ALL).await;
    server.resume();
    let results: Vec<_> = removals.iter().map(|r| (r.tier, r.removed, r.result.is_ok())).collect();
    assert_eq!(results, [("lru", 10, true), ("redis", 0, false), ("lmdb", 10, true)], "{removals:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn queued_writes_do_not_restore_purged_values() {
    let fixture = Fixture::new(&[TierKind::Lru, TierKind::Lmdb, TierKind::Sled], |_| {});
    for round in 0..5 {
        let batch = keys(round * 1000..(round + 1) * 1000);
        fixture.chain.get_many(&batch, NO_CACHE).await.expect("it serves");
        fixture.chain.purge(&batch).await;
        assert!(fixture.chain.close(LONG_TIMEOUT).await);
        assert_eq!(held(&fixture.chain, &batch).await, []);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tier_that_fails_to_remove_is_reported() {
    let Some(server) = RedisServer::start() else { return };
    let fixture = Fixture::new(&[TierKind::Lru, TierKind::Redis, TierKind::Lmdb], |config| {
        config.redis = server.config();
    });
    fixture.chain.get_many(&keys(0..10), Options::default()).await.expect("it serves");
    assert!(fixture.chain.close(LONG_TIMEOUT).await);
    server.pause();
    let removals = fixture.chain.purge(&keys(0..10)).await;
    server.resume();
    let failed: Vec<_> = removals.iter().filter(|removal| removal.result.is_err()).map(|r| r.tier).collect();
    assert_eq!(failed, ["redis"], "{removals:?}");
    assert!(matches!(fixture.chain.contains(&key(1, 1)).await[2], ("lmdb", Ok(false))));
}

/// A real LMDB whose reads or writes wait at a gate. A read waits with the value that it has found.
#[derive(Debug)]
struct BlockedTier {
    store: LmdbTier,
    blocked: Blocked,
    gate: Arc<Semaphore>,
    waiting: Arc<AtomicU64>,
}

#[derive(Debug, PartialEq, Eq)]
enum Blocked {
    Reads,
    Writes,
}

impl BlockedTier {
    /// A tier that has the values of `held`.
    fn new(home: &TempDir, blocked: Blocked, held: &[Key]) -> Self {
        let config = LmdbConfig { path: home.path().join("lmdb"), map_size: 64 << 20 };
        let store = LmdbTier::open(&config, envelope()).expect("it opens");
        let Answer::Now(Ok(())) = store.put_many(&entries(held)) else { panic!("it takes them") };
        Self { store, blocked, gate: Arc::new(Semaphore::new(0)), waiting: Arc::default() }
    }

    async fn wait(&self) {
        self.waiting.fetch_add(1, SeqCst);
        let _permit = self.gate.acquire().await.expect("the gate is never closed");
    }

    fn read<'a, T: Send + Unpin + 'a>(&'a self, answer: Answer<'a, T>) -> Answer<'a, T> {
        if self.blocked == Blocked::Writes {
            return answer;
        }
        Answer::later(async move {
            let found = answer.await;
            self.wait().await;
            found
        })
    }

    fn write<'a>(&'a self, work: impl FnOnce() -> Answer<'a, ()> + Send + 'a) -> Answer<'a, ()> {
        if self.blocked == Blocked::Reads {
            return work();
        }
        Answer::later(async move {
            self.wait().await;
            work().await
        })
    }
}

impl Tier for BlockedTier {
    fn name(&self) -> &'static str {
        self.store.name()
    }

    fn waits(&self) -> bool {
        self.blocked == Blocked::Reads
    }

    fn get<'a>(&'a self, key: &'a Key) -> Answer<'a, Option<Bytes>> {
        self.read(self.store.get(key))
    }

    fn get_many<'a>(&'a self, keys: &'a [Key]) -> Answer<'a, Vec<Option<Bytes>>> {
        self.read(self.store.get_many(keys))
    }

    fn put_many<'a>(&'a self, entries: &'a [(Key, Bytes)]) -> Answer<'a, ()> {
        self.write(|| self.store.put_many(entries))
    }

    fn remove_many<'a>(&'a self, keys: &'a [Key]) -> Answer<'a, ()> {
        self.write(|| self.store.remove_many(keys))
    }
}

impl TierAdmin for BlockedTier {
    fn contains<'a>(&'a self, key: &'a Key) -> Answer<'a, bool> {
        self.store.contains(key)
    }

    fn stats(&self) -> TierStats {
        self.store.stats()
    }
}

/// A chain of memory and a tier with blocked writes that has the values of `keys`.
fn over_blocked_writes(home: &TempDir, held: &[Key]) -> (Chain, Arc<Semaphore>, Arc<AtomicU64>) {
    let blocked = BlockedTier::new(home, Blocked::Writes, held);
    let (gate, waiting) = (blocked.gate.clone(), blocked.waiting.clone());
    let tuning = Tuning::default();
    let chain = build_chain(&ChainConfig::default(), &tuning, |chain| {
        chain.memory("lru", &LruConfig::default())?.tier(blocked, Admit::All)
    });
    (chain, gate, waiting)
}

/// The clock is paused until the purge returns: it advances when every task waits.
#[tokio::test(start_paused = true)]
async fn a_blocked_tier_with_a_full_queue_removes_in_order() {
    let home = tempfile::tempdir().expect("a directory");
    let (chain, gate, waiting) = over_blocked_writes(&home, &keys(0..20));
    for key in &keys(20..10_000) {
        chain.put(*key, &value_of(key));
    }
    wait_until("a write waits at the gate", || waiting.load(SeqCst) == 1).await;
    let writes = chain.holdings()[1].writes.expect("it is written to");
    assert!(writes.dropped > 0, "the queue is full: {writes:?}");

    let (held_before, queued) = (key(0, 1), key(20, 1));
    let removals = chain.purge(&keys(0..220)).await;
    tokio::time::resume();
    assert!(removals.iter().all(|removal| removal.result.is_err()), "{removals:?}");
    let served = chain.get(held_before, Options::default()).await.expect("it is found");
    assert_eq!(served.by, "lmdb", "writes are blocked, reads are not");
    assert!(!chain.contains_now(&held_before), "memory is not filled during the purge");

    gate.add_permits(Semaphore::MAX_PERMITS / 2);
    assert!(chain.close(LONG_TIMEOUT).await);
    assert_eq!(held(&chain, &keys(0..220)).await, [], "queued values are removed too");
    assert_eq!(chain.get(queued, Options::default()).await.expect("the value is generated").by, "generated");
}

/// A purge whose caller is dropped still runs, and is active until its end.
#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_purge_still_runs() {
    let home = tempfile::tempdir().expect("a directory");
    let (chain, gate, waiting) = over_blocked_writes(&home, &keys(0..2));
    assert!(chain.purge(&keys(0..1)).now_or_never().is_none());
    wait_until("the removal waits at the gate", || waiting.load(SeqCst) == 1).await;
    chain.get(key(0, 1), Options::default()).await.expect("it is found");
    assert!(!chain.contains_now(&key(0, 1)), "the purge is active");
    gate.add_permits(Semaphore::MAX_PERMITS / 2);
    assert!(chain.close(LONG_TIMEOUT).await);
    assert_eq!(held(&chain, &keys(0..1)).await, []);
    let began = Instant::now();
    while !chain.contains_now(&key(1, 1)) {
        assert!(began.elapsed() < LONG_TIMEOUT, "the purge does not end: memory is not filled");
        assert_eq!(chain.get(key(1, 1), Options::default()).await.expect("it is found").by, "lmdb");
    }
}

/// A background call gets a value that another call generated and stored, and the value is removed before the
/// background call inserts it again.
#[tokio::test(flavor = "multi_thread")]
async fn a_background_call_does_not_restore_a_value_in_memory() {
    let fixture = Fixture::new(&[TierKind::Lru], |_| {});
    fixture.source.set(Behavior::Wait);
    let background = Options { priority: floor_cache::Priority::Background, ..Options::default() };
    let get = || {
        let chain = fixture.chain.clone();
        async move { chain.get(key(1, 1), background).await }
    };
    let (mut other, mut ahead) = (Box::pin(get()), Box::pin(get()));
    assert!(other.as_mut().now_or_never().is_none() && ahead.as_mut().now_or_never().is_none());
    let other = tokio::spawn(other);
    fixture.source.open_gate();
    wait_until("the value is generated and stored", || fixture.chain.contains_now(&key(1, 1))).await;
    fixture.chain.remove_many(&keys(1..2)).await;
    assert_eq!(ahead.await.expect("the value was generated").value, value_of(&key(1, 1)));
    other.await.expect("it ends").expect("it made the value");
    assert!(!fixture.chain.contains_now(&key(1, 1)), "the removed value was restored");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_concurrent_call_does_not_restore_a_purged_value() {
    let home = tempfile::tempdir().expect("a directory");
    let blocked = BlockedTier::new(&home, Blocked::Reads, &keys(0..20));
    let (gate, waiting) = (blocked.gate.clone(), blocked.waiting.clone());
    let sled = SledTier::open(&SledConfig { path: home.path().join("sled"), ..SledConfig::default() }, envelope());
    let tuning = Tuning::default();
    let chain = build_chain(&ChainConfig::default(), &tuning, |chain| {
        let chain = chain.memory("lru", &LruConfig::default())?;
        chain.tier(sled.expect("it opens"), Admit::All)?.tier(blocked, Admit::All)
    });

    // One call for a single key and one for many: both have their values and wait at the gate.
    let one = tokio::spawn({
        let chain = chain.clone();
        async move { chain.get(key(0, 1), Options::default()).await }
    });
    let many = tokio::spawn({
        let chain = chain.clone();
        async move { chain.get_many(&keys(1..20), Options::default()).await }
    });
    wait_until("both have found their values", || waiting.load(SeqCst) == 2).await;
    let removals = chain.purge(&keys(0..20)).await;
    assert!(removals.iter().all(|removal| removal.result.is_ok()), "{removals:?}");
    gate.add_permits(2);
    assert_eq!(one.await.expect("it ends").expect("it was found").value, value_of(&key(0, 1)));
    assert!(many.await.expect("it ends").expect("they were found").iter().all(|served| served.by == "lmdb"));
    assert!(chain.close(LONG_TIMEOUT).await);
    assert_eq!(held(&chain, &keys(0..20)).await, [], "values found before the purge are not stored after it");

    gate.add_permits(Semaphore::MAX_PERMITS / 2);
    assert_eq!(chain.get(key(0, 1), Options::default()).await.expect("the value is generated").by, "generated");
    assert!(chain.close(LONG_TIMEOUT).await);
    assert_eq!(held(&chain, &keys(0..1)).await.len(), 3, "values generated after it are stored");
}

/// Readers call continuously while keys are purged, and generation fails: after a purge returns, no call may get a
/// value.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_readers_restore_nothing() {
    let fixture = Fixture::new(&[TierKind::Lru, TierKind::Lmdb, TierKind::Sled], |_| {});
    let (chain, stop) = (fixture.chain.clone(), Arc::new(AtomicBool::new(false)));
    for round in 0..50_u64 {
        fixture.source.set(Behavior::Generate);
        let batch = keys(round * 20..(round + 1) * 20);
        chain.get_many(&batch, Options::default()).await.expect("it serves");
        assert!(chain.close(LONG_TIMEOUT).await);
        // Values that only the last tier has fill the tiers above at every hit.
        fixture.source.set(Behavior::Fail);
        stop.store(false, Relaxed);
        let readers: Vec<_> = (0..3)
            .map(|_| {
                let (chain, stop, batch) = (chain.clone(), stop.clone(), batch.clone());
                tokio::spawn(async move {
                    while !stop.load(Relaxed) {
                        for key in &batch {
                            drop(chain.get(*key, Options::default()).await);
                        }
                        tokio::task::yield_now().await;
                    }
                })
            })
            .collect();
        chain.purge(&batch).await;
        for key in &batch {
            assert!(chain.get(*key, Options::default()).await.is_err(), "round {round}: {key} was restored");
        }
        stop.store(true, Relaxed);
        for reader in readers {
            reader.await.expect("a reader ends");
        }
        assert_eq!(held(&chain, &batch).await, [], "round {round}");
    }
}
