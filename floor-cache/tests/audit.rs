//! Tests of audits: they find values that are intact but wrong, as a faulty generator or a stolen key could write.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod fixture;

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};

use bytes::Bytes;
use fixture::{
    Fixture, LONG_TIMEOUT, build_chain,
    fake_source::{Behavior, value_of},
    key, keys, wait_until,
};
use floor_cache::{
    Admit, Answer, Chain, ChainConfig, Key, Options, Served, Tier, TierError, TierErrorKind, TierKind, TierStats,
    Tuning,
};
use parking_lot::Mutex;

fn audited(every: u32) -> Tuning {
    Tuning { audit: every, ..Tuning::default() }
}

fn audits(fixture: &Fixture, outcome: &str) -> f64 {
    fixture.metric("floors_audits_total", &[("outcome", outcome)])
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_value_is_replaced_in_every_tier() {
    let fixture = Fixture::tuned(&[TierKind::Lru, TierKind::Lmdb], &audited(1), |_| {});
    fixture.chain.put(key(1, 1), &Bytes::from_static(b"wrong"));
    fixture.chain.close(LONG_TIMEOUT).await;
    let served = fixture.chain.get(key(1, 1), Options::default()).await.unwrap();
    assert_eq!(served.value, &b"wrong"[..], "no audit has run yet");
    wait_until("the audit has found it", || audits(&fixture, "mismatch") == 1.0).await;
    let right = |served: Served| served.value == value_of(&key(1, 1));
    wait_until("memory has the right one", || fixture.chain.get_now(&key(1, 1)).is_some_and(right)).await;
    let fixture = fixture.reopened().await;
    let served = fixture.chain.get(key(1, 1), Options::default()).await.unwrap();
    assert_eq!((served.by, served.value), ("lmdb", value_of(&key(1, 1))));
}

/// A tier that stores values but fails to remove them. The test fills it directly.
#[derive(Debug, Clone, Default)]
struct NoRemoveTier(Arc<Mutex<HashMap<Key, Bytes>>>);

impl Tier for NoRemoveTier {
    fn name(&self) -> &'static str {
        "no-remove"
    }

    fn get<'a>(&'a self, key: &'a Key) -> Answer<'a, Option<Bytes>> {
        Answer::Now(Ok(self.0.lock().get(key).cloned()))
    }

    fn get_many<'a>(&'a self, keys: &'a [Key]) -> Answer<'a, Vec<Option<Bytes>>> {
        let values = self.0.lock();
        Answer::Now(Ok(keys.iter().map(|key| values.get(key).cloned()).collect()))
    }

    fn put_many<'a>(&'a self, entries: &'a [(Key, Bytes)]) -> Answer<'a, ()> {
        self.0.lock().extend(entries.iter().cloned());
        Answer::Now(Ok(()))
    }

    fn remove_many<'a>(&'a self, _keys: &'a [Key]) -> Answer<'a, ()> {
        Answer::Now(Err(TierError::new(TierErrorKind::Internal, "remove", "this tier does not remove")))
    }

    fn contains<'a>(&'a self, key: &'a Key) -> Answer<'a, bool> {
        Answer::Now(Ok(self.0.lock().contains_key(key)))
    }

    fn stats(&self) -> TierStats {
        TierStats::default()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tier_that_fails_to_remove_a_wrong_value_is_overwritten() {
    let tier = NoRemoveTier::default();
    let chain = build_chain(&ChainConfig::default(), &audited(1), |chain| chain.tier(tier.clone(), Admit::All));
    for key in keys(0..3) {
        tier.0.lock().insert(key, Bytes::from_static(b"wrong"));
        // An audit is skipped while another runs, so more than one call may be needed.
        until_served(&chain, key).await;
    }
    let verdict = || chain.report()[0].verdict;
    wait_until("three wrong values have tripped it", || verdict() == "open").await;
    let served = chain.get(key(0, 1), Options::default()).await.unwrap();
    assert_eq!((served.by, served.value), ("generated", value_of(&key(0, 1))), "the tier is no longer asked");
}

/// Asks for `key` until the right value is served. The first call must get the wrong one.
async fn until_served(chain: &Chain, key: Key) {
    let mut calls = 0;
    let started = Instant::now();
    while chain.get(key, Options::default()).await.unwrap().value != value_of(&key) {
        calls += 1;
        assert!(started.elapsed() < LONG_TIMEOUT, "the wrong value stays");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(calls > 0, "no audit has run yet");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_audit_whose_generation_fails_is_counted_and_the_next_one_runs() {
    let fixture = Fixture::tuned(&[TierKind::Lru], &audited(1), |_| {});
    fixture.chain.put(key(1, 1), &value_of(&key(1, 1)));
    for (behavior, outcome) in
        [(Behavior::PanicOn(key(1, 1)), "skipped"), (Behavior::Fail, "skipped"), (Behavior::Generate, "match")]
    {
        fixture.source.set(behavior);
        let before = audits(&fixture, outcome);
        let asked_again = || fixture.chain.get_now(&key(1, 1)).is_some();
        wait_until("it is counted", || asked_again() && audits(&fixture, outcome) > before).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn audits_are_rate_limited() {
    let fixture = Fixture::tuned(&[TierKind::Lru], &audited(1), |_| {});
    fixture.chain.put(key(1, 1), &value_of(&key(1, 1)));
    let started = Instant::now();
    while started.elapsed() < Duration::from_millis(300) || audits(&fixture, "match") < 5.0 {
        (0..1000).for_each(|_| assert!(fixture.chain.get_now(&key(1, 1)).is_some()));
    }
    let (made, most) = (audits(&fixture, "match"), started.elapsed().as_secs_f64() * 1000.0 + 1.0);
    assert!(made <= most, "{made} audits where {most} were the most");
    assert!(audits(&fixture, "skipped") > 0.0, "the others are counted");
}

#[tokio::test(flavor = "multi_thread")]
async fn three_wrong_values_trip_the_breaker_of_their_tier() {
    let fixture = Fixture::tuned(&[TierKind::Lmdb, TierKind::Sled], &audited(1), |_| {});
    for key in keys(0..3) {
        fixture.chain.put(key, &Bytes::from_static(b"wrong"));
    }
    fixture.chain.close(LONG_TIMEOUT).await;
    for number in 0..3_u32 {
        assert_eq!(fixture.tier("lmdb").verdict, "probed", "after {number}");
        // An audit is skipped while another runs, so more than one hit may be needed.
        let over = || audits(&fixture, "mismatch") + audits(&fixture, "skipped");
        while audits(&fixture, "mismatch") < f64::from(number + 1) {
            let before = over();
            fixture.chain.get(key(number.into(), 1), Options::default()).await.unwrap();
            wait_until("the hit has been audited", || over() > before).await;
        }
    }
    wait_until("the breaker is open", || fixture.tier("lmdb").verdict == "open").await;
    assert_eq!(fixture.tier("sled").verdict, "probed", "sled was not asked");
}

#[tokio::test(flavor = "multi_thread")]
async fn right_values_match_and_only_the_configured_share_is_audited() {
    let fixture = Fixture::tuned(&[TierKind::Lru], &audited(100), |_| {});
    fixture.chain.get(key(1, 1), Options::default()).await.unwrap();
    for _ in 0..1000 {
        assert!(fixture.chain.get_now(&key(1, 1)).is_some());
        tokio::task::yield_now().await;
    }
    let all = || audits(&fixture, "match") + audits(&fixture, "skipped");
    wait_until("the audits are over", || all() >= 9.0).await;
    assert!(all() <= 11.0, "{}", all());
    assert_eq!(audits(&fixture, "mismatch"), 0.0);
    assert_eq!(fixture.metric("floors_generations_total", &[]), 1.0, "audits are not counted as generations");

    let fixture = Fixture::tuned(&[TierKind::Lru], &audited(0), |_| {});
    fixture.chain.get(key(1, 1), Options::default()).await.unwrap();
    (0..5000).for_each(|_| assert!(fixture.chain.get_now(&key(1, 1)).is_some()));
    assert_eq!(fixture.source.generations(), 1);
}
