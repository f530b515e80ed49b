//! Tests of the public chain: order, promotion, single flight, batches, write-behind.

mod fixture;

use std::{
    collections::HashSet,
    time::{Duration, Instant},
};

use fixture::{
    Fixture, LONG_TIMEOUT, NO_CACHE, TRACED,
    fake_source::{Behavior, FakeSource, value_of},
    held, key, keys,
    redis_server::RedisServer,
    wait_until,
};
use floor_cache::{
    Admit, CallerId, ChainConfig, Class, ClassSet, Key, OpenError, Options, Outcome, Priority, RedisConfig,
    SourceError, TierKind, Tuning, assemble, assemble_beside,
};
use futures_util::future::join_all;
use tokio::runtime::Handle;

#[tokio::test(flavor = "multi_thread")]
async fn a_value_is_generated_once_and_then_served_from_memory() {
    let fixture = Fixture::new(&[TierKind::Lru, TierKind::Lmdb], |_| {});
    let first = fixture.chain.get(key(1, 1), Options::default()).await.unwrap();
    assert_eq!((first.by, first.coalesced, first.value), ("generated", false, value_of(&key(1, 1))));
    let second = fixture.chain.get(key(1, 1), Options::default()).await.unwrap();
    assert_eq!((second.by, second.value), ("lru", value_of(&key(1, 1))));
    let now = fixture.chain.get_now(&key(1, 1)).unwrap();
    assert_eq!((now.by, now.value), ("lru", value_of(&key(1, 1))));
    assert!(fixture.chain.get_now(&key(2, 1)).is_none());
    assert_eq!(fixture.source.generations(), 1);
    assert_eq!(generations(&fixture, "standard"), 1);
    assert_eq!(fixture.metrics("lru").requests.hits, 2);
}

/// The generations of `class` that the metrics show.
fn generations(fixture: &Fixture, class: &str) -> u64 {
    let metrics = fixture.chain.metrics().generations;
    metrics.iter().filter(|generations| generations.class == class).map(|generations| generations.times.count).sum()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chain_beside_another_shares_no_value_and_counts_its_generations_with_it() {
    let fixture = Fixture::new(&[TierKind::Lru], |_| {});
    let config =
        ChainConfig { chain: vec![TierKind::Lru], namespace: "test/second".to_owned(), ..ChainConfig::default() };
    let second = assemble_beside(&fixture.chain, &config, &Tuning::default(), fixture.source.clone()).unwrap();
    for chain in [&fixture.chain, &second] {
        assert_eq!(chain.get(key(1, 1), Options::default()).await.unwrap().by, "generated");
        assert_eq!(chain.get(key(1, 1), Options::default()).await.unwrap().by, "lru");
    }
    second.purge(&[key(1, 1)]).await;
    assert!(fixture.chain.get_now(&key(1, 1)).is_some() && second.get_now(&key(1, 1)).is_none());
    assert_eq!(generations(&fixture, "standard"), 2, "of both");
    assert_eq!(fixture.metrics("lru").stats.entries, 1, "of the first");
    assert_eq!(second.report().iter().map(|tier| tier.hits).collect::<Vec<_>>(), [1, 1], "its own");
}

#[tokio::test(flavor = "multi_thread")]
async fn metrics_show_the_limits_of_tiers_and_the_space_of_their_disks() {
    let fixture = Fixture::new(&[TierKind::Lru, TierKind::Lmdb], |_| {});
    for tier in ["lru", "lmdb"] {
        assert!(fixture.metrics(tier).stats.limit > 0, "{tier}");
    }
    let lmdb = fixture.metrics("lmdb");
    assert!(lmdb.stats.disk > 0);
    let space = lmdb.space.unwrap();
    assert!(space.free <= space.total && space.total > 0, "{space:?}");
    assert_eq!(fixture.metrics("lru").space, None, "memory has no disk");
}

/// For every order of every subset of tiers, the first tier serves a generated value.
#[tokio::test(flavor = "multi_thread")]
async fn any_order_and_subset_of_tiers_is_a_chain() {
    let Some(redis) = RedisServer::start() else { return };
    let kinds = TierKind::ALL;
    let mut orders: Vec<Vec<TierKind>> = vec![vec![]];
    let mut next = 0;
    while next < orders.len() {
        let longer: Vec<_> = kinds
            .iter()
            .filter(|kind| !orders[next].contains(kind))
            .map(|kind| [&orders[next][..], &[*kind]].concat())
            .collect();
        orders.extend(longer);
        next += 1;
    }
    let of_length = |length: usize| (kinds.len() - length + 1..=kinds.len()).product::<usize>();
    assert_eq!(orders.len(), (0..=kinds.len()).map(of_length).sum::<usize>());
    for order in orders {
        redis.command(&[b"FLUSHALL"]);
        let fixture = Fixture::new(&order, |config| config.redis = redis.config());
        let first = fixture.chain.get(key(1, 1), Options::default()).await.unwrap();
        assert_eq!((first.by, &first.value), ("generated", &value_of(&key(1, 1))), "{order:?}");
        assert!(fixture.chain.close(LONG_TIMEOUT).await, "{order:?}");

        let expected = order.first().map_or("generated", |kind| kind.name());
        let second = fixture.chain.get(key(1, 1), Options::default()).await.unwrap();
        assert_eq!((second.by, &second.value), (expected, &value_of(&key(1, 1))), "{order:?}");
        let names: Vec<_> = fixture.chain.report().iter().map(|tier| tier.name).collect();
        let expected: Vec<_> = order.iter().map(|kind| kind.name()).chain(["generated"]).collect();
        assert_eq!(names, expected);
        let holders = held(&fixture.chain, &key(1, 1)).await;
        assert!(holders.iter().all(|(_, held)| *held) && holders.len() == order.len(), "{order:?}: {holders:?}");
    }
}

/// A full memory tier evicts a value inserted once before others. Prefetched values are kept until their caller
/// arrives.
#[tokio::test(flavor = "multi_thread")]
async fn prefetched_values_survive_a_scan() {
    let fixture = Fixture::new(&[TierKind::Lru], |config| config.lru.capacity = 1 << 20);
    let get = async |key: Key, priority| {
        let options = Options { priority, ..Options::default() };
        fixture.chain.get(key, options).await.unwrap();
    };
    let mut passing = (0..).map(|number| key(number, 1));
    while fixture.tier("lru").entries == fixture.source.generations() {
        get(passing.next().unwrap(), Priority::Foreground).await;
    }
    let (ahead, foreground) = (keys(1_000_000..1_000_020), keys(2_000_000..2_000_020));
    for (ahead, foreground) in ahead.iter().zip(&foreground) {
        get(*ahead, Priority::Background).await;
        get(*foreground, Priority::Foreground).await;
    }
    for key in passing.take(100) {
        get(key, Priority::Foreground).await;
    }
    let kept = |keys: &[Key]| keys.iter().filter(|key| fixture.chain.get_now(key).is_some()).count();
    assert_eq!(kept(&ahead), 20, "prefetched values are kept");
    // A few values fit in the space of a larger one.
    assert!(kept(&foreground) < 10, "memory was full: {}", kept(&foreground));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hit_fills_the_tiers_above_it() {
    let fixture = Fixture::new(&[TierKind::Lru, TierKind::Lmdb, TierKind::Sled], |_| {});
    fixture.chain.get(key(1, 1), Options::default()).await.unwrap();
    assert!(fixture.chain.close(LONG_TIMEOUT).await);
    let lmdb_only: HashSet<_> = [("lru", true), ("lmdb", true), ("sled", true)].into();
    assert_eq!(HashSet::from_iter(held(&fixture.chain, &key(1, 1)).await), lmdb_only);

    let fixture = fixture.reopened().await;
    assert_eq!(held(&fixture.chain, &key(1, 1)).await, [("lru", false), ("lmdb", true), ("sled", true)]);
    assert_eq!(fixture.chain.get(key(1, 1), Options::default()).await.unwrap().by, "lmdb");
    assert_eq!(fixture.chain.get(key(1, 1), Options::default()).await.unwrap().by, "lru");
    assert_eq!(fixture.source.generations(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_identical_misses_are_one_generation() {
    let fixture = Fixture::new(&[TierKind::Lru, TierKind::Lmdb], |_| {});
    fixture.source.set(Behavior::Wait);
    let calls: Vec<_> = (0..10_000)
        .map(|_| {
            let chain = fixture.chain.clone();
            tokio::spawn(async move { chain.get(key(1, 1), Options::default()).await })
        })
        .collect();
    wait_until("all other callers wait for one flight", || fixture.chain.metrics().coalesced == 9_999).await;
    fixture.source.open_gate();
    let mut coalesced = 0;
    for served in join_all(calls).await {
        let served = served.unwrap().unwrap();
        assert_eq!(served.value, value_of(&key(1, 1)));
        coalesced += u32::from(served.coalesced);
    }
    assert_eq!(coalesced, 9_999);
    assert_eq!(generations(&fixture, "standard"), 1);
    assert_eq!(fixture.source.generations(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_caller_affects_no_other() {
    let fixture = Fixture::new(&[TierKind::Lru], |_| {});
    fixture.source.set(Behavior::Wait);
    let call = |chain: floor_cache::Chain| tokio::spawn(async move { chain.get(key(1, 1), Options::default()).await });
    let leader = call(fixture.chain.clone());
    wait_until("the first caller generates", || fixture.source.generations() == 1).await;
    let follower = call(fixture.chain.clone());
    wait_until("the second waits", || fixture.chain.metrics().coalesced == 1).await;
    leader.abort();
    assert!(leader.await.unwrap_err().is_cancelled());
    fixture.source.open_gate();
    assert_eq!(follower.await.unwrap().unwrap().value, value_of(&key(1, 1)));
    assert_eq!(fixture.source.generations(), 1);

    // A lookup without callers also finishes, for the next caller.
    fixture.source.set(Behavior::Generate);
    let lonely = fixture.chain.clone();
    drop(tokio::spawn(async move { lonely.get(key(2, 1), Options::default()).await }));
    wait_until("it is in memory", || fixture.chain.get_now(&key(2, 1)).is_some()).await;
}

/// Background work may wait long or be rejected. Neither may affect a foreground caller.
#[tokio::test(flavor = "multi_thread")]
async fn a_foreground_caller_overtakes_background_work() {
    let fixture = Fixture::new(&[TierKind::Lru], |_| {});
    fixture.source.set(Behavior::RejectBackground);
    let ahead = Options { priority: floor_cache::Priority::Background, ..Options::default() };
    let background = |chain: floor_cache::Chain| tokio::spawn(async move { chain.get(key(1, 1), ahead).await });
    let (first, second) = (background(fixture.chain.clone()), background(fixture.chain.clone()));
    wait_until("the one waits for the other", || fixture.chain.metrics().coalesced == 1).await;
    assert_eq!(fixture.source.generations(), 1);

    let served = fixture.chain.get(key(1, 1), Options::default()).await.unwrap();
    assert_eq!((served.by, served.coalesced, served.value), ("generated", false, value_of(&key(1, 1))));
    fixture.source.open_gate();
    for background in [first, second] {
        assert!(matches!(background.await.unwrap(), Err(SourceError::Busy { .. })));
    }
    assert_eq!(fixture.source.generations(), 2);
    assert_eq!(fixture.chain.get(key(1, 1), ahead).await.unwrap().by, "lru");
}

/// A caller that has used up its quota must not make others fail that ask for the same value.
#[tokio::test(flavor = "multi_thread")]
async fn a_caller_does_not_get_the_refusal_of_another_client() {
    let fixture = Fixture::new(&[TierKind::Lru], |_| {});
    let of = |caller| Options { caller: CallerId(caller), ..Options::default() };
    fixture.source.set(Behavior::RejectClient(CallerId(1)));
    let chain = fixture.chain.clone();
    let refused = tokio::spawn(async move { chain.get(key(1, 1), of(1)).await });
    wait_until("the first caller generates", || fixture.source.generations() == 1).await;
    let chain = fixture.chain.clone();
    let one = tokio::spawn(async move { chain.get(key(1, 1), of(2)).await });
    let chain = fixture.chain.clone();
    let many = tokio::spawn(async move { chain.get_many(&[key(1, 1)], of(3)).await });
    wait_until("both others wait", || fixture.chain.metrics().coalesced == 2).await;
    fixture.source.open_gate();
    assert!(matches!(refused.await.unwrap(), Err(SourceError::Limited { .. })));
    assert_eq!(one.await.unwrap().unwrap().value, value_of(&key(1, 1)));
    assert_eq!(many.await.unwrap().unwrap()[0].value, value_of(&key(1, 1)));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_reaches_all_callers_and_is_not_cached() {
    let fixture = Fixture::new(&[TierKind::Lru, TierKind::Lmdb], |_| {});
    fixture.source.set(Behavior::Fail);
    let error = fixture.chain.get(key(1, 1), Options::default()).await.unwrap_err();
    assert!(matches!(error, SourceError::Busy { queued: 1024, .. }), "{error:?}");
    let error = fixture.chain.get_many(&keys(0..3), Options::default()).await.unwrap_err();
    assert!(matches!(error, SourceError::Busy { .. }), "{error:?}");
    fixture.source.set(Behavior::Generate);
    assert_eq!(fixture.chain.get(key(1, 1), Options::default()).await.unwrap().by, "generated");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panic_in_the_source_is_an_error_for_its_key_alone() {
    let fixture = Fixture::new(&[TierKind::Lru], |_| {});
    fixture.source.set(Behavior::PanicOn(key(1, 1)));
    let chain = fixture.chain.clone();
    let batch = tokio::spawn(async move { chain.get_many(&keys(0..3), Options::default()).await });
    let error = batch.await.unwrap().unwrap_err();
    assert!(matches!(&error, SourceError::Failed { key: bad, .. } if *bad == key(1, 1)), "{error:?}");
    wait_until("the others of the batch are kept", || {
        fixture.chain.get_now(&key(0, 1)).is_some() && fixture.chain.get_now(&key(2, 1)).is_some()
    })
    .await;
    fixture.source.set(Behavior::Generate);
    assert_eq!(fixture.chain.get(key(1, 1), Options::default()).await.unwrap().value, value_of(&key(1, 1)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_keeps_its_order_and_generates_each_value_once() {
    let fixture = Fixture::new(&[TierKind::Lru, TierKind::Lmdb], |_| {});
    fixture.chain.get_many(&keys(0..4), Options::default()).await.unwrap();
    let asked: Vec<Key> = [7, 2, 7, 9, 0, 2, 9, 7].into_iter().map(|number| key(number, 1)).collect();
    let served = fixture.chain.get_many(&asked, Options::default()).await.unwrap();
    let by: Vec<_> = served.iter().map(|served| served.by).collect();
    assert_eq!(by, ["generated", "lru", "generated", "generated", "lru", "lru", "generated", "generated"]);
    for (key, served) in asked.iter().zip(&served) {
        assert_eq!(served.value, value_of(key));
        assert!(!served.coalesced, "a repeated key of the same batch is not coalesced");
    }
    assert_eq!(fixture.source.generations(), 6, "0, 1, 2, 3, then 7 and 9");
    assert!(fixture.chain.get_many(&[], Options::default()).await.unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_batches_generate_shared_keys_once() {
    let fixture = Fixture::new(&[TierKind::Lru], |_| {});
    fixture.source.set(Behavior::Wait);
    let batch = |range| {
        let chain = fixture.chain.clone();
        tokio::spawn(async move { chain.get_many(&keys(range), Options::default()).await })
    };
    let (one, two) = (batch(0..20), batch(10..30));
    wait_until("both generate", || fixture.source.generations() == 30).await;
    fixture.source.open_gate();
    let one = one.await.unwrap().unwrap();
    let two = two.await.unwrap().unwrap();
    assert!(one.iter().map(|s| &s.value).eq(&keys(0..20).iter().map(value_of).collect::<Vec<_>>()));
    assert!(two.iter().map(|s| &s.value).eq(&keys(10..30).iter().map(value_of).collect::<Vec<_>>()));
    assert_eq!(one.iter().chain(&two).filter(|served| served.coalesced).count(), 10);
    assert_eq!(fixture.source.generations(), 30);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_cache_asks_no_tier_and_refreshes_all_tiers() {
    let fixture = Fixture::new(&[TierKind::Lru, TierKind::Lmdb], |_| {});
    fixture.chain.get(key(1, 1), Options::default()).await.unwrap();
    let fresh = fixture.chain.get(key(1, 1), NO_CACHE).await.unwrap();
    assert_eq!((fresh.by, fresh.value), ("generated", value_of(&key(1, 1))));
    let fresh = fixture.chain.get_many(&[key(1, 1), key(2, 1)], NO_CACHE).await.unwrap();
    assert!(fresh.iter().all(|served| served.by == "generated"));
    assert_eq!(fixture.source.generations(), 4);
    assert_eq!(fixture.chain.get(key(2, 1), Options::default()).await.unwrap().by, "lru");
    assert!(fixture.chain.close(LONG_TIMEOUT).await);
    assert_eq!(held(&fixture.chain, &key(2, 1)).await, [("lru", true), ("lmdb", true)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trace_has_the_answer_of_each_tier() {
    let fixture = Fixture::new(&[TierKind::Lru, TierKind::Lmdb], |_| {});
    let steps = |served: floor_cache::Served| -> Vec<_> {
        served.trace.unwrap().iter().map(|step| (step.tier, step.outcome)).collect()
    };
    let made = fixture.chain.get(key(1, 1), TRACED).await.unwrap();
    let expected = [("lru", Outcome::Miss), ("lmdb", Outcome::Miss), ("generated", Outcome::Hit)];
    assert_eq!(steps(made), expected);
    assert_eq!(steps(fixture.chain.get(key(1, 1), TRACED).await.unwrap()), [("lru", Outcome::Hit)]);
    assert!(fixture.chain.get(key(1, 1), Options::default()).await.unwrap().trace.is_none());
    let fixture = fixture.reopened().await;
    let found = fixture.chain.get_many(&[key(1, 1), key(2, 1)], TRACED).await.unwrap();
    let mut found = found.into_iter().map(steps);
    assert_eq!(found.next().unwrap(), [("lru", Outcome::Miss), ("lmdb", Outcome::Hit)]);
    assert_eq!(found.next().unwrap(), expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trace_tells_the_wait_for_a_worker_from_the_generation() {
    let fixture = Fixture::new(&[TierKind::Lru], |_| {});
    fixture.source.set(Behavior::Wait);
    let (asked, chain) = (Instant::now(), fixture.chain.clone());
    let get = tokio::spawn(async move { chain.get(key(1, 1), TRACED).await });
    wait_until("the source is asked", || fixture.source.generations() == 1).await;
    tokio::time::sleep(Duration::from_millis(20)).await;
    fixture.source.open_gate();
    let trace = get.await.unwrap().unwrap().trace.unwrap();
    let [miss, made] = &trace[..] else { panic!("{trace:?}") };
    assert_eq!((miss.tier, miss.waited), ("lru", Duration::ZERO));
    assert_eq!(made.took, Duration::from_micros(300), "what the source reports");
    assert!(made.waited >= Duration::from_millis(10), "{made:?}");
    assert!(asked <= miss.started && made.started >= asked + made.waited, "{trace:?}");
    assert!(made.started + made.took <= Instant::now(), "{made:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn removed_values_are_gone_from_every_tier_and_its_queue() {
    let fixture = Fixture::new(&[TierKind::Lru, TierKind::Lmdb, TierKind::Sled], |_| {});
    fixture.chain.get_many(&keys(0..200), Options::default()).await.unwrap();
    fixture.chain.remove_many(&keys(0..100)).await;
    for key in keys(0..100) {
        assert!(held(&fixture.chain, &key).await.iter().all(|(_, held)| !held), "{key}");
    }
    assert!(fixture.chain.close(LONG_TIMEOUT).await);
    for key in keys(100..200) {
        assert!(held(&fixture.chain, &key).await.iter().all(|(_, held)| *held), "{key}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn redis_stores_only_admitted_classes() {
    let Some(redis) = RedisServer::start() else { return };
    let special: ClassSet = [Class::new(2)].into_iter().collect();
    let fixture = Fixture::new(&[TierKind::Redis], |config| {
        config.redis = RedisConfig { admit: Admit::Only(special), ..redis.config() };
    });
    for _ in 0..2 {
        fixture.chain.get(key(1, 1), Options::default()).await.unwrap();
        fixture.chain.get(key(1, 2), Options::default()).await.unwrap();
        assert!(fixture.chain.close(LONG_TIMEOUT).await);
    }
    let redis = fixture.tier("redis");
    assert_eq!((redis.hits, redis.misses, redis.bypasses), (1, 1, 2));
    assert_eq!(fixture.source.generations(), 3);
}

#[tokio::test]
async fn an_inconsistent_configuration_is_an_error() {
    let refuse = |adjust: fn(&mut floor_cache::ChainConfig)| {
        let mut config = floor_cache::ChainConfig { chain: vec![TierKind::Lru], ..Default::default() };
        adjust(&mut config);
        let source = std::sync::Arc::new(FakeSource::default());
        assemble(&config, source, &Handle::current()).unwrap_err()
    };
    let twice = refuse(|config| config.chain = vec![TierKind::Lru, TierKind::Redis, TierKind::Lru]);
    assert_eq!(twice.to_string(), "cache.chain names lru twice; name each tier once");
    assert!(matches!(refuse(|config| config.namespace = String::new()), OpenError::Namespace(_)));
    assert!(matches!(refuse(|config| config.namespace = "a b".to_owned()), OpenError::Namespace(_)));
    let url = refuse(|config| {
        config.chain = vec![TierKind::Redis];
        config.redis.url = "http://user:hunter2@cache".to_owned();
    });
    assert!(!url.to_string().contains("hunter2"), "{url}");
    assert!(
        url.to_string().starts_with("cache.redis.url \"http://***\" has an unknown scheme; write redis://"),
        "{url}"
    );
}
