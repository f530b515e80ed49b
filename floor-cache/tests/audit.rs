//! Values that are whole but wrong, as a faulty generator or a stolen key could write: an audit finds them.

mod setting;

use bytes::Bytes;
use floor_cache::{Options, TierKind, Tuning};
use setting::{Setting, key, keys, mill::value_of, until};

fn audited(every: u32) -> Tuning {
    Tuning { audit: every, ..Tuning::default() }
}

fn audits(setting: &Setting, outcome: &str) -> f64 {
    setting.metric("floors_audits_total", &[("outcome", outcome)])
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_value_is_found_and_removed_from_every_tier() {
    let setting = Setting::tuned(&[TierKind::Lru, TierKind::Lmdb], &audited(1), |_| {});
    setting.chain.put(key(1, 1), &Bytes::from_static(b"wrong"));
    setting.chain.close(setting::PATIENCE).await;
    let served = setting.chain.get(key(1, 1), Options::default()).await.unwrap();
    assert_eq!(served.value, &b"wrong"[..], "nothing could tell yet");
    until("the audit has found it", || audits(&setting, "mismatch") == 1.0).await;
    until("it is gone from memory", || !setting.chain.contains_now(&key(1, 1))).await;
    until("the audit is over", || setting.tier("lmdb").entries == 0).await;
    let served = setting.chain.get(key(1, 1), Options::default()).await.unwrap();
    assert_eq!((served.by, served.value), ("generated", value_of(&key(1, 1))));
}

#[tokio::test(flavor = "multi_thread")]
async fn three_wrong_values_trip_the_breaker_of_the_tier_that_gave_them() {
    let setting = Setting::tuned(&[TierKind::Lmdb, TierKind::Sled], &audited(1), |_| {});
    for key in keys(0..3) {
        setting.chain.put(key, &Bytes::from_static(b"wrong"));
    }
    setting.chain.close(setting::PATIENCE).await;
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
