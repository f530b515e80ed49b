//! Values that are whole but wrong, as a faulty generator or a stolen key could write: an audit finds them.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod setting;

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};

use bytes::Bytes;
use floor_cache::{
    Admit, Answer, Chain, ChainBuilder, ChainConfig, Key, Options, Served, Tier, TierError, TierErrorKind, TierKind,
    TierStats, Tuning,
};
use parking_lot::Mutex;
use prometheus::Registry;
use setting::{
    PATIENCE, Setting, key, keys,
    mill::{Mill, Mood, value_of},
    until,
};
use tokio::runtime::Handle;

fn audited(every: u32) -> Tuning {
    Tuning { audit: every, ..Tuning::default() }
}

fn audits(setting: &Setting, outcome: &str) -> f64 {
    setting.metric("floors_audits_total", &[("outcome", outcome)])
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_value_is_found_and_the_right_one_put_in_its_place_in_every_tier() {
    let setting = Setting::tuned(&[TierKind::Lru, TierKind::Lmdb], &audited(1), |_| {});
    setting.chain.put(key(1, 1), &Bytes::from_static(b"wrong"));
    setting.chain.close(PATIENCE).await;
    let served = setting.chain.get(key(1, 1), Options::default()).await.unwrap();
    assert_eq!(served.value, &b"wrong"[..], "nothing could tell yet");
    until("the audit has found it", || audits(&setting, "mismatch") == 1.0).await;
    let right = |served: Served| served.value == value_of(&key(1, 1));
    until("memory has the right one", || setting.chain.get_now(&key(1, 1)).is_some_and(right)).await;
    let setting = setting.reopened().await;
    let served = setting.chain.get(key(1, 1), Options::default()).await.unwrap();
    assert_eq!((served.by, served.value), ("lmdb", value_of(&key(1, 1))));
}

/// A tier that was written to by hand, and takes values but removes none.
#[derive(Debug, Clone, Default)]
struct Stubborn(Arc<Mutex<HashMap<Key, Bytes>>>);

impl Tier for Stubborn {
    fn name(&self) -> &'static str {
        "stubborn"
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
        Answer::Now(Err(TierError::new(TierErrorKind::Internal, "remove", "it will not")))
    }

    fn contains<'a>(&'a self, key: &'a Key) -> Answer<'a, bool> {
        Answer::Now(Ok(self.0.lock().contains_key(key)))
    }

    fn stats(&self) -> TierStats {
        TierStats::default()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tier_that_does_not_remove_a_wrong_value_takes_the_right_one() {
    let (config, registry, stubborn) = (ChainConfig::default(), Registry::new(), Stubborn::default());
    let chain = ChainBuilder::new(&config, &audited(1), &registry, &Handle::current())
        .and_then(|chain| chain.tier(stubborn.clone(), Admit::All))
        .and_then(|chain| chain.build(Arc::new(Mill::default())))
        .unwrap();
    for key in keys(0..3) {
        stubborn.0.lock().insert(key, Bytes::from_static(b"wrong"));
        // An audit is skipped while another is at work, so it may take more than one call.
        until_served(&chain, key).await;
    }
    let verdict = || chain.report()[0].verdict;
    until("three wrong values have tripped it", || verdict() == "open").await;
    let served = chain.get(key(0, 1), Options::default()).await.unwrap();
    assert_eq!((served.by, served.value), ("generated", value_of(&key(0, 1))), "it is not asked any more");
}

/// Asks for `key` until the right value is served, which the first time it is not.
async fn until_served(chain: &Chain, key: Key) {
    let mut calls = 0;
    let started = Instant::now();
    while chain.get(key, Options::default()).await.unwrap().value != value_of(&key) {
        calls += 1;
        assert!(started.elapsed() < PATIENCE, "the wrong value stays");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(calls > 0, "nothing could tell yet");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_audit_on_which_the_source_breaks_is_counted_and_makes_way_for_the_next() {
    let setting = Setting::tuned(&[TierKind::Lru], &audited(1), |_| {});
    setting.chain.put(key(1, 1), &value_of(&key(1, 1)));
    for (mood, outcome) in [(Mood::PanicOn(key(1, 1)), "skipped"), (Mood::Fail, "skipped"), (Mood::Grind, "match")] {
        setting.mill.set(mood);
        let before = audits(&setting, outcome);
        let asked_again = || setting.chain.get_now(&key(1, 1)).is_some();
        until("it is counted", || asked_again() && audits(&setting, outcome) > before).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn between_audits_are_rests() {
    let setting = Setting::tuned(&[TierKind::Lru], &audited(1), |_| {});
    setting.chain.put(key(1, 1), &value_of(&key(1, 1)));
    let started = Instant::now();
    while started.elapsed() < Duration::from_millis(300) || audits(&setting, "match") < 5.0 {
        (0..1000).for_each(|_| assert!(setting.chain.get_now(&key(1, 1)).is_some()));
    }
    let (made, most) = (audits(&setting, "match"), started.elapsed().as_secs_f64() * 1000.0 + 1.0);
    assert!(made <= most, "{made} audits where {most} were the most");
    assert!(audits(&setting, "skipped") > 0.0, "the others are counted");
}

#[tokio::test(flavor = "multi_thread")]
async fn three_wrong_values_trip_the_breaker_of_the_tier_that_gave_them() {
    let setting = Setting::tuned(&[TierKind::Lmdb, TierKind::Sled], &audited(1), |_| {});
    for key in keys(0..3) {
        setting.chain.put(key, &Bytes::from_static(b"wrong"));
    }
    setting.chain.close(PATIENCE).await;
    for number in 0..3_u32 {
        assert_eq!(setting.tier("lmdb").verdict, "probed", "after {number}");
        // An audit is skipped while another is at work, so it may take more than one hit.
        let over = || audits(&setting, "mismatch") + audits(&setting, "skipped");
        while audits(&setting, "mismatch") < f64::from(number + 1) {
            let before = over();
            setting.chain.get(key(number.into(), 1), Options::default()).await.unwrap();
            until("the hit has been audited", || over() > before).await;
        }
    }
    until("the breaker is open", || setting.tier("lmdb").verdict == "open").await;
    assert_eq!(setting.tier("sled").verdict, "probed", "sled gave nobody anything");
}

#[tokio::test(flavor = "multi_thread")]
async fn right_values_pass_and_only_the_share_asked_for_is_audited() {
    let setting = Setting::tuned(&[TierKind::Lru], &audited(100), |_| {});
    setting.chain.get(key(1, 1), Options::default()).await.unwrap();
    for _ in 0..1000 {
        assert!(setting.chain.get_now(&key(1, 1)).is_some());
        tokio::task::yield_now().await;
    }
    let all = || audits(&setting, "match") + audits(&setting, "skipped");
    until("the audits are over", || all() >= 9.0).await;
    assert!(all() <= 11.0, "{}", all());
    assert_eq!(audits(&setting, "mismatch"), 0.0);
    assert_eq!(setting.metric("floors_generations_total", &[]), 1.0, "an audit is no generation for anyone");

    let setting = Setting::tuned(&[TierKind::Lru], &audited(0), |_| {});
    setting.chain.get(key(1, 1), Options::default()).await.unwrap();
    (0..5000).for_each(|_| assert!(setting.chain.get_now(&key(1, 1)).is_some()));
    assert_eq!(setting.mill.ground(), 1);
}
